"""`train`: the plain loop over a model, an optimizer and batches."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator

import lazygraph as lg
import training
from lazygraph import errors
from tests.training.problems import Perceptron, draw_batch, values
from training import MLP, SGD, AdamW, CosineSchedule, TrainingLoop, train


def test_is_the_training_loop(rng: Generator) -> None:
    model = Perceptron(rng)
    start = values(model.params)
    batches = [draw_batch(rng) for _ in range(6)]
    schedule = CosineSchedule(0.1, 2, 6)

    def call(x: Any, y: Any) -> tuple[lg.Tensor, lg.Tensor]:
        logits = model.outputs(x)
        return logits, lg.mean((logits - y) ** 2)

    losses = train(
        call, AdamW(model.params), batches.__getitem__, 6, grad_clip=0.5, lr_schedule=schedule
    )
    ends = [value.tobytes() for value in values(model.params)]
    for var, value in zip(model.params, start, strict=True):
        var.assign(value)
    opt, loop = AdamW(model.params), TrainingLoop(0.5, scheduler=schedule)
    assert losses == [loop.step(call(x, y)[1], opt).loss for x, y in batches]
    assert ends == [value.tobytes() for value in values(model.params)]


def test_learns_classes_from_integer_arrays(rng: Generator) -> None:
    # Which of three corners a point is nearest to.
    corners = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]], np.float32)
    y = rng.integers(0, 3, 60)
    x = corners[y] + 0.3 * rng.standard_normal((60, 2)).astype(np.float32)
    model = MLP((2, 8, 3))

    def get_batch(step: int) -> tuple[Any, Any]:
        rows = np.arange(20 * (step % 3), 20 * (step % 3) + 20)
        return x[rows], y[rows]

    losses = train(model, AdamW(model.parameters(), lr=0.05), get_batch, 60, grad_clip=1.0)
    assert len(losses) == 60
    assert losses[0] > 0.5
    assert losses[-1] < 0.05


@pytest.mark.parametrize("as_schedule", [False, True], ids=["function", "LrSchedule"])
def test_the_rate_is_set_before_each_update(as_schedule: bool) -> None:
    w = lg.Var("w", np.array(0.0))
    schedule = CosineSchedule(0.1, 2, 5)
    given = schedule if as_schedule else schedule.lr_at
    losses = train(
        lambda x, y: (w, 1.0 * w), SGD([w]), lambda n: (None, None), 5, lr_schedule=given
    )
    rates = [schedule.lr_at(n) for n in range(5)]
    expected = [-float(total) for total in np.cumsum([0.0, *rates])]
    assert losses == pytest.approx(expected[:5], rel=1e-14)
    assert w.item() == pytest.approx(expected[5], rel=1e-14)


@pytest.mark.parametrize(
    ("n_steps", "log_every", "steps"),
    [(5, 2, [2, 4, 5]), (4, 2, [2, 4]), (3, 1, [1, 2, 3]), (3, 9, [3]), (3, 0, []), (0, 1, [])],
)
def test_prints_every_so_many_steps_and_at_the_last(
    capsys: pytest.CaptureFixture[str], n_steps: int, log_every: int, steps: list[int]
) -> None:
    w = lg.Var("w", np.array(8.0))
    losses = train(
        lambda x, y: (w, 1.0 * w),
        SGD([w], lr=1.0),
        lambda n: (None, None),
        n_steps,
        log_every=log_every,
    )
    assert losses == [8.0 - n for n in range(n_steps)]
    printed = capsys.readouterr().out.splitlines()
    assert printed == [f"step {n}: loss {9.0 - n:.4f}" for n in steps]


def test_asks_for_one_batch_a_step_in_order() -> None:
    w, asked = lg.Var("w", np.array(1.0)), []

    def get_batch(step: int) -> tuple[Any, Any]:
        asked.append(step)
        return np.float64(step), None

    losses = train(lambda x, y: (x, w * x), SGD([w], lr=0.0), get_batch, 4)
    assert (asked, losses) == ([0, 1, 2, 3], [0.0, 1.0, 2.0, 3.0])


def test_costs_one_realization_a_step(rng: Generator) -> None:
    model = Perceptron(rng)
    x, y = draw_batch(rng)
    before = lg.stats().realizations
    train(lambda x, y: (x, model.loss(x, y)), SGD(model.params), lambda n: (x, y), 7, 1.0)
    assert lg.stats().realizations - before == 7


def test_stops_at_a_loss_that_is_not_finite() -> None:
    w = lg.Var("w", np.array(1.0))
    with pytest.raises(errors.NonFiniteError, match="got a loss of nan, a gradient of w"):
        train(
            lambda x, y: (w, w * x),
            SGD([w], lr=0.5),
            lambda n: (np.float64(math.nan if n == 1 else 1.0), None),
            3,
        )
    assert (w.item(), w.version) == (0.5, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_steps": -1}, "n_steps must not be negative; got -1"),
        ({"n_steps": 1, "log_every": -2}, "log_every must not be negative; got -2"),
        ({"n_steps": 1, "grad_clip": -0.5}, r"max_grad_norm must not be negative; got -0\.5"),
    ],
)
def test_a_wrong_number_is_named(arguments: dict[str, Any], message: str) -> None:
    w = lg.Var("w", 1.0)
    with pytest.raises(ValueError, match=message):
        training.train(lambda x, y: (w, w * w), SGD([w]), lambda n: (None, None), **arguments)
    assert w.version == 0
