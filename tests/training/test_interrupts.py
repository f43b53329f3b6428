"""An interrupt at any line of a step leaves it done or not done, as a whole."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazygraph as lg
from lazygraph import plan
from lazygraph.source import recording
from tests.training.interrupts import Interrupt
from tests.training.problems import state_of
from training import AdamW, CosineSchedule, TrainingLoop


class Run:
    """A small network on fixed batches, some steps after its start: always the same bits."""

    def __init__(self, steps: int, **options: Any) -> None:
        rng = np.random.default_rng(3)
        self.w = lg.Var("w", rng.standard_normal((3, 2)))
        self.b = lg.Var("b", rng.standard_normal(2))
        self.opt = AdamW([self.w, self.b], lr=0.05)
        self.loop = TrainingLoop(0.5, 0.3, CosineSchedule(0.1, 2, 9), **options)
        self.batches = iter(rng.standard_normal((9, 4, 3)))
        for _ in range(steps):
            self.step(self.loss())

    def loss(self) -> lg.Tensor:
        return lg.mean(lg.tanh(next(self.batches) @ self.w + self.b) ** 2)

    def step(self, loss: lg.Tensor) -> None:
        self.loop.step(loss, self.opt)

    def state(self) -> Any:
        return state_of(self.opt, self.loop)


Action = Callable[[Run, lg.Tensor], object]


def take_step(run: Run, loss: lg.Tensor) -> None:
    run.step(loss)


def take_spoiled_step(run: Run, loss: lg.Tensor) -> None:
    run.step(loss * math.nan)


def flush(run: Run, loss: lg.Tensor) -> None:
    run.loop.flush(run.opt)


def step_of_the_optimizer(run: Run, loss: lg.Tensor) -> None:
    run.opt.step(loss.backward())


def assert_done_or_not_done(
    action: Action, steps: int, options: dict[str, Any], stride: int, closely: bool = True
) -> tuple[int, int]:
    """Interrupt the action at each counted line; how often it was not done, and done."""
    run = Run(steps, **options)
    before = run.state()
    action(run, run.loss())
    after = run.state()
    run.step(run.loss())
    last = run.state()

    counts = [0, 0]
    for at in itertools.count(1):
        run = Run(steps, **options)
        loss = run.loss()
        interrupt = Interrupt(at, stride, closely)
        interrupt.call(lambda run=run, loss=loss: action(run, loss))  # type: ignore[misc]
        found = run.state()
        assert found in (before, after), interrupt.where
        if interrupt.where is None:
            assert found == after
            return counts[0], counts[1]
        counts[found == after] += 1
        if found == before:
            action(run, loss)
            assert run.state() == after, interrupt.where
        run.step(run.loss())
        assert run.state() == last, interrupt.where
    raise AssertionError


CASES = pytest.mark.parametrize(
    ("action", "steps", "options"),
    [
        pytest.param(take_step, 2, {}, id="single step"),
        pytest.param(take_step, 4, {"accumulate": 3}, id="inside a window"),
        pytest.param(take_step, 5, {"accumulate": 3}, id="last of a window"),
        pytest.param(flush, 5, {"accumulate": 3}, id="flush"),
        pytest.param(
            take_spoiled_step, 5, {"accumulate": 3, "nonfinite": "skip"}, id="skipped window"
        ),
        pytest.param(step_of_the_optimizer, 2, {}, id="step of the optimizer"),
    ],
)


@CASES
def test_an_interrupted_step_is_done_or_not_done(
    action: Action, steps: int, options: dict[str, Any]
) -> None:
    undone, done = assert_done_or_not_done(action, steps, options, stride=7)
    assert undone > 50
    assert done > 1


@pytest.mark.slow
@CASES
def test_a_step_is_done_or_not_done_wherever_it_is_interrupted(
    action: Action, steps: int, options: dict[str, Any]
) -> None:
    undone, done = assert_done_or_not_done(action, steps, options, stride=1)
    assert undone > 500
    assert done > 1


def test_a_step_that_builds_its_plan_is_done_or_not_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def build_and_step(run: Run, loss: lg.Tensor) -> None:
        monkeypatch.setattr(plan, "cache", plan.PlanCache())
        run.step(loss)

    undone, _ = assert_done_or_not_done(build_and_step, 2, {}, stride=1999, closely=False)
    assert undone > 15
    assert recording.get() == ("", None)  # later nodes do not take over a line of the plan's


def test_a_realization_that_is_interrupted_leaves_the_loss_usable() -> None:
    run = Run(2)
    expected = run.loss().item()
    for at in itertools.count(1, 13):
        loss = Run(2).loss()
        interrupt = Interrupt(at)
        interrupt.call(loss.item)
        assert loss.item() == expected, interrupt.where
        if interrupt.where is None:
            break
    assert at > 200
