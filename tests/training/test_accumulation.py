"""Micro-batches: unequal ones add up to the big batch, and nothing of them is kept."""

import gc
import math
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator

import lazygraph as lg
from tests.training.problems import Perceptron, draw_batch, state_of, values
from training import SGD, AdamW, CosineSchedule, Optimizer, TrainingLoop


def float64_var(name: str, data: Any) -> lg.Var:
    return lg.Var(name, np.array(data, np.float64))


def restarted(model: Perceptron, start: list[Any]) -> AdamW:
    for var, value in zip(model.params, start, strict=True):
        var.assign(value)
    return AdamW(model.params, lr=0.05)


@pytest.mark.parametrize("kind", [float, int, np.float32, lg.asarray], ids=lambda k: k.__name__)
@pytest.mark.parametrize("max_norm", [None, 0.1])
def test_unequal_micro_batches_are_the_big_batch(
    rng: Generator, kind: Callable[[int], Any], max_norm: float | None
) -> None:
    # sum_i n_i mean_i / sum_i n_i is the mean over all rows, for the loss and its gradient.
    model, parts = Perceptron(rng), (1, 5, 2)
    start = values(model.params)
    batches = [draw_batch(rng, sum(parts)) for _ in range(3)]

    opt, loop = restarted(model, start), TrainingLoop(max_norm)
    whole = [loop.step(model.loss(x, y), opt) for x, y in batches]
    expected = values(model.params)

    opt, loop = restarted(model, start), TrainingLoop(max_norm, accumulate=len(parts))
    for (x, y), big in zip(batches, whole, strict=True):
        stops = np.cumsum(parts)
        for first, last in zip(stops - parts, stops, strict=True):
            loss = model.loss(x[first:last], y[first:last])
            outcome = loop.step(loss, opt, weight=kind(int(last - first)))
        assert outcome.loss == pytest.approx(big.loss, rel=1e-12)
        assert outcome.grad_norm == (big.grad_norm and pytest.approx(big.grad_norm, rel=1e-12))
    assert loop.global_step == 3
    for var, value in zip(model.params, expected, strict=True):
        np.testing.assert_allclose(var.numpy(), value, rtol=1e-12, atol=1e-15)


def test_short_micro_batches_do_not_weigh_more() -> None:
    # Token losses [1, 2, 3] and [10]: the mean is 16 / 4 = 4, not (2 + 10) / 2 = 6.
    w = float64_var("w", 1.0)
    opt, loop = SGD([w], lr=1.0), TrainingLoop(accumulate=2)
    first = loop.step(lg.mean(w * np.array([1.0, 2.0, 3.0])), opt, weight=3)
    assert (first.applied, first.grad_norm, first.loss, w.version) == (False, None, 2.0, 0)
    last = loop.step(lg.mean(w * np.array([10.0])), opt, weight=1)
    assert (last.applied, last.loss, w.item()) == (True, 4.0, -3.0)


def test_the_finished_sum_is_clipped_once() -> None:
    # [3, 0] and [0, 4] have the mean [1.5, 2], of norm 2.5.
    w = float64_var("w", [0.0, 0.0])
    opt, loop = SGD([w], lr=1.0), TrainingLoop(max_grad_norm=1.0, accumulate=2)
    loop.step(lg.sum(w * np.array([3.0, 0.0])), opt)
    outcome = loop.step(lg.sum(w * np.array([0.0, 4.0])), opt)
    assert (outcome.grad_norm, outcome.clipped) == (2.5, True)
    np.testing.assert_allclose(w.numpy(), [-0.6, -0.8], rtol=1e-6)


def test_a_short_window_is_divided_by_its_own_weight() -> None:
    # Gradients 1, 1, 1, 1, then 2 alone: p = 1 - 0.1 - 0.2.
    p = float64_var("p", 1.0)
    opt, loop = SGD([p], lr=0.1), TrainingLoop(accumulate=4)
    for gradient in (1.0, 1.0, 1.0, 1.0, 2.0):
        outcome = loop.step(gradient * p, opt)
    assert not outcome.applied
    ended = loop.flush(opt)
    assert ended is not None
    assert (ended.applied, ended.global_step, ended.loss) == (True, 2, outcome.loss)
    assert p.item() == pytest.approx(0.7, rel=1e-15)


def test_a_flush_without_a_window_does_nothing(rng: Generator) -> None:
    model = Perceptron(rng)
    opt, loop = AdamW(model.params), TrainingLoop(accumulate=2)
    before = state_of(opt, loop)
    assert loop.flush(opt) is None
    assert state_of(opt, loop) == before


@pytest.mark.parametrize("sizes", [(2, 3), (3, 2)])
def test_a_flush_goes_by_the_shapes_of_its_own_parameters(sizes: tuple[int, ...]) -> None:
    # There is no graph at a flush, so a plan must not be found by the number of parameters.
    for size in sizes:
        w = float64_var("w", np.zeros(size))
        opt, loop = SGD([w], lr=0.5), TrainingLoop(accumulate=4)
        loop.step(lg.sum(w), opt)
        loop.flush(opt)
        assert w.numpy().tolist() == [-0.5] * size


def test_a_flush_clips_measures_and_schedules_like_a_step(rng: Generator) -> None:
    # Three of four micro-batches and a flush are a window of three.
    model = Perceptron(rng)
    start = values(model.params)
    batches = [draw_batch(rng) for _ in range(3)]
    ends: list[Any] = []
    for accumulate in (3, 4):
        opt = restarted(model, start)
        loop = TrainingLoop(0.5, 0.1, CosineSchedule(0.1, 2, 9), accumulate)
        for x, y in batches:
            outcome = loop.step(model.loss(x, y), opt, weight=2.0)
        outcome = loop.flush(opt) or outcome
        ends.append(replace(outcome, seconds=0.0))
        ends.append([value.tobytes() for value in values(model.params)])
        ends.append(repr(opt.state_dict()))
    assert ends[:3] == ends[3:]
    assert (ends[0].applied, ends[0].clipped, ends[0].lr) == (True, True, 0.05)


def test_a_var_that_a_micro_batch_misses_adds_zero_there() -> None:
    a, b, c = float64_var("a", 0.0), float64_var("b", 0.0), float64_var("c", 0.0)
    opt, loop = SGD([a, b, c], lr=1.0), TrainingLoop(accumulate=3)
    assert loop.step(6.0 * a, opt).missing == ("b", "c")
    assert loop.step(3.0 * b, opt).missing == ("c",)
    outcome = loop.step(9.0 * a, opt)
    assert (outcome.applied, outcome.missing) == (True, ("c",))
    assert (a.item(), b.item(), c.item(), c.version) == (-5.0, -1.0, 0.0, 0)
    assert [slots.step for slots in opt.state.get()] == [1, 1, 0]


def test_missing_counts_the_micro_batches_of_a_spoiled_window_too() -> None:
    a, b = float64_var("a", 1.0), float64_var("b", 1.0)
    opt, loop = SGD([a, b]), TrainingLoop(accumulate=2, nonfinite="skip")
    loop.step(math.nan * a, opt)
    outcome = loop.step(1.0 * b, opt)
    assert (outcome.skipped, outcome.missing) == (True, ())


def test_a_window_of_no_weight_is_not_applied() -> None:
    w = float64_var("w", 1.0)
    opt, loop = SGD([w]), TrainingLoop(accumulate=2, nonfinite="skip")
    for _ in range(2):
        outcome = loop.step(w * w, opt, weight=0)
    assert (outcome.skipped, w.item(), loop.global_step) == (True, 1.0, 0)


@pytest.mark.parametrize("weight", [-1.0, math.nan, math.inf])
@pytest.mark.parametrize("kind", [float, lg.asarray], ids=["number", "tensor"])
def test_a_weight_is_a_finite_number_from_0_up(weight: float, kind: Any) -> None:
    w = float64_var("w", 1.0)
    opt, loop = SGD([w]), TrainingLoop(accumulate=2)
    before = state_of(opt, loop)
    with pytest.raises(ValueError, match=r"weight must be a number in \[0, inf\); got"):
        loop.step(w * w, opt, weight=kind(weight))
    assert state_of(opt, loop) == before


def test_a_window_ends_with_the_optimizer_that_began_it() -> None:
    w = float64_var("w", 1.0)
    opt, other, loop = SGD([w]), SGD([w]), TrainingLoop(accumulate=2)
    loop.step(w * w, opt)
    before = state_of(opt, loop)
    message = "a window must be ended with the optimizer that began it"
    with pytest.raises(ValueError, match=message):
        loop.step(w * w, other)
    with pytest.raises(ValueError, match=message):
        loop.flush(other)
    assert state_of(opt, loop) == before
    loop.step(w * w, opt)
    loop.step(w * w, other)  # a new window
    assert loop.global_step == 1


def test_the_middle_of_a_window_cannot_be_saved_or_resized() -> None:
    w = float64_var("w", 1.0)
    opt, loop = SGD([w]), TrainingLoop(accumulate=3)
    loop.step(w * w, opt)
    with pytest.raises(ValueError, match="between windows only; call flush first"):
        loop.state_dict()
    with pytest.raises(ValueError, match="must not change inside a window; call flush first"):
        loop.with_accumulation(2)
    loop.flush(opt)
    assert loop.with_accumulation(2).state_dict() == {"global_step": 1}


def test_loading_a_state_drops_the_window() -> None:
    w = float64_var("w", 1.0)
    opt, loop = SGD([w], lr=1.0), TrainingLoop(accumulate=2)
    loop.step(100.0 * w, opt)
    loop.load_state_dict({"global_step": 5})
    loop.step(1.0 * w, opt)
    outcome = loop.step(1.0 * w, opt)
    assert (w.item(), outcome.global_step) == (0.0, 6)


def optimizers_of(model: Perceptron) -> list[Optimizer]:
    return [SGD(model.params, momentum=0.9), AdamW(model.params)]


@pytest.mark.usefixtures("no_plans")
@pytest.mark.parametrize("which", [0, 1], ids=["SGD", "AdamW"])
def test_first_middle_and_last_are_three_plans(rng: Generator, which: int) -> None:
    model = Perceptron(rng)
    opt, loop = optimizers_of(model)[which], TrainingLoop(1.0, accumulate=5)
    before = lg.stats()
    for n in range(20):
        x, y = draw_batch(rng)
        loop.step(model.loss(x, y), opt, weight=n + 1.0)
    after = lg.stats()
    assert after.plans_built - before.plans_built == 3
    assert after.realizations - before.realizations == 20


def test_nothing_of_a_finished_micro_batch_is_kept(rng: Generator) -> None:
    model = Perceptron(rng)
    opt, loop = AdamW(model.params), TrainingLoop(accumulate=10)
    alive: list[weakref.ref[Any]] = []
    gc.disable()  # reference counts alone must do
    try:
        for _ in range(9):
            x, y = draw_batch(rng)
            logits = model.outputs(x)
            loss = lg.mean((logits - y) ** 2)
            loop.step(loss, opt, weight=lg.asarray(2.0), also=(logits,))
            alive += [weakref.ref(loss), weakref.ref(loss.node), weakref.ref(logits.node)]
            del logits, loss
    finally:
        gc.enable()
    assert [ref() for ref in alive] == [None] * 27
    assert loop._window.get().batches == 9
