"""What one step means: the order of its parts, what it reports, what it leaves alone."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator

import lazygraph as lg
import training
from lazygraph import errors
from tests.training.problems import Perceptron, draw_batch, state_of, values
from training import SGD, AdamW, TrainingLoop

SCHEDULES = [
    training.ConstantSchedule(0.3),
    training.LinearWarmupSchedule(0.4, 4),
    training.CosineSchedule(0.4, 3, 8, 0.01),
    training.PolynomialSchedule(0.4, 6, power=2.0, warmup_steps=2),
    training.StepSchedule(0.4, [1, 3], gamma=0.5),
]


class NanoGpt:
    """A schedule of one's own."""

    def lr_at(self, step: int) -> float:
        return training.get_lr(step, 0.5, 0.05, 3, 9)


def float64_var(name: str, data: Any) -> lg.Var:
    return lg.Var(name, np.array(data, np.float64))


def test_the_reported_norm_is_the_one_before_clipping() -> None:
    w = float64_var("w", [0.0, 0.0])
    outcome = TrainingLoop(max_grad_norm=1.0).step(
        lg.sum(w * np.array([3.0, 4.0])), SGD([w], lr=1.0)
    )
    assert (outcome.grad_norm, outcome.clipped) == (5.0, True)
    np.testing.assert_allclose(w.numpy(), [-0.6, -0.8], rtol=1e-6)


def test_an_infinite_bound_measures_without_clipping() -> None:
    w = float64_var("w", [0.0, 0.0])
    outcome = TrainingLoop(max_grad_norm=math.inf).step(
        lg.sum(w * np.array([3.0, 4.0])), SGD([w], lr=1.0)
    )
    assert (outcome.grad_norm, outcome.clipped) == (5.0, False)
    assert w.numpy().tolist() == [-3.0, -4.0]


def test_no_bound_reports_no_norm() -> None:
    w = float64_var("w", 1.0)
    assert TrainingLoop().step(w * w, SGD([w])).grad_norm is None


@pytest.mark.parametrize("schedule", [*SCHEDULES, NanoGpt()], ids=lambda s: type(s).__name__)
def test_update_n_uses_and_reports_the_rate_of_step_n(schedule: Any) -> None:
    # The gradient is 1, so the parameter falls by the very rate; rates are set before the
    # update, the first by lr_at(0).
    w = float64_var("w", 0.0)
    opt, loop = SGD([w], lr=99.0), TrainingLoop(scheduler=schedule)
    expected = 0.0
    for n in range(12):
        outcome = loop.step(1.0 * w, opt)
        expected -= schedule.lr_at(n)
        assert (outcome.lr, opt.learning_rate) == (schedule.lr_at(n), schedule.lr_at(n))
        assert (w.item(), outcome.global_step) == (expected, n + 1)


def test_the_rate_of_nanogpt_is_its_formula() -> None:
    top, floor, warmup, decay = 0.5, 0.05, 3, 9
    for n in range(12):
        if n < warmup:
            expected = top * (n + 1) / (warmup + 1)
        elif n > decay:
            expected = floor
        else:
            share = (n - warmup) / (decay - warmup)
            expected = floor + 0.5 * (1.0 + math.cos(math.pi * share)) * (top - floor)
        assert NanoGpt().lr_at(n) == pytest.approx(expected, rel=1e-15)


def test_without_a_schedule_the_optimizers_rate_is_used() -> None:
    w = float64_var("w", 1.0)
    opt, loop = SGD([w], lr=0.5), TrainingLoop()
    assert loop.step(1.0 * w, opt).lr == 0.5
    opt.set_learning_rate(0.25)
    assert loop.step(1.0 * w, opt).lr == 0.25
    assert w.item() == 0.25


@pytest.mark.parametrize("rate", [math.nan, math.inf, -0.1])
def test_a_schedule_cannot_give_a_rate_that_is_none(rate: float) -> None:
    class Broken:
        def lr_at(self, step: int) -> float:
            return rate if step == 2 else 0.1

    w = float64_var("w", 1.0)
    opt, loop = SGD([w]), TrainingLoop(scheduler=Broken())
    loop.set_global_step(2)
    before = state_of(opt, loop)
    with pytest.raises(ValueError, match=r"lr_at\(2\) must be in \[0, inf\); got"):
        loop.step(1.0 * w, opt)
    assert state_of(opt, loop) == before


def test_the_norm_is_clipped_before_the_values() -> None:
    # [3, 4] -> [0.6, 0.8] -> [0.6, 0.7]; the other way round it would be [0.707, 0.707].
    w = float64_var("w", [0.0, 0.0])
    loop = TrainingLoop(max_grad_norm=1.0, max_grad_value=0.7)
    loop.step(lg.sum(w * np.array([3.0, 4.0])), SGD([w], lr=1.0))
    np.testing.assert_allclose(w.numpy(), [-0.6, -0.7], rtol=1e-6)


def test_a_var_used_twice_gets_the_summed_gradient() -> None:
    # d(3w + w w)/dw = 3 + 2w = 7 at 2.
    w = float64_var("w", 2.0)
    TrainingLoop().step(3.0 * w + w * w, SGD([w], lr=0.1))
    assert w.item() == pytest.approx(1.3, rel=1e-15)


def test_a_var_that_the_loss_does_not_reach_is_untouched_and_listed() -> None:
    w, unused = float64_var("w", [1.0]), float64_var("unused", [2.0])
    opt = AdamW([unused, w], lr=0.1, weight_decay=0.5)
    before, leaf = unused.cell.get(), unused.tensor()
    outcome = TrainingLoop(max_grad_norm=1.0).step(lg.sum(w * w), opt)
    assert outcome.missing == ("unused",)
    assert unused.cell.get() is before
    assert unused.tensor() is leaf
    slots, moved = opt.state.get()
    assert (slots.step, moved.step, w.version) == (0, 1, 1)
    assert not any(array.any() for array in slots.arrays.values())


def test_a_var_that_is_only_looked_at_is_not_updated() -> None:
    # `also` needs v, the loss does not.
    w, v = float64_var("w", 1.0), float64_var("v", 3.0)
    seen = v * 2.0
    outcome = TrainingLoop().step(w * w, SGD([w, v], lr=0.1), also=(seen,))
    assert (outcome.missing, v.version, seen.item()) == (("v",), 0, 6.0)


def test_an_update_does_not_change_the_value_of_an_older_graph() -> None:
    w = float64_var("w", [1.0, 2.0])
    old, leaf = w * 10.0, w.tensor()
    TrainingLoop().step(lg.sum(w * w), SGD([w], lr=0.25))
    assert old.tolist() == [10.0, 20.0]
    assert leaf.tolist() == [1.0, 2.0]
    assert (w * 10.0).tolist() == [5.0, 10.0]


def test_tensors_in_also_are_computed_in_the_realization_of_the_step(rng: Generator) -> None:
    model = Perceptron(rng)
    x, y = draw_batch(rng)
    logits = model.outputs(x)
    error = logits - y
    loss = lg.mean(error**2)
    before = lg.stats().realizations
    TrainingLoop(max_grad_norm=1.0).step(loss, AdamW(model.params), also=(logits, error))
    assert logits.node.value is not None
    np.testing.assert_array_equal(logits.numpy() - y, error.numpy())
    assert loss.item() == pytest.approx((error.numpy() ** 2).mean(), rel=1e-14)
    assert lg.stats().realizations - before == 1


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_a_loss_holds_one_element_of_any_rank(shape: tuple[int, ...]) -> None:
    w = float64_var("w", 3.0)
    outcome = TrainingLoop(accumulate=1).step(lg.reshape(w * w, shape), SGD([w], lr=0.5))
    assert (outcome.loss, w.item()) == (9.0, 0.0)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda w: w * w, errors.ShapeError, r"must hold one element; got float64\[2\]"),
        (lambda w: lg.argmax(w * w), errors.GradientError, r"must be floating; got int64\[\]"),
        (lambda w: lg.sum(lg.zeros(2)), errors.GradientError, "at least one parameter"),
    ],
    ids=["two elements", "integer", "no parameter"],
)
def test_an_unfit_loss_is_refused_with_its_line(
    make: Callable[[lg.Var], lg.Tensor], error: type[Exception], message: str
) -> None:
    w = float64_var("w", [1.0, 2.0])
    opt, loop = SGD([w]), TrainingLoop()
    before = state_of(opt, loop)
    with pytest.raises(error, match=message) as raised:
        loop.step(make(w), opt)
    assert "test_step.py" in raised.value.__notes__[0]
    assert state_of(opt, loop) == before


def test_what_is_no_tensor_is_no_loss() -> None:
    w = float64_var("w", 1.0)
    with pytest.raises(TypeError, match=r"a loss must be a Tensor; got 3\.0"):
        TrainingLoop().step(3.0, SGD([w]))  # type: ignore[arg-type]


def test_nothing_steps_inside_no_realize() -> None:
    w = float64_var("w", 1.0)
    opt, loop, loss = SGD([w]), TrainingLoop(), w * w
    before = state_of(opt, loop)
    with lg.no_realize():
        with pytest.raises(errors.RealizationError):
            loop.step(loss, opt)
        with pytest.raises(errors.RealizationError):
            opt.backward_step(loss)
        with pytest.raises(errors.RealizationError):
            opt.step({"w": np.float64(1.0)})
    assert state_of(opt, loop) == before


def test_a_loss_from_an_outdated_version_is_refused() -> None:
    w = float64_var("w", 1.0)
    opt, loop, old = SGD([w]), TrainingLoop(), w * w
    loop.step(w * w, opt)
    before = state_of(opt, loop)
    message = "present parameters; w is at version 1, the loss uses version 0"
    with pytest.raises(errors.GradientError, match=message):
        loop.step(old, opt)
    with pytest.raises(errors.GradientError, match=message):
        opt.backward_step(old)
    assert state_of(opt, loop) == before


def test_two_versions_of_a_var_in_one_graph_are_refused() -> None:
    w = float64_var("w", 2.0)
    old = w * 1.0
    w.assign(3.0)
    with pytest.raises(errors.GradientError, match="one version of each Var; got versions 0"):
        (old * w).backward()
    with pytest.raises(errors.GradientError, match="w is at version 1, the loss uses version"):
        TrainingLoop().step(old * w, SGD([w]))


def test_the_same_batch_twice_in_a_row_needs_a_new_loss(rng: Generator) -> None:
    model = Perceptron(rng)
    x, y = draw_batch(rng)
    opt, loop = SGD(model.params, lr=0.01), TrainingLoop()
    losses = [loop.step(model.loss(x, y), opt).loss for _ in range(3)]
    assert losses[0] > losses[1] > losses[2]


def test_a_loss_that_was_realized_before_gives_the_same_step(rng: Generator) -> None:
    x, y = draw_batch(rng)
    start = Perceptron(rng)
    first = values(start.params)
    ends = []
    for realized in (False, True):
        for var, value in zip(start.params, first, strict=True):
            var.assign(value)
        logits = start.outputs(x)
        loss = lg.mean((logits - y) ** 2)
        if realized:
            lg.realize(logits, loss)
        TrainingLoop(max_grad_norm=0.1).step(loss, AdamW(start.params))
        ends.append([value.tobytes() for value in values(start.params)])
    assert ends[0] == ends[1]
