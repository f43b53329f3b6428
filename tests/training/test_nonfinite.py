"""What is not finite changes nothing under "raise" and "skip", to the bit."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator

import lazygraph as lg
from lazygraph import errors
from tests.training.problems import Perceptron, draw_batch, state_of
from training import SGD, AdamW, StepSchedule, TrainingLoop

Spoil = Callable[[lg.Tensor, lg.Var], lg.Tensor]


def float64_var(name: str, data: Any) -> lg.Var:
    return lg.Var(name, np.array(data, np.float64))


def steep(var: lg.Var, factor: float = 1.0) -> lg.Tensor:
    """The value 0, with an infinite gradient: a root at 0."""
    x = var.tensor()
    return lg.sum(lg.sqrt(factor * (x - lg.stop_gradient(x))))


def nan_loss(loss: lg.Tensor, var: lg.Var) -> lg.Tensor:
    return loss + math.nan


def infinite_loss(loss: lg.Tensor, var: lg.Var) -> lg.Tensor:
    return loss - math.inf


def infinite_gradient(loss: lg.Tensor, var: lg.Var) -> lg.Tensor:
    return loss + steep(var)


def nan_gradient(loss: lg.Tensor, var: lg.Var) -> lg.Tensor:
    return loss + (steep(var) - steep(var, 2.0))  # inf - inf


FAULTS: dict[Spoil, str] = {
    nan_loss: "a loss of nan",
    infinite_loss: "a loss of -inf",
    infinite_gradient: "a gradient of b1 with the norm inf",
    nan_gradient: "a gradient of b1 with the norm nan",
}
SPOILS = pytest.mark.parametrize("spoil", FAULTS, ids=lambda f: f.__name__)
WINDOWS = pytest.mark.parametrize(("accumulate", "at"), [(1, 0), (3, 0), (3, 1), (3, 2)])


class Run:
    """A model in the middle of its training: two applied steps, moments that are not zero."""

    def __init__(self, rng: Generator, accumulate: int, nonfinite: str) -> None:
        self.rng = rng
        self.model = Perceptron(rng)
        self.opt = AdamW(self.model.params, lr=0.05)
        self.loop = TrainingLoop(
            1.0, 0.5, StepSchedule(0.1, [1, 2, 3], 0.5), accumulate, nonfinite
        )
        for _ in range(2 * accumulate):
            self.step()

    def step(self, spoil: Spoil | None = None) -> Any:
        x, y = draw_batch(self.rng)
        loss = self.model.loss(x, y)
        if spoil is not None:
            loss = spoil(loss, self.model.params[1])
        return self.loop.step(loss, self.opt)

    def state(self) -> Any:
        return state_of(self.opt, self.loop)


@SPOILS
@WINDOWS
def test_raise_changes_nothing_and_names_what_is_wrong(
    rng: Generator, spoil: Spoil, accumulate: int, at: int
) -> None:
    run = Run(rng, accumulate, "raise")
    for _ in range(at):
        run.step()
    before = run.state()
    expected = f"loss and gradients must be finite; got {FAULTS[spoil]}"
    with pytest.raises(errors.NonFiniteError) as raised:
        run.step(spoil)
    assert str(raised.value) == expected
    assert isinstance(raised.value, ArithmeticError)
    assert run.state() == before
    for _ in range(accumulate - at):
        outcome = run.step()
    assert (outcome.applied, outcome.global_step, outcome.lr) == (True, 3, 0.025)


@SPOILS
@WINDOWS
def test_skip_drops_the_whole_window_and_changes_nothing(
    rng: Generator, spoil: Spoil, accumulate: int, at: int
) -> None:
    run = Run(rng, accumulate, "skip")
    before = run.state()
    for n in range(accumulate):
        outcome = run.step(spoil if n == at else None)
        assert outcome.skipped == (n == accumulate - 1)
        assert not outcome.applied
        assert not outcome.clipped
    assert (outcome.global_step, outcome.missing) == (2, ())
    assert run.state() == before
    for _ in range(accumulate):
        outcome = run.step()
    assert (outcome.applied, outcome.global_step, outcome.lr) == (True, 3, 0.025)


@pytest.mark.parametrize("at", [0, 1])
def test_skip_drops_a_window_that_is_flushed(rng: Generator, at: int) -> None:
    run = Run(rng, 3, "skip")
    before = run.state()
    for n in range(2):
        run.step(nan_gradient if n == at else None)
    outcome = run.loop.flush(run.opt)
    assert outcome is not None
    assert (outcome.applied, outcome.skipped, outcome.grad_norm) == (False, True, None)
    assert (outcome.global_step, outcome.lr) == (2, 0.025)
    assert run.state() == before


@SPOILS
def test_ignore_goes_on(rng: Generator, spoil: Spoil) -> None:
    run = Run(rng, 1, "ignore")
    outcome = run.step(spoil)
    assert (outcome.applied, outcome.skipped, outcome.global_step) == (True, False, 3)
    finite = [bool(np.isfinite(var.numpy()).all()) for var in run.model.params]
    # A NaN norm spoils all by its factor, an infinite one only where inf * 0 is NaN.
    spoilt: dict[Spoil, list[bool]] = {
        infinite_gradient: [True, False, True, True],
        nan_gradient: [False] * 4,
    }
    assert finite == spoilt.get(spoil, [True] * 4)


@pytest.mark.parametrize(
    ("bad", "norm"), [([math.inf, 1.0], math.inf), ([math.nan, 1.0], math.nan)]
)
def test_the_norm_of_a_skipped_step_is_reported(bad: list[float], norm: float) -> None:
    # Gradients [inf, 1] and [2], or [nan, 1] and [2]: nothing may be clipped to 0 and applied.
    u, v = float64_var("u", [0.0, 0.0]), float64_var("v", [0.0])
    opt = SGD([u, v], lr=0.1, momentum=0.9)
    loop = TrainingLoop(max_grad_norm=1.0, nonfinite="skip")
    before = state_of(opt, loop)
    outcome = loop.step(lg.sum(u * np.array(bad)) + lg.sum(2.0 * v), opt)
    assert (outcome.applied, outcome.skipped, outcome.clipped) == (False, True, False)
    assert outcome.grad_norm == pytest.approx(norm, nan_ok=True)
    assert state_of(opt, loop) == before


def test_the_schedule_does_not_advance_on_a_skipped_step() -> None:
    # Rates 0.1, 0.05, ...; gradients 1, nan, 1: p = 1 - 0.1 - 0.05.
    p = float64_var("p", 1.0)
    opt = SGD([p])
    schedule = StepSchedule(0.1, [1, 2], 0.5)
    loop = TrainingLoop(scheduler=schedule, nonfinite="skip")
    outcomes = [loop.step(p * gradient, opt) for gradient in (1.0, math.nan, 1.0)]
    assert p.item() == pytest.approx(0.85, rel=1e-15)
    assert [outcome.lr for outcome in outcomes] == [0.1, 0.05, 0.05]
    assert [outcome.skipped for outcome in outcomes] == [False, True, False]
    assert (loop.global_step, opt.state.get()[0].step) == (2, 2)


def test_all_that_is_wrong_is_named() -> None:
    u, v, w = (float64_var(name, 1.0) for name in "uvw")
    loss = u * math.nan + v * math.inf + w
    message = (
        "loss and gradients must be finite; got a loss of nan, a gradient of u with the norm "
        "nan, a gradient of v with the norm inf"
    )
    with pytest.raises(errors.NonFiniteError) as raised:
        TrainingLoop().step(loss, SGD([w, v, u]))
    listed = "got a loss of nan, a gradient of v with the norm inf, a gradient of u with the"
    assert listed in str(raised.value)
    with pytest.raises(errors.NonFiniteError) as raised:
        TrainingLoop().step(loss, SGD([u, v, w]))
    assert str(raised.value) == message


def test_large_finite_gradients_are_finite() -> None:
    # Squares overflow, the norm does not: 5e200 in float64, and clipping works.
    w = float64_var("w", [0.0, 0.0])
    outcome = TrainingLoop(max_grad_norm=1.0).step(
        lg.sum(w * np.array([3e200, 4e200])), SGD([w], lr=1.0)
    )
    assert outcome.grad_norm == pytest.approx(5e200, rel=1e-15)
    np.testing.assert_allclose(w.numpy(), [-0.6, -0.8], rtol=1e-6)


def test_a_parameter_may_be_infinite_if_its_gradient_is_not() -> None:
    w = float64_var("w", [math.inf, 1.0])
    outcome = TrainingLoop().step(lg.sum(lg.minimum(w, 2.0)), SGD([w], lr=0.5))
    assert (outcome.applied, w.numpy().tolist()) == (True, [math.inf, 0.5])
