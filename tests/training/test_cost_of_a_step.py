"""What a step costs, by counting: realizations, plans, nodes, memory."""

import gc
import math
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator

import lazygraph as lg
from lazygraph import plan
from tests.training.problems import Perceptron, draw_batch, values
from training import SGD, Adam, AdamW, CosineSchedule, TrainingLoop

pytestmark = pytest.mark.usefixtures("no_plans")


@dataclass(frozen=True)
class Cost:
    realizations: int
    plans: int
    nodes: int


def cost_of(call: Callable[..., object], *arguments: Any) -> Cost:
    before = lg.stats()
    call(*arguments)
    after = lg.stats()
    return Cost(
        after.realizations - before.realizations,
        after.plans_built - before.plans_built,
        after.nodes_made - before.nodes_made,
    )


def test_from_the_second_step_on_only_forward_nodes_are_made(rng: Generator) -> None:
    model = Perceptron(rng)
    opt = AdamW(model.params)
    loop = TrainingLoop(1.0, 0.5, CosineSchedule(0.1, 3, 20))
    for n in range(10):
        x, y = draw_batch(rng)
        loss = model.loss(x, y)
        cost = cost_of(loop.step, loss, opt)
        if n == 0:
            assert (cost.realizations, cost.plans) == (1, 1)
            assert cost.nodes > 100
        else:
            assert cost == Cost(realizations=1, plans=0, nodes=0)


def test_the_optimizers_own_steps_cost_the_same(rng: Generator) -> None:
    model = Perceptron(rng)
    opt = Adam(model.params)
    x, y = draw_batch(rng)
    gradients = {var.name: np.ones(var.shape) for var in model.params}
    for n in range(3):
        loss = model.loss(x, y)
        by_loss = cost_of(opt.backward_step, loss)
        by_name = cost_of(opt.step, gradients)
        assert by_loss.realizations == by_name.realizations == 1
        assert by_loss.plans == by_name.plans == (n == 0)
        if n:
            assert (by_loss.nodes, by_name.nodes) == (0, len(gradients))  # a leaf for each


def test_reading_the_loss_and_the_parameters_costs_nothing_more(rng: Generator) -> None:
    model = Perceptron(rng)
    opt, loop = SGD(model.params), TrainingLoop(1.0)
    x, y = draw_batch(rng)

    def read(loss: lg.Tensor, logits: lg.Tensor) -> None:
        float(loss)
        logits.numpy()
        for var in model.params:
            var.numpy()
        opt.state_dict()

    for _ in range(3):
        logits = model.outputs(x)
        loss = lg.mean((logits - y) ** 2)
        loop.step(loss, opt, also=[logits])

        assert cost_of(read, loss, logits) == Cost(0, 0, 0)


def test_a_second_model_of_the_same_structure_needs_no_plan(rng: Generator) -> None:
    x, y = draw_batch(rng)

    def train() -> None:
        model = Perceptron(rng)
        opt, loop = AdamW(model.params), TrainingLoop(1.0)
        for _ in range(2):
            loop.step(model.loss(x, y), opt)

    assert [cost_of(train).plans for _ in range(3)] == [1, 0, 0]


def test_what_changes_with_the_steps_is_no_reason_for_a_plan(rng: Generator) -> None:
    # Rates (0 and 1 among them), step counts, dropout masks and the data.
    model = Perceptron(rng)
    opt, loop = Adam(model.params), TrainingLoop(1.0)
    generator = lg.random.Generator(7)

    def step(rate: float) -> None:
        x, y = draw_batch(rng)
        kept = generator.bernoulli(0.5, x.shape)
        opt.set_learning_rate(rate)
        loop.step(model.loss(lg.where(kept, x, 0.0), y), opt)  # type: ignore[arg-type]

    rates = [0.1, 0.0, 1.0, 0.01, 1.0, 0.0, 3.0]
    assert [cost_of(step, r).plans for r in rates] == [1] + [0] * 6
    loop.set_global_step(10**9)
    assert cost_of(step, 0.1).plans == 0


def test_a_python_scalar_costs_one_plan_more_if_its_value_was_used() -> None:
    # A factor of 1 is dropped, which is right for no other: then the slot is opaque for good.
    w = lg.Var("w", np.array([1.0, 2.0]))
    opt, loop = SGD([w], lr=0.1), TrainingLoop()

    def step(factor: float) -> None:
        loop.step(factor * lg.sum(w * w), opt)

    factors = [1.0, 1.0, 0.9, 0.8, 1.0, 0.7, 1.0]
    plans = [cost_of(step, f).plans for f in factors]
    assert plans == [1, 0, 1, 0, 0, 0, 0]
    expected = np.array([1.0, 2.0])
    for factor in factors:
        expected = expected - 0.1 * (2.0 * factor * expected)
    np.testing.assert_allclose(w.numpy(), expected, rtol=1e-14)


def test_a_python_scalar_that_no_pass_used_costs_nothing(rng: Generator) -> None:
    model = Perceptron(rng)
    opt, loop = SGD(model.params), TrainingLoop()
    x, y = draw_batch(rng)

    def step(factor: float) -> None:
        loop.step(factor * model.loss(x, y), opt)

    plans = [cost_of(step, f).plans for f in (0.5, 0.4, 0.3)]
    assert plans == [1, 0, 0]


def test_other_numbers_of_the_formula_are_other_plans_found_again() -> None:
    w = lg.Var("w", np.array(1.0))
    opt, loop = Adam([w], lr=0.1), TrainingLoop()

    def step(betas: tuple[float, float]) -> None:
        opt.betas = betas
        loop.step(w * w, opt)

    usual, other = (0.9, 0.999), (0.8, 0.99)
    plans = [cost_of(step, b).plans for b in (usual, other, usual, other)]
    assert plans == [1, 1, 0, 0]
    loop.with_max_grad_norm(1.0)
    assert cost_of(step, usual).plans == 1
    loop.with_max_grad_norm(None)
    assert cost_of(step, usual).plans == 0


def test_parameters_whose_counts_differ_are_one_plan_whatever_the_counts() -> None:
    a, b = lg.Var("a", np.array(1.0)), lg.Var("b", np.array(1.0))
    opt, loop = Adam([a, b]), TrainingLoop()

    def step(also_b: bool) -> None:
        loop.step(a * a + b * b if also_b else a * a, opt)

    calls = [True, True, False, True, True, False, True]
    assert [cost_of(step, also_b).plans for also_b in calls] == [1, 0, 1, 1, 0, 0, 0]


@pytest.mark.parametrize("rows", [10, 11])
def test_the_last_partial_batch_costs_one_plan_in_all_epochs(
    rng: Generator, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    # Batches of 4, 4 and the rest, three times: two shapes, at most two plans, and the numbers
    # of a run that builds every plan anew.
    x, y = draw_batch(rng, rows)
    start = values(Perceptron(rng).params)

    def train(forget: bool) -> list[bytes]:
        model = Perceptron(rng)
        for var, value in zip(model.params, start, strict=True):
            var.assign(value)
        opt, loop = AdamW(model.params, lr=0.05), TrainingLoop(1.0)
        for _ in range(3):
            for first in range(0, rows, 4):
                if forget:
                    monkeypatch.setattr(plan, "cache", plan.PlanCache())
                rest = slice(first, first + 4)
                loop.step(model.loss(x[rest], y[rest]), opt)
        return [value.tobytes() for value in values(model.params)]

    before = lg.stats().plans_built
    cached = train(forget=False)
    assert lg.stats().plans_built - before == 2
    assert cached == train(forget=True)
    assert lg.stats().plans_built - before == 11


def count_nodes() -> int:
    return sum(isinstance(each, lg.Node) for each in gc.get_objects())


_NOT_DATA = (type, int, float, FunctionType, ModuleType, CodeType)


def reachable(roots: list[Any]) -> int:
    """How many objects can be reached from what a loop and an optimizer keep."""
    seen: set[int] = set()
    waiting: list[Any] = list(roots)
    while waiting:
        item = waiting.pop()
        if id(item) not in seen and not isinstance(item, _NOT_DATA):
            seen.add(id(item))
            waiting += gc.get_referents(item)
    return len(seen)


@pytest.fixture
def counted_by_reference() -> Iterator[None]:
    """Without the collector of cycles: what is let go of must go at once."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def assert_steps_leave_nothing(steps: int, rng: Generator) -> None:
    model = Perceptron(rng)
    opt = AdamW(model.params, lr=0.01)
    loop = TrainingLoop(1.0, scheduler=CosineSchedule(0.01, 10, steps))
    x, y = draw_batch(rng)

    def run(count: int) -> tuple[int, int, int]:
        for _ in range(count):
            logits = model.outputs(x)
            loop.step(lg.mean((logits - y) ** 2), opt, also=[logits])
        del logits
        nodes, objects = count_nodes(), len(gc.get_objects())
        gc.collect()  # empties the interpreter's lists of spare tuples, which count as memory
        return nodes, objects, tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        run(200)
        nodes, objects, memory = run(100)
        later_nodes, later_objects, later_memory = run(steps)
    finally:
        tracemalloc.stop()
    assert later_nodes == nodes
    assert later_objects - objects < 50
    assert later_memory - memory < 16 * steps  # no object is smaller: not one a step is left


@pytest.mark.usefixtures("counted_by_reference")
def test_a_thousand_steps_leave_nodes_and_memory_flat(rng: Generator) -> None:
    assert_steps_leave_nothing(1000, rng)
    assert lg.stats().nodes_made > 10_000


@pytest.mark.slow
@pytest.mark.usefixtures("counted_by_reference")
def test_ten_thousand_steps_leave_nodes_and_memory_flat(rng: Generator) -> None:
    assert_steps_leave_nothing(10_000, rng)
    assert lg.stats().nodes_made > 100_000


@pytest.mark.usefixtures("counted_by_reference")
def test_a_running_total_of_losses_keeps_no_graph() -> None:
    # Loss 0.5 a thousand times is 500, and the loop's own state does not grow.
    w = lg.Var("w", np.array(2.0))
    opt, loop = SGD([w], lr=0.1, momentum=0.9), TrainingLoop(math.inf)
    total, sizes, nodes = 0.0, [], []
    for n in range(1000):
        outcome = loop.step(0.5 + 0.0 * w, opt)
        total += outcome.loss
        if n + 1 in (10, 1000):
            sizes.append(reachable([vars(loop), vars(opt), w.cell]))
            nodes.append(count_nodes())
    assert total == 500.0
    assert sizes[0] == sizes[1] < 500
    assert nodes[0] == nodes[1]
