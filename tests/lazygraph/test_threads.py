"""Eight threads that build, realize and step at once get the bits that one would get."""

import random
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import lazygraph as lg
import training
from lazygraph import plan
from tests.lazygraph.crowd import crowd
from tests.lazygraph.exactness import Array, Bits, bits

EIGHT = range(8)


@pytest.fixture(autouse=True)
def _restless(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Threads change places as often as they can, and find no plans of other tests."""
    monkeypatch.setattr(plan, "cache", plan.PlanCache())
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def graph(n: int, shift: float = 0.0) -> list[lg.Tensor]:
    """A dozen tensors that share most of what they are made of; `n` is in the structure."""
    x = lg.asarray(np.linspace(-1.0, 1.0, 4 * n).reshape(n, 4) + shift)
    w = lg.asarray(np.linspace(0.5, -0.5, 12).reshape(4, 3) + shift)
    h = lg.tanh(x @ w)
    y = [x * 2.0, h, lg.exp(h), h.mT, lg.sum(h, axis=0), h[1:, ::2], lg.softmax(h)]
    loss = lg.mean(lg.square(y[2] - y[6]) + lg.sum(y[4]))
    y += [loss, *lg.grad(loss, [x, w, h])]
    y.append(lg.sum(lg.grad(lg.sum(y[8]), h)))
    return y


def serially(n: int, shift: float = 0.0) -> list[Bits]:
    return [bits(y) for y in graph(n, shift)]


@pytest.mark.parametrize("structures", [1, 5])
def test_threads_with_graphs_of_their_own_get_the_bits_of_one(structures: int) -> None:
    def work(i: int) -> list[list[Bits]]:
        return [serially(2 + (i + k) % structures, i / 8.0) for k in range(6)]

    found = crowd([partial(work, i) for i in EIGHT])
    assert found == [work(i) for i in EIGHT]


def test_threads_that_share_a_graph_get_the_bits_of_one() -> None:
    def ask(tensors: list[lg.Tensor], seed: int) -> list[tuple[int, Bits]]:
        order = list(range(len(tensors)))
        random.Random(seed).shuffle(order)
        return [(i, bits(tensors[i])) for i in order]

    for n in range(2, 14):
        shared = graph(n)
        found = crowd([partial(ask, shared, n * 8 + i) for i in EIGHT])
        wanted = serially(n)
        assert all(seen == wanted[i] for several in found for i, seen in several)


def test_a_value_that_appears_while_a_plan_is_built_is_not_part_of_the_plan() -> None:
    # One thread asks for a node in the middle of what the other one builds a plan for.
    def chain(n: int, start: float) -> tuple[lg.Tensor, lg.Tensor]:
        middle = y = -lg.asarray(np.full(n, start))
        for _ in range(12):
            y = y * 1.5 - 1.0
        return middle, y

    for n in range(1, 200):
        middle, end = chain(n, 2.0)
        crowd([middle.realize, end.realize])
        _, other = chain(n, 3.0)
        wanted = -3.0
        for _ in range(12):
            wanted = wanted * 1.5 - 1.0
        assert other.tolist() == [wanted] * n


def test_plans_that_are_thrown_out_at_once_do_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "MOST_PLANS", 2)
    found = crowd([lambda: [serially(n) for n in (2, 3, 4, 2, 3, 4)] for _ in EIGHT])
    assert len(plan.cache.keys()) <= 2
    assert all(several == [serially(n) for n in (2, 3, 4, 2, 3, 4)] for several in found)


def test_a_version_of_a_var_is_one_leaf_for_all_threads() -> None:
    for _ in range(300):
        w = lg.Var("w", [1.0, 2.0])
        leaves = crowd([w.tensor] * 4)
        assert len({leaf.node for leaf in leaves}) == 1
    halves = [w * 2.0 for w in leaves]
    assert lg.sum(halves[0] + halves[1]).backward()[w].tolist() == [4.0, 4.0]


def test_values_that_are_assigned_at_once_are_counted_and_the_last_one_is_read() -> None:
    for _ in range(200):
        w = lg.Var("w", [0.0, 0.0])

        def assign(i: int, w: lg.Var = w) -> int:
            w.assign(np.array([float(i), float(i)]))
            return len(w.tensor().tolist())

        crowd([partial(assign, i) for i in range(4)])
        assert w.version == 4
        assert w.numpy().tolist() == w.tensor().tolist() == (w + 0.0).tolist()


def test_a_reader_gets_the_value_from_before_a_step_or_from_after_it() -> None:
    steps = 60
    w = lg.Var("w", np.zeros(50))
    opt = training.SGD([w], lr=1.0)
    done = False

    def step() -> None:
        nonlocal done
        loop = training.TrainingLoop()
        for _ in range(steps):
            loop.step(lg.sum(-1.0 * w), opt)  # adds 1 to each element
        done = True

    def read() -> list[float]:
        seen = [0.0]
        while not done:
            for array in (w.numpy(), w.tensor().numpy(), (w * 1.0).numpy()):
                assert (array == array[0]).all()
                assert array[0] == int(array[0]) >= seen[-1]
                seen.append(float(array[0]))
        return seen

    crowd([step, *[read] * 3])
    assert w.numpy().tolist() == [float(steps)] * 50
    assert w.version == steps


def test_arrays_that_were_handed_out_stay_while_other_threads_use_memory() -> None:
    def work(i: int) -> None:
        kept: list[tuple[Array, Array]] = []
        for k in range(40):
            found = lg.exp(lg.asarray(np.full((30, 7), float(i + k) / 8.0)) * 1.0).numpy()
            kept.append((found, found.copy()))
            if k % 3 == 0:
                kept.pop(random.Random(k).randrange(len(kept)))
        assert all(np.array_equal(found, copy) for found, copy in kept)

    assert crowd([partial(work, i) for i in EIGHT]) == [None] * 8


def test_a_generator_gives_each_number_once() -> None:
    def draw(generator: lg.random.Generator) -> list[Bits]:
        draws = [generator.uniform((3,)) for _ in range(25)]
        return [bits(x) for x in draws]

    together = crowd([partial(draw, lg.random.Generator(7))] * 8)
    generator = lg.random.Generator(7)
    alone = [seen for _ in EIGHT for seen in draw(generator)]
    assert sorted(seen for several in together for seen in several) == sorted(alone)
    assert len(set(alone)) == 200


class Learner:
    """A loop with an optimizer and Vars of its own, on data that all share."""

    def __init__(self, seed: int, data: lg.Tensor) -> None:
        rng = np.random.default_rng(seed)
        self.data = data
        self.generator = lg.random.Generator(seed)
        self.w = lg.Var("w", rng.standard_normal((4, 3)))
        self.b = lg.Var("b", rng.standard_normal(3))
        self.opt = training.AdamW([self.w, self.b], lr=0.05)
        self.loop = training.TrainingLoop(max_grad_norm=1.0)

    def learn(self) -> list[Any]:
        losses = []
        for _ in range(15):
            noise = self.generator.normal((6, 3), dtype=lg.float64)
            loss = lg.mean(lg.square(lg.tanh(self.data @ self.w + self.b) - noise))
            losses.append(self.loop.step(loss, self.opt).loss)
        return [losses, bits(self.w), bits(self.b), self.loop.global_step]


def test_loops_in_several_threads_step_as_if_each_were_alone() -> None:
    data = lg.asarray(np.linspace(-1.0, 1.0, 24).reshape(6, 4)) * 1.0
    found = crowd([Learner(seed % 4, data).learn for seed in EIGHT])
    data = lg.asarray(np.linspace(-1.0, 1.0, 24).reshape(6, 4)) * 1.0
    alone = [Learner(seed, data).learn() for seed in range(4)]
    assert found == alone + alone


def test_a_step_does_not_mind_that_another_thread_asks_for_parts_of_its_loss() -> None:
    # The first step builds a plan, in which a value that appears meanwhile must not be baked.
    def train(n: int, ask: bool) -> list[Any]:
        w = lg.Var("w", np.linspace(-1.0, 1.0, n))
        opt, loop = training.SGD([w], lr=0.1), training.TrainingLoop()
        losses = []
        for _ in range(3):
            parts = [lg.tanh(w * 2.0)]
            for _ in range(4):
                parts.append(parts[-1] * w - 0.5)
            loss = lg.mean(lg.square(parts[-1]))
            step = partial(loop.step, loss, opt)
            if ask:
                outcome, *_ = crowd([step, parts[0].realize, parts[3].realize])
            else:
                outcome = step()
            losses.append(outcome.loss)
        return [losses, bits(w)]

    for n in range(1, 40):
        found = train(n, ask=True)
        assert found == train(n, ask=True) == train(n, ask=False)


def test_scopes_settings_and_prohibitions_count_for_their_own_thread() -> None:
    def forbidden() -> int:
        refused = 0
        for _ in range(100):
            with lg.no_realize(), pytest.raises(lg.errors.RealizationError):
                (lg.ones((3,)) + 1.0).realize()
            refused += 1
        return refused

    def verified() -> list[float]:
        with lg.using(verify=True), lg.scope("outer"):
            tensors = [lg.ones((3,)) * float(i) for i in range(100)]
            lg.realize(tensors)
        assert {tensor.node.scope for tensor in tensors} == {"outer"}
        return [lg.sum(tensor).item() for tensor in tensors]

    def plain() -> list[float]:
        tensors = [lg.ones((3,)) * float(i) for i in range(100)]
        assert {tensor.node.scope for tensor in tensors} == {""}
        return [lg.sum(tensor).item() for tensor in tensors]

    found = crowd([forbidden, verified, plain] * 2)
    assert found == [100, [3.0 * i for i in range(100)], [3.0 * i for i in range(100)]] * 2


def test_an_error_in_one_thread_is_its_own() -> None:
    def wrong() -> int:
        seen = 0
        for _ in range(50):
            rows = lg.take(lg.ones((3, 2)) * 2.0, lg.asarray([0, 1]) + 4, axis=0)
            with pytest.raises(lg.errors.BoundsError, match="index 4 is out of bounds"):
                rows.realize()
            seen += 1
        return seen

    def right(i: int) -> list[Bits]:
        return [bits(lg.take(lg.ones((3, 2)) * float(i), lg.asarray([0, 2]), axis=0))] * 50

    actions: list[Callable[[], Any]] = [wrong, wrong, *[partial(right, i) for i in range(4)]]
    assert crowd(actions) == [50, 50, *[right(i) for i in range(4)]]


def test_every_realization_of_every_thread_is_counted() -> None:
    before = lg.stats()
    crowd([lambda: [lg.ones((n,)).__add__(1.0).realize() for n in range(1, 51)]] * 8)
    after = lg.stats()
    assert after.realizations - before.realizations == 400
    built = after.plans_built - before.plans_built
    assert 50 <= built <= 400
    assert built + after.plan_hits - before.plan_hits == 400


def test_deep_graphs_are_freed_in_several_threads() -> None:
    def work() -> float:
        y = lg.asarray(0.0, dtype="float64")
        for _ in range(4000):
            y = y + 1.0
        return y.item()

    assert crowd([work] * 4) == [4000.0] * 4
