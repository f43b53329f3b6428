"""The kinds behind reported faults of steps: counts, windows and norms, with drawn numbers."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazygraph as lg
import training
from lazygraph import plan
from tests.training.problems import Perceptron, draw_batch, state_of, values

STATEFUL = ("momentum", "Adam", "AdamW")
OPTIMIZERS: dict[str, Callable[[list[lg.Var]], training.Optimizer]] = {
    "SGD": lambda params: training.SGD(params, lr=1e-3),
    "momentum": lambda params: training.SGD(params, lr=1e-4, momentum=0.9),
    "Adam": lambda params: training.Adam(params, lr=1e-3),
    "AdamW": lambda params: training.AdamW(params, lr=1e-3, weight_decay=0.0),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_thousand_steps_are_counted_and_corrected_as_such(name: str, dtype: str) -> None:
    # Counts do not stick, whatever the dtype of the parameter.
    w = lg.Var("w", np.array([1.0, -2.0], dtype))
    opt, loop = OPTIMIZERS[name]([w]), training.TrainingLoop()
    for _ in range(1000):
        loop.step(lg.sum(3.0 * w), opt)
    assert loop.global_step == opt.state_dict()["state"]["w"]["step"] == w.version == 1000
    moved = {
        "SGD": 3.0,
        "momentum": 1e-4 * 30.0 * sum(1 - 0.9**n for n in range(1, 1001)),
        "Adam": 1.0,
        "AdamW": 1.0,
    }[name]
    assert w.dtype.name == dtype
    wanted = np.array([1.0, -2.0]) - moved
    assert np.allclose(w.numpy(), wanted, rtol=0.0, atol=3e-4 if dtype == "float32" else 1e-8)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_windows_of_any_batches_step_as_their_union_would(
    size: int, rng: np.random.Generator
) -> None:
    # By number of rows, clipped once at the end, the last window shorter.
    batches = [draw_batch(rng, rows=int(n)) for n in rng.integers(1, 7, 3 * size + size // 2)]
    windows = [batches[i : i + size] for i in range(0, len(batches), size)]
    found: list[Any] = []
    for whole in (False, True):
        model = Perceptron(np.random.default_rng(5))
        opt = training.AdamW(model.params, lr=0.1)
        accumulate = 1 if whole else size
        loop = training.TrainingLoop(max_grad_norm=0.5, accumulate=accumulate)
        outcomes = []
        for window in windows:
            parts = [tuple(map(np.concatenate, zip(*window, strict=True)))] if whole else window
            for x, y in parts:
                outcome = loop.step(model.loss(x, y), opt, weight=float(len(x)))
            if not outcome.applied:
                flushed = loop.flush(opt)
                assert flushed is not None
                outcome = flushed
            outcomes.append((outcome.loss, outcome.grad_norm, outcome.global_step))
        found.append((outcomes, values(model.params)))
    (some, params), (all_at_once, wanted) = found
    assert np.allclose(some, all_at_once, rtol=1e-11, atol=0.0)
    for p, q in zip(params, wanted, strict=True):
        assert np.allclose(p, q, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("p", [1.0, 2.0, 3.5, math.inf])
@pytest.mark.parametrize("scale", [1e-200, 1e-3, 1.0, 1e5, 1e200])
def test_clipping_scales_all_by_one_factor_or_none(
    p: float, scale: float, rng: np.random.Generator
) -> None:
    # Without overflow and underflow on the way.
    arrays = {
        name: scale * rng.standard_normal(s) for name, s in {"a": (2, 3), "b": ()}.items()
    }
    flat = np.concatenate([np.ravel(x) for x in arrays.values()]) / scale
    norm = scale * float(np.linalg.norm(flat, ord=p))
    grads = {name: lg.asarray(x) for name, x in arrays.items()}
    assert np.isclose(training.global_norm(grads, p).item(), norm, rtol=1e-12, atol=0.0)
    for bound in (norm * 0.25, norm * 4.0):
        clipped = training.clip_grad_norm(iter(grads.items()), bound, p)
        factor = min(1.0, bound / (norm + 1e-6))
        for name, x in arrays.items():
            if factor == 1.0:
                assert clipped[name].numpy().tobytes() == x.tobytes()
            assert np.allclose(clipped[name].numpy(), factor * x, rtol=1e-12, atol=0.0)
            assert grads[name].numpy().tobytes() == x.tobytes()


@pytest.mark.parametrize("early", [False, True], ids=["lazy", "realized early"])
@pytest.mark.parametrize("place", ["in the loss", "also"])
def test_an_older_version_may_stand_where_no_gradient_goes(place: str, early: bool) -> None:
    # Whether it was realized makes no difference: values do not, and errors must not.
    w = lg.Var("w", [1.0, -2.0])
    older = lg.tanh(w * 2.0)
    if early:
        older.realize()
    target = older.detach()
    w.assign([0.5, 0.5])
    opt, loop = training.SGD([w], lr=0.1), training.TrainingLoop()
    error = w - (target if place == "in the loss" else 0.25)
    outcome = loop.step(lg.sum(lg.square(error)), opt, also=[target])
    aim = np.tanh([2.0, -4.0]) if place == "in the loss" else np.array([0.25, 0.25])
    assert np.allclose(w.numpy(), 0.5 - 0.2 * (0.5 - aim), rtol=1e-6)
    assert outcome.applied
    assert np.allclose(target.numpy(), np.tanh([2.0, -4.0]), rtol=1e-6)


def run(
    name: str, batches: list[Any], before_each: Callable[[], None] | None = None, **options: Any
) -> tuple[list[Any], Any]:
    """What steps on a list of batches report, and the bits that the parameters end with."""
    model = Perceptron(np.random.default_rng(5))
    opt = OPTIMIZERS[name](model.params)
    loop = training.TrainingLoop(**options)
    outcomes = []
    for x, y, factor in batches:
        if before_each is not None:
            before_each()
        outcome = loop.step(model.loss(x, y) * factor, opt)
        outcomes.append((outcome.loss, outcome.grad_norm, outcome.lr, outcome.global_step))
    return outcomes, state_of(opt)


def drawn(rng: np.random.Generator, count: int) -> list[Any]:
    return [
        (*draw_batch(rng, rows=int(rng.integers(1, 6))), float(rng.uniform(0.1, 3.0)))
        for _ in range(count)
    ]


@pytest.mark.parametrize("accumulate", [1, 3])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_step_has_the_bits_of_one_whose_plan_was_built_for_it(
    name: str, accumulate: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Rates, counts, factors, bounds and sums are read anew, whatever they were at first.
    batches = drawn(rng, 18)
    options: Any = {
        "scheduler": training.CosineSchedule(0.1, 3, 12, min_lr=0.01),
        "max_grad_norm": 0.7,
        "accumulate": accumulate,
    }

    def forget() -> None:
        monkeypatch.setattr(plan, "cache", plan.PlanCache())

    forget()
    before = lg.stats().plans_built
    warm = run(name, batches, **options)
    built = lg.stats().plans_built - before
    assert built <= len({len(x) for x, _, _ in batches}) * accumulate
    assert run(name, batches, forget, **options) == warm
    assert lg.stats().plans_built - before == built + len(batches)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_run_with_spoiled_batches_is_the_run_without_them(
    name: str, bad: float, rng: np.random.Generator
) -> None:
    batches = drawn(rng, 9)
    options: Any = {
        "scheduler": training.CosineSchedule(0.1, 2, 8),
        "max_grad_norm": 0.7,
        "nonfinite": "skip",
    }
    outcomes, end = run(name, batches, **options)
    spoiled = [(x, y, bad) for x, y, _ in batches]
    mixed = [batch for pair in zip(spoiled, batches, strict=True) for batch in pair]
    found, found_end = run(name, mixed, **options)
    assert found_end == end
    assert found[1::2] == outcomes
    assert [step for *_, step in found[::2]] == list(range(9))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_missing_gradient_leaves_all_as_it_is_and_one_of_zero_is_a_step(
    name: str, dtype: str
) -> None:
    u = np.array([1.0, -3.0], dtype)
    for second, steps in (({"v": u}, 1), ({"v": u, "w": 0 * u}, 2)):
        params = [lg.Var(key, np.ones((2,), dtype)) for key in "vw"]
        opt = OPTIMIZERS[name](params)
        opt.step({"v": u, "w": u})
        first = params[1].numpy(), opt.state.get()[1]
        opt.step(second)
        last = params[1].numpy(), opt.state.get()[1]
        assert (opt.state.get()[0].step, last[1].step) == (2, steps)
        moves = steps == 2 and name in STATEFUL  # a plain step of 0 goes nowhere
        assert np.array_equal(first[0], last[0]) != moves
        for key, array in first[1].arrays.items():
            assert np.array_equal(array, last[1].arrays[key]) != moves


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_parameter_under_several_names_has_one_sum_of_gradients_and_one_state(
    name: str,
) -> None:
    # Whole numbers and powers of two: the sum of the parts is that of the whole.
    ends = []
    for uses in (1, 2, 4):
        w = lg.Var("w", np.array([2.0, -1.0]))
        opt = OPTIMIZERS[name]([w] * uses)
        for _ in range(4):
            total = lg.asarray(np.float64(0.0))
            for _ in range(uses):
                total = total + lg.sum((4.0 / uses) * w)
            opt.backward_step(total)
        assert (w.version, len(opt.params())) == (4, 1)
        ends.append(state_of(opt))
    assert ends[0] == ends[1] == ends[2]


@pytest.mark.parametrize("warmup", [1, 2, 5, 40])
def test_every_warm_up_begins_above_zero_and_every_decay_ends_for_good(
    warmup: int, rng: np.random.Generator
) -> None:
    base, total = float(rng.uniform(1e-4, 2.0)), warmup + 30
    floor = base * float(rng.uniform(0.0, 0.9))
    schedules: list[tuple[training.LrSchedule, float]] = [
        (training.LinearWarmupSchedule(base, warmup), base),
        (training.CosineSchedule(base, warmup, total, min_lr=floor), floor),
        (training.PolynomialSchedule(base, total, warmup_steps=warmup, min_lr=floor), floor),
        (training.StepSchedule(base, [total], 0.5, warmup_steps=warmup), base * 0.5),
    ]
    for schedule, last in schedules:
        rates = [schedule.lr_at(n) for n in range(warmup)]
        wanted = [base * (n + 1) / warmup for n in range(warmup)]
        assert np.allclose(rates, wanted, rtol=1e-14, atol=0.0)
        assert rates[-1] == schedule.lr_at(warmup) == base
        for n in (total, total + 1, 2 * total, 10**7):
            assert schedule.lr_at(n) == last
