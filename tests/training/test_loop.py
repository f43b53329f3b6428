"""The loop around the step: configured, counting, logging, with optimizers of any kind."""

import logging
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator

import lazygraph as lg
import training
from lazygraph import errors
from tests.training.problems import Perceptron, draw_batch, state_of, values
from training import SGD, AdamW, CosineSchedule, TrainingLoop


def configuration(loop: TrainingLoop) -> dict[str, Any]:
    return {name: x for name, x in vars(loop).items() if not isinstance(x, lg.Cell)}


def test_the_fluent_form_is_the_arguments() -> None:
    schedule = CosineSchedule(0.1, 0, 10)
    loop = TrainingLoop()
    same = (
        loop.with_max_grad_norm(1.0)
        .with_max_grad_value(0.5)
        .with_scheduler(schedule)
        .with_accumulation(4)
        .with_log_interval(10)
    )
    assert same is loop
    assert configuration(loop) == configuration(
        TrainingLoop(1.0, 0.5, schedule, accumulate=4, log_interval=10)
    )
    loop.with_max_grad_norm(None).with_max_grad_value(None).with_scheduler(None)
    loop.with_accumulation(1).with_log_interval(None)
    assert configuration(loop) == configuration(TrainingLoop())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_grad_norm": -1.0}, r"max_grad_norm must not be negative; got -1\.0"),
        ({"max_grad_norm": math.nan}, "max_grad_norm must not be negative; got nan"),
        ({"max_grad_value": -0.5}, r"max_grad_value must not be negative; got -0\.5"),
        ({"accumulate": 0}, "accumulate must be a positive integer; got 0"),
        ({"accumulate": 2.0}, r"accumulate must be a positive integer; got 2\.0"),
        ({"accumulate": True}, "accumulate must be a positive integer; got True"),
        ({"log_interval": 0}, "log_interval must be a positive integer; got 0"),
        ({"nonfinite": "stop"}, "nonfinite must be one of .*; got 'stop'"),
    ],
    ids=lambda x: next(iter(x.items())).__repr__() if isinstance(x, dict) else "",
)
def test_a_wrong_argument_is_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TrainingLoop(**arguments)


def test_the_global_step_resumes(rng: Generator) -> None:
    # Seven steps are three, then four in a new loop with the same optimizer.
    x, y = draw_batch(rng)
    schedule = CosineSchedule(0.1, 2, 7)
    start = values(Perceptron(rng).params)

    def begin() -> tuple[Perceptron, AdamW]:
        model = Perceptron(rng)
        for var, value in zip(model.params, start, strict=True):
            var.assign(value)
        return model, AdamW(model.params)

    model, opt = begin()
    loop = TrainingLoop(scheduler=schedule)
    for _ in range(7):
        loop.step(model.loss(x, y), opt)
    straight = [value.tobytes() for value in values(model.params)]

    model, opt = begin()
    loop = TrainingLoop(scheduler=schedule)
    for _ in range(3):
        loop.step(model.loss(x, y), opt)
    by_state = TrainingLoop(scheduler=schedule)
    by_state.load_state_dict(loop.state_dict())
    assert by_state.global_step == 3
    resumed = TrainingLoop(scheduler=schedule)
    resumed.set_global_step(3)
    for n in range(3, 7):
        outcome = resumed.step(model.loss(x, y), opt)
        assert (outcome.lr, outcome.global_step) == (schedule.lr_at(n), n + 1)
    assert [value.tobytes() for value in values(model.params)] == straight


def test_a_global_step_is_not_negative() -> None:
    loop = TrainingLoop()
    with pytest.raises(ValueError, match="global_step must not be negative; got -1"):
        loop.set_global_step(-1)
    with pytest.raises(ValueError, match="global_step must not be negative; got -2"):
        loop.load_state_dict({"global_step": -2})
    assert loop.global_step == 0


class TestLog:
    def test_has_a_record_every_so_many_applied_steps(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        w = lg.Var("w", [3.0, 4.0])
        opt = SGD([w], lr=0.0)
        loop = TrainingLoop(max_grad_norm=1.0, log_interval=2)
        with caplog.at_level(logging.INFO, logger="training.loop"):
            outcomes = [loop.step(0.5 * lg.sum(w * w), opt) for _ in range(5)]
        assert [record.name for record in caplog.records] == ["training.loop"] * 2
        for record, outcome in zip(caplog.records, (outcomes[1], outcomes[3]), strict=True):
            fields = vars(record)
            assert fields["step"] == outcome.global_step
            assert fields["loss"] == outcome.loss == 12.5
            assert fields["lr"] == 0.0
            assert fields["grad_norm"] == 5.0
        assert caplog.messages[0] == "step 2 loss 12.5 lr 0.0 grad_norm 5.0"

    def test_is_silent_without_an_interval(self, caplog: pytest.LogCaptureFixture) -> None:
        w = lg.Var("w", 1.0)
        with caplog.at_level(logging.DEBUG):
            TrainingLoop().step(w * w, SGD([w]))
        assert caplog.records == []

    def test_counts_neither_micro_batches_nor_skipped_steps(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        w = lg.Var("w", 1.0)
        opt, loop = SGD([w]), TrainingLoop(accumulate=2, nonfinite="skip", log_interval=1)
        with caplog.at_level(logging.INFO, logger="training.loop"):
            for factor in (1.0, 1.0, 1.0, math.nan, 1.0, 1.0):
                loop.step(w * factor, opt)
        assert [vars(record)["step"] for record in caplog.records] == [1, 2]


class SignDescent:
    """An optimizer that knows nothing of this library but the protocol."""

    def __init__(self, params: list[lg.Var], lr: float) -> None:
        self._params, self.learning_rate = params, lr
        self.given: list[Mapping[str, lg.Tensor]] = []

    def params(self) -> list[lg.Var]:
        return self._params

    def set_learning_rate(self, lr: float) -> None:
        self.learning_rate = lr

    def step(self, grads: Mapping[str, lg.Tensor]) -> None:
        self.given.append(grads)
        reached = [var for var in self._params if var.name in grads]
        new = [var - self.learning_rate * lg.sign(grads[var.name]) for var in reached]
        lg.realize(new)
        for var, value in zip(reached, new, strict=True):
            var.assign(value)


class TestForeignOptimizer:
    def test_costs_two_realizations(self, rng: Generator) -> None:
        model = Perceptron(rng)
        x, y = draw_batch(rng)
        opt, loop = SignDescent(model.params, 0.1), TrainingLoop(max_grad_norm=1.0)
        before = lg.stats().realizations
        loop.step(model.loss(x, y), opt)
        assert lg.stats().realizations - before == 2

    def test_gets_the_clipped_gradients_and_the_rate_of_the_step(self) -> None:
        w, unused = lg.Var("w", [1.0, 1.0]), lg.Var("unused", [1.0])
        opt = SignDescent([w, unused], 99.0)
        loop = TrainingLoop(max_grad_norm=1.0, scheduler=training.LinearWarmupSchedule(0.5, 2))
        outcome = loop.step(lg.sum(w * np.array([3.0, 4.0], np.float32)), opt)
        assert (outcome.grad_norm, outcome.lr, outcome.missing) == (5.0, 0.25, ("unused",))
        assert (outcome.applied, loop.global_step) == (True, 1)
        assert list(opt.given[0]) == ["w"]
        np.testing.assert_allclose(opt.given[0]["w"].numpy(), [0.6, 0.8], rtol=1e-6)
        assert w.numpy().tolist() == [0.75, 0.75]

    def test_accumulates_like_any_other(self) -> None:
        w = lg.Var("w", 0.0)
        opt, loop = SignDescent([w], 0.5), TrainingLoop(accumulate=2)
        loop.step(1.0 * w, opt, weight=1.0)
        assert (w.version, opt.given) == (0, [])
        loop.step(-4.0 * w, opt, weight=3.0)
        assert (opt.given[0]["w"].item(), w.item()) == (-2.75, 0.5)

    def test_is_not_asked_for_a_step_that_is_skipped(self) -> None:
        w = lg.Var("w", 1.0)
        opt, loop = SignDescent([w], 0.5), TrainingLoop(nonfinite="skip")
        assert loop.step(w * math.inf, opt).skipped
        assert (opt.given, w.version, loop.global_step) == ([], 0, 0)


def test_an_optimizer_that_overrides_step_must_define_update() -> None:
    with pytest.raises(TypeError, match="Other must define `update` with `step`"):

        class Other(SGD):
            def step(self, grads: Any) -> None: ...

    class Both(SGD):
        def step(self, grads: Any) -> None: ...

        def update(self, grads: Any, state: Any, params: Any, lr: Any) -> Any:
            return dict(params), state

    w = lg.Var("w", 1.0)
    TrainingLoop().step(w * w, Both([w]))
    assert (w.item(), w.version) == (1.0, 1)


def test_an_update_that_changes_a_shape_is_refused() -> None:
    class Wide(SGD):
        def rule(self, name: str, g: Any, state: Any, p: Any, lr: Any) -> Any:
            return lg.broadcast_to(p, (2,)), {}

    w = lg.Var("w", 1.0)
    opt, loop = Wide([w]), TrainingLoop()
    before = state_of(opt, loop)
    with pytest.raises(errors.ShapeError, match=r"spec of w, float32\[\]; got float32\[2\]"):
        loop.step(w * w, opt)
    assert state_of(opt, loop) == before
