"""Every backend keeps what lazygraph promises of runs: roots, steps, threads, errors, forks."""

import os
import pickle
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import lazygraph as lg
import training
from lazygraph.plan import BACKENDS
from tests.lazygraph.exactness import Array, assert_same_bits, bits
from tests.lazygraph.random_programs import Program

RUNNABLE = [backend.name for backend in BACKENDS.values() if backend.missing() is None]
REFERENCE = "numpy"  # the backend that defines the meaning


@pytest.fixture(params=RUNNABLE, autouse=True)
def backend(request: pytest.FixtureRequest) -> Iterator[str]:
    with lg.using(backend=request.param):
        yield request.param


def numbers(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


class TestRoots:
    def test_a_leaf_is_its_own_value(self) -> None:
        x = numbers(3, 4)
        assert_same_bits(lg.asarray(x).realize(), x)

    def test_views_of_a_leaf_and_of_a_result(self) -> None:
        x = numbers(6, 8)
        leaf = lg.asarray(x)
        doubled = leaf * 2.0
        found = (leaf.mT, doubled.mT, doubled[::-1, 1::3], doubled[2], doubled)
        lg.realize(found)
        wanted = (x.T, 2 * x.T, 2 * x[::-1, 1::3], 2 * x[2], 2 * x)
        for y, expected in zip(found, wanted, strict=True):
            assert_same_bits(y, expected)

    def test_one_root_asked_for_twice_beside_others(self) -> None:
        x = numbers(5, 7)
        y = lg.asarray(x) + 1.0
        largest, again = lg.max(y), y + 0.0
        lg.realize(y, largest, y, again)
        assert_same_bits(y, x + 1)
        assert_same_bits(again, x + 1)
        assert_same_bits(largest, (x + 1).max())

    def test_a_result_stays_when_the_memory_of_its_run_is_used_again(self) -> None:
        x = numbers(64, 64)
        y = (lg.asarray(x) * 3.0).realize()
        held = y.numpy()
        for i in range(5):
            (lg.asarray(x) * float(i)).realize()
        assert_same_bits(held, x * np.float32(3))


@pytest.mark.parametrize("block", range(4))
def test_random_programs_agree_with_the_backend_that_defines_the_meaning(block: int) -> None:
    for seed in range(10 * block, 10 * block + 10):
        program = Program(seed)
        found = program.run(lambda x: None)
        lg.realize(found)
        with lg.using(backend=REFERENCE):
            wanted = program.run(lambda x: None)
            lg.realize(wanted)
        for y, expected in zip(found, wanted, strict=True):
            assert_near(y, expected, str(program))


def assert_near(y: lg.Tensor, expected: lg.Tensor, about: str) -> None:
    """Within what ten moves make of a few units in the last place, of float32 if it is met."""
    wanted = expected.numpy()
    assert (y.shape, y.dtype) == (expected.shape, expected.dtype), about
    off = np.abs(y.numpy().astype(np.float64) - wanted.astype(np.float64))
    scale = np.abs(wanted).max(initial=1e-30)
    assert off.max(initial=0) <= 1e-4 * scale, about


@pytest.mark.parametrize("seed", range(3))
def test_bits_do_not_depend_on_the_cuts(seed: int) -> None:
    program = Program(seed)
    whole = program.run(lambda x: None)
    lg.realize(whole)
    cut = program.run(lambda x: x.realize())
    for y, z in zip(whole, cut, strict=True):
        assert bits(y) == bits(z), str(program)


class TestTraining:
    def _trained(self, **options: Any) -> list[float]:
        rng = np.random.default_rng(3)
        w = lg.Var("w", rng.standard_normal((6, 4)).astype(np.float32))
        b = lg.Var("b", np.zeros(4, np.float32))
        opt = training.AdamW([w, b], lr=0.05)
        loop = training.TrainingLoop(**options)
        found = []
        for i in range(6):
            x = lg.asarray(rng.standard_normal((8 if i % 2 else 5, 6)).astype(np.float32))
            loss = lg.mean(lg.square(lg.tanh(x @ w + b) - 0.5))
            outcome = loop.step(loss, opt)
            found += [outcome.loss, outcome.grad_norm or 0.0, *w.numpy()[0].tolist()]
        return found

    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"max_grad_norm": 0.1},
            {"max_grad_value": 0.01},
            {"accumulate": 2, "max_grad_norm": 1.0},
            {"nonfinite": "skip"},
        ],
        ids=str,
    )
    def test_steps_are_those_of_the_backend_that_defines_the_meaning(
        self, options: dict[str, Any]
    ) -> None:
        found = self._trained(**options)
        with lg.using(backend=REFERENCE):
            wanted = self._trained(**options)
        np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=1e-6)

    def test_a_step_with_a_gradient_that_is_not_finite_is_skipped(self) -> None:
        w = lg.Var("w", np.zeros(3, np.float32))
        opt = training.SGD([w], lr=1.0)
        outcome = training.TrainingLoop(nonfinite="skip").step(lg.sum(lg.exp(w + 1000.0)), opt)
        assert outcome.skipped
        assert w.numpy().tolist() == [0.0, 0.0, 0.0]


class TestDerivatives:
    def test_a_gradient_of_ones_own(self) -> None:
        @lg.custom_gradient
        def doubled(x: lg.Tensor) -> Any:
            return x * 2.0, lambda g: g * 5.0

        x = lg.asarray(numbers(4))
        assert lg.grad(lg.sum(doubled(x)), [x])[0].tolist() == [5.0] * 4

    def test_a_checkpoint_has_the_bits_of_what_it_recomputes(self) -> None:
        x = lg.asarray(numbers(16, 16))

        def f(x: lg.Tensor) -> lg.Tensor:
            return lg.tanh(lg.sin(x) * lg.exp(x))

        (plain,) = lg.grad(lg.sum(f(x)), [x])
        (again,) = lg.grad(lg.sum(lg.checkpoint(f)(x)), [x])
        assert_same_bits(again, plain.numpy())


class TestErrors:
    def test_an_index_outside_names_its_line(self) -> None:
        x = lg.asarray(numbers(4, 3))
        picked = lg.take(lg.tanh(x), lg.asarray([1, 9]), axis=0)  # this one
        with pytest.raises(lg.errors.BoundsError) as found:
            (picked + 1.0).realize()
        assert "# this one" in "\n".join(found.value.__notes__)
        assert (lg.asarray([1.0]) + 1.0).tolist() == [2.0]

    def test_nothing_is_realized_where_that_is_forbidden(self) -> None:
        x = lg.asarray(numbers(3)) + 1.0
        with lg.no_realize(), pytest.raises(lg.errors.LazyGraphError):
            x.numpy()

    def test_a_pickled_tensor_has_its_bits(self) -> None:
        x = lg.tanh(lg.asarray(numbers(5, 5)))
        assert_same_bits(pickle.loads(pickle.dumps(x)), x.numpy())


class TestProcesses:
    def test_eight_threads_realize_at_once(self, backend: str) -> None:
        wanted: list[Any] = []
        found: dict[int, list[Any]] = {}

        def values(seed: int) -> list[Any]:
            x = lg.asarray(numbers(100, 300, seed=seed))
            return [bits(lg.softmax(x @ x.mT) + lg.sum(lg.exp(x))) for _ in range(4)]

        def work(i: int) -> None:
            with lg.using(backend=backend):
                found[i] = values(i)

        wanted = [values(i) for i in range(8)]
        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [found[i] for i in range(8)] == wanted

    def test_thread_counts_agree_within_rounding(self) -> None:
        x = numbers(257, 300)

        def value(threads: int) -> Array:
            with lg.using(threads=threads):
                y = lg.asarray(x)
                return (lg.softmax(y @ y.mT) @ y + lg.mean(lg.tanh(y))).numpy()

        for threads in (2, 3, 4):
            np.testing.assert_allclose(value(threads), value(1), rtol=1e-4, atol=1e-5)

    def test_parent_and_child_work_after_a_fork(self) -> None:
        x = numbers(300, 300)

        def value() -> Any:
            return bits(lg.asarray(x) @ lg.asarray(x) + 1.0)

        wanted = value()
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            try:
                os.write(writer, b"y" if value() == wanted else b"n")
            finally:
                os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as file:
            assert file.read() == b"y"
        os.waitpid(child, 0)
        assert value() == wanted
