"""The kinds behind reported faults of steps: counts, windows and norms, with drawn numbers."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazygraph as lg
import training
from tests.training.problems import Perceptron, draw_batch, values

OPTIMIZERS: dict[str, Callable[[list[lg.Var]], training.Optimizer]] = {
    "SGD": lambda params: training.SGD(params, lr=1e-3),
    "momentum": lambda params: training.SGD(params, lr=1e-4, momentum=0.9),
    "Adam": lambda params: training.Adam(params, lr=1e-3),
    "AdamW": lambda params: training.AdamW(params, lr=1e-3, weight_decay=0.0),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_thousand_steps_are_counted_and_corrected_as_such(name: str, dtype: str) -> None:
    # K25a: counts do not stick, whatever the dtype of the parameter.
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
    # K39a, K39c, K39e: by number of rows, clipped once at the end, the last window shorter.
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
    # K38c, without overflow and underflow on the way.
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
