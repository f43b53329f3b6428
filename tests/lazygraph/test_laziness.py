"""What runs when, what is remembered, and that no value ever changes."""

import gc
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazygraph as lg
from tests.lazygraph.exactness import assert_same_bits


def realizations(action: Callable[[], Any]) -> int:
    before = lg.stats().realizations
    action()
    return lg.stats().realizations - before


def lazy(*numbers: float) -> lg.Tensor:
    """A tensor without a value, and of one element without numbers."""
    return lg.asarray(list(numbers) or 1.0) + 1.0


def record_everything() -> None:
    x = lazy(1.0, 2.0)
    y = lg.sum(lg.softmax(x @ lg.ones((2, 3))) ** 2)
    gradient = y.backward()[x]
    second = lg.grad(lg.sum(gradient * x), x)
    assert (second.shape, second.dtype, second.ndim, len(second)) == ((2,), lg.float32, 1, 2)
    assert repr(second).startswith("Tensor(float32[2], ")
    assert second in {second: 1}
    assert len(list(x)) == len(x[:1]) + len(x[1:]) == 2
    lg.listing(y, gradient)
    lg.Var("w", [1.0]).tensor() * lg.random.normal((3,)).detach()


def test_recording_differentiating_and_showing_compute_nothing() -> None:
    assert realizations(record_everything) == 0
    with lg.no_realize():
        record_everything()


ASKS: dict[str, Callable[[lg.Tensor], Any]] = {
    "realize": lambda t: t.realize(),
    "lg.realize": lg.realize,
    "numpy": lambda t: t.numpy(),
    "np.asarray": np.asarray,
    "item": lambda t: t.item(),
    "tolist": lambda t: t.tolist(),
    "bool": bool,
    "float": float,
    "int": int,
    "str": str,
    "format": lambda t: f"{t:.3f}",
    "index": lambda t: operator.index(lg.astype(t, int)),
    "dlpack": np.from_dlpack,
    "Var": lambda t: lg.Var("w", t),
    "assign": lambda t: lg.Var("w", 0.0).assign(t),
    "if": lambda t: "yes" if t > 0 else "no",
}


@pytest.mark.parametrize("name", ASKS)
def test_asking_computes_once_and_not_at_all_where_it_is_forbidden(name: str) -> None:
    ask = ASKS[name]
    assert realizations(lambda: ask(lazy())) == 1
    message = "nothing may be computed inside no_realize; got a request for "
    with lg.no_realize(), pytest.raises(lg.errors.RealizationError, match=message) as caught:
        ask(lazy())
    assert "test_laziness.py" in caught.value.__notes__[0]
    assert realizations(lambda: ask(lazy())) == 1  # allowed again


@pytest.mark.parametrize("name", ["numpy", "item", "float", "str", "realize"])
def test_a_value_that_is_there_may_be_read_where_computing_is_forbidden(name: str) -> None:
    t = lazy().realize()
    with lg.no_realize():
        ASKS[name](t)
        ASKS[name](lg.asarray(1.0))
    assert realizations(lambda: ASKS[name](t)) == 0


def test_one_call_is_one_evaluation_in_which_what_is_shared_runs_once() -> None:
    x = lazy(1.0, 2.0)
    shared = lg.exp(x)
    a, b, c = shared + 1, shared * 2, lg.sum(shared)
    steps = [step.name for step in lg.explain(a, {"b": [b]}, (c, None, 3)).steps]
    assert steps.count("exp") == 1
    assert realizations(lambda: lg.realize(a, {"b": [b]}, (c, None, 3), lg.Var("w", 1.0))) == 1
    assert realizations(lambda: (a.tolist(), b.tolist(), c.item())) == 0


def test_only_what_was_asked_for_is_remembered() -> None:
    x = lazy(1.0, 2.0)
    hidden = lg.exp(x)
    y = lg.sum(hidden).realize()
    assert [t.node.value is None for t in (x, hidden, y)] == [True, True, False]
    assert realizations(hidden.realize) == 1


def test_holding_an_intermediate_does_not_change_the_plan() -> None:
    def loss() -> tuple[lg.Tensor, lg.Tensor]:
        hidden = lg.exp(lazy(1.0, 2.0))
        return lg.sum(hidden * hidden), hidden

    first, held = loss()
    second = loss()[0]
    gc.collect()
    first.realize()
    before = lg.stats()
    second.realize()
    assert lg.stats().plans_built == before.plans_built
    assert held.node.value is None


def test_a_remembered_node_is_a_leaf_of_later_plans() -> None:
    x = lg.asarray([1.0, 2.0])
    h = lg.exp(lg.sin(x)).realize()
    assert [step.name for step in lg.explain(h * 2).steps] == ["multiply"]


def test_gradients_walk_through_what_is_remembered() -> None:
    x = lg.asarray([0.3, 2.0], dtype=lg.float64)

    def gradient(cut: bool) -> Any:
        h = lg.exp(lg.sin(x))
        if cut:
            h.realize()
        return lg.sum(h * h).backward()[x]

    assert_same_bits(gradient(cut=True), gradient(cut=False))
    assert np.allclose(
        gradient(cut=True).numpy(), 2 * np.exp(2 * np.sin(x.numpy())) * np.cos(x.numpy())
    )


def test_a_detached_tensor_has_the_value_and_no_history() -> None:
    x = lg.asarray([3.0])
    for y in (x * x, (x * x).realize()):
        loss = lg.sum(y.detach() * x)
        assert loss.backward()[x].tolist() == [9.0]
        assert y not in loss.backward()
    realized = (x * x).realize()
    assert realized.detach().node.inputs == ()
    assert realizations(lambda: realized.detach().numpy()) == 0


def test_a_value_handed_out_cannot_be_written_to() -> None:
    for t in (lg.asarray([1.0, 2.0]), lazy(1.0, 2.0), lazy(1.0, 2.0)[::-1], lg.ones((2,))):
        for array in (t.numpy(), np.asarray(t), t.numpy()[:1]):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 5.0
        private = t.numpy().copy()
        private[0] = -7.0
        assert t.tolist() != private.tolist()
    w = lg.Var("w", [1.0, 2.0])
    with pytest.raises(ValueError, match="read-only"):
        w.numpy()[0] = 5.0


@pytest.mark.parametrize("size", [3, 10_000])
def test_a_value_handed_out_stays_while_other_plans_run(size: int) -> None:
    def run(i: int) -> Any:
        x = lg.asarray(np.full(size, float(i)))
        return (x * 2 + 1).numpy(), (x[::-1] * 3).numpy()[1:], lg.reshape(x + 1, (-1,)).numpy()

    kept = [run(i) for i in range(20)]
    for i, (a, b, c) in enumerate(kept):
        assert (set(a), set(b), set(c)) == ({2.0 * i + 1}, {3.0 * i}, {i + 1.0})


@pytest.mark.parametrize("size", [3, 10_000])
def test_data_is_copied(size: int) -> None:
    source = np.arange(float(size))
    t, w = lg.asarray(source), lg.Var("w", source)
    y, z = 2 * t, w + source
    source[:] = 100.0
    assert t.numpy()[:3].tolist() == w.numpy()[:3].tolist() == [0.0, 1.0, 2.0]
    assert y.numpy()[:3].tolist() == z.numpy()[:3].tolist() == [0.0, 2.0, 4.0]
    w.assign(source)
    source[:] = 7.0
    assert set(w.numpy()) == {100.0}


def test_a_reused_batch_buffer_does_no_harm() -> None:
    batch, losses = np.empty(4), []
    for i in range(5):
        batch[:] = i
        losses.append(lg.sum(lg.asarray(batch) * 2))
    assert [loss.item() for loss in losses] == [0.0, 8.0, 16.0, 24.0, 32.0]


def test_data_is_taken_as_it_is_only_on_request() -> None:
    source = np.arange(3.0)
    t = lg.asarray(source, copy=False)
    assert np.shares_memory(t.numpy(), source)
    with pytest.raises(ValueError, match="copy=False needs a C-contiguous array of the wanted"):
        lg.asarray(source[::2], copy=False)


def test_a_graph_keeps_the_values_with_which_it_was_built() -> None:
    w = lg.Var("w", [1.0, 2.0])
    old = lg.sum(w * w)
    old_leaf = w.tensor()
    w.assign(np.array([5.0, 6.0]))
    new = lg.sum(w * w)
    assert (new.item(), old.item()) == (61.0, 5.0)
    assert old.backward()[old_leaf].tolist() == [2.0, 4.0]
    assert old.backward()[w].tolist() == [2.0, 4.0]
    assert new.backward()[w].tolist() == [10.0, 12.0]
    assert (w.version, w.last_node) == (1, w.tensor().node)


def test_an_older_version_may_stand_where_no_gradient_goes() -> None:
    w = lg.Var("w", 2.0)
    for old in ((w * 1.0).detach(), (w * 1.0).realize().detach()):
        w.assign(3.0)
        loss = old * w
        assert (loss.item(), loss.backward()[w].item()) == (6.0, 2.0)
        w.assign(2.0)


def test_a_var_is_one_leaf_within_a_version() -> None:
    w = lg.Var("w", 2.0)
    assert w.tensor() is w.tensor()
    assert (3 * w + w * w).backward()[w].item() == 7.0
    leaf = w.tensor()
    w.assign(w - 0.5)
    assert w.tensor() is not leaf
    assert (leaf.item(), w.item()) == (2.0, 1.5)


def test_assigning_keeps_the_value_only_and_the_var_its_dtype() -> None:
    w = lg.Var("w", [0.1, 0.2], dtype=lg.float64)
    values: list[Any] = [
        lg.asarray([1, 2]),
        np.array([1, 2], np.int8),
        w * 0.0 + np.arange(1, 3),
    ]
    for value in values:
        w.assign(value)
        assert (w.dtype, w.numpy().tolist()) == (lg.float64, [1.0, 2.0])
        assert w.tensor().node.inputs == ()
    rate = lg.Var("rate", 0.5, dtype=lg.float64)
    rate.assign(0.1)
    assert rate.item() == 0.1  # not that of float32


def test_values_may_be_asked_for_in_any_order() -> None:
    x = lg.asarray(np.arange(6.0).reshape(2, 3))
    y = lg.exp(x) @ x.T
    z = lg.sum(y, axis=0)
    for order in ((x, y, z), (z, y, x), (y, z, x)):
        for t in order:
            t.numpy()
    fresh = lg.exp(x) @ x.T
    assert_same_bits(lg.sum(fresh, axis=0), z)
    assert_same_bits(fresh, y)
