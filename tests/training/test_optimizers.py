"""What optimizers compute: the papers' formulas, PyTorch's figures, cases done by hand."""

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray

import lazygraph as lg
import training
from benchmarks.record_optimizers import CURVATURE, RECORD, START, target
from training import SGD, Adam, AdamW, Optimizer, TrainingLoop

Array = NDArray[Any]
Moved = Callable[[Array, Array, int], Array]  # (parameter, gradient, step from 1) -> parameter
STEPS = 50


def float64_var(name: str, data: Any) -> lg.Var:
    return lg.Var(name, np.array(data, np.float64))


def sgd(
    lr: float,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
) -> Moved:
    """Sutskever et al. (2013), with the rate outside of the running sum."""
    memory: list[Array] = []

    def move(p: Array, g: Array, step: int) -> Array:
        g = g + weight_decay * p
        if momentum == 0.0:
            return p - lr * g
        memory[:] = [g if step == 1 else momentum * memory[0] + (1.0 - dampening) * g]
        if nesterov:
            return p - lr * (g + momentum * memory[0])
        return p - lr * memory[0]

    return move


def adam(
    lr: float = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    decoupled: bool = False,
) -> Moved:
    """Kingma & Ba (2015), Algorithm 1; if decoupled, Loshchilov & Hutter (2019)."""
    memory = [np.zeros_like(START), np.zeros_like(START)]

    def move(p: Array, g: Array, t: int) -> Array:
        shrunk = p - lr * weight_decay * p if decoupled else p
        if not decoupled:
            g = g + weight_decay * p
        memory[0] = betas[0] * memory[0] + (1.0 - betas[0]) * g
        memory[1] = betas[1] * memory[1] + (1.0 - betas[1]) * g**2
        mean, square = memory[0] / (1.0 - betas[0] ** t), memory[1] / (1.0 - betas[1] ** t)
        return shrunk - lr * mean / (np.sqrt(square) + eps)

    return move


def adamw(lr: float = 1e-3, weight_decay: float = 0.01, **options: Any) -> Moved:
    return adam(lr, weight_decay=weight_decay, decoupled=True, **options)


KINDS: list[tuple[type[Optimizer], Callable[..., Moved], dict[str, Any]]] = [
    (SGD, sgd, {"lr": 0.1}),
    (SGD, sgd, {"lr": 0.1, "weight_decay": 0.3}),
    (SGD, sgd, {"lr": 0.1, "momentum": 0.9}),
    (SGD, sgd, {"lr": 0.1, "momentum": 0.8, "dampening": 0.4, "weight_decay": 0.1}),
    (SGD, sgd, {"lr": 0.05, "momentum": 0.9, "nesterov": True}),
    (Adam, adam, {}),
    (Adam, adam, {"lr": 0.05, "betas": (0.5, 0.7), "eps": 1e-2, "weight_decay": 0.1}),
    (Adam, adam, {"lr": 0.05, "betas": (0.0, 0.0)}),
    (AdamW, adamw, {}),
    (AdamW, adamw, {"lr": 0.05, "betas": (0.9, 0.99), "weight_decay": 0.3}),
]
NAMES = [f"{kind.__name__} {options}" for kind, _, options in KINDS]


def pull(p: lg.Var, step: int) -> lg.Tensor:
    """A loss whose gradient is `CURVATURE (p - target(step))`."""
    dtype = p.dtype.dtype
    away = p - target(step).astype(dtype)
    return 0.5 * lg.sum(CURVATURE.astype(dtype) * (away * away))


def distance(p: lg.Var, expected: Array) -> float:
    """Relative to the first parameters, in the norm."""
    away = p.numpy().astype(np.float64) - expected
    return float(np.linalg.norm(away) / np.linalg.norm(START))


@pytest.mark.parametrize(("kind", "formula", "options"), KINDS, ids=NAMES)
@pytest.mark.parametrize(("dtype", "bound"), [("float64", 1e-12), ("float32", 1e-6)])
def test_fifty_steps_are_those_of_the_formula(
    kind: Any, formula: Callable[..., Moved], options: dict[str, Any], dtype: str, bound: float
) -> None:
    var = lg.Var("p", START.astype(dtype))
    opt, loop = kind([var], **options), TrainingLoop()
    p, move = START, formula(**options)
    for step in range(STEPS):
        loop.step(pull(var, step), opt)
        p = move(p, CURVATURE * (p - target(step)), step + 1)
        assert distance(var, p) < bound
    assert np.abs(p - START).max() > 0.04


@pytest.mark.parametrize(
    "case",
    json.loads(RECORD.read_text(encoding="utf-8"))["cases"],
    ids=lambda case: f"{case['name']} {case['options']} {case['dtype']}",
)
def test_fifty_steps_are_those_of_pytorch(case: dict[str, Any]) -> None:
    var = lg.Var("p", START.astype(case["dtype"]))
    opt = getattr(training, case["name"])([var], **case["options"])
    for step in range(STEPS):
        opt.backward_step(pull(var, step))
        seen = case["seen"].get(str(step + 1))
        if seen is not None:
            expected = np.reshape(seen, START.shape)
            assert distance(var, expected) < (1e-6 if case["dtype"] == "float32" else 1e-13)
    assert seen is not None


def test_defaults_are_those_of_the_field() -> None:
    w = [float64_var("w", 1.0)]
    assert SGD(w).learning_rate == 0.01
    assert Adam(w).learning_rate == AdamW(w).learning_rate == 0.001
    assert Adam(w).hyperparameters() == {
        "betas": (0.9, 0.999),
        "eps": 1e-8,
        "weight_decay": 0.0,
    }
    assert AdamW(w).weight_decay == 0.01
    assert not any(SGD(w).hyperparameters().values())


def test_adam_corrects_the_bias_of_its_first_steps() -> None:
    p = float64_var("p", 1.0)
    opt = Adam([p], lr=0.1)
    for gradient, expected in ((0.5, 0.9), (-1.0, 0.9366104), (0.0, 0.9649103)):
        opt.step({"p": np.float64(gradient)})
        assert p.item() == pytest.approx(expected, abs=5e-8)


def test_under_a_constant_gradient_each_step_of_adam_is_the_rate() -> None:
    # It would not be, were the step count of the first plan baked into it.
    p = float64_var("p", 1.0)
    opt = Adam([p], lr=0.1)
    for expected in (0.9, 0.8, 0.7):
        opt.step({"p": np.float64(3.0)})
        assert p.item() == pytest.approx(expected, rel=1e-8)


def test_the_rate_of_each_step_is_its_own() -> None:
    p = float64_var("p", 1.0)
    opt = SGD([p])
    for rate, expected in ((0.1, 0.9), (0.01, 0.89)):
        opt.set_learning_rate(rate)
        opt.backward_step(1.0 * p)
        assert p.item() == pytest.approx(expected, rel=1e-15)


def test_a_zero_gradient_moves_through_momentum_and_a_missing_one_does_not() -> None:
    def resting() -> tuple[lg.Var, SGD]:
        p = float64_var("p", 1.0)
        opt = SGD([p], lr=0.1, momentum=0.9)
        state = opt.state_dict()
        state["state"]["p"] = {"step": 4, "momentum_buffer": np.float64(2.0)}
        opt.load_state_dict(state)
        return p, opt

    p, opt = resting()
    opt.step({"p": np.float64(0.0)})
    slots = opt.state.get()[0]
    assert (p.item(), slots.arrays["momentum_buffer"].item(), slots.step) == (0.82, 1.8, 5)

    p, opt = resting()
    opt.step({})
    slots = opt.state.get()[0]
    assert (p.item(), slots.arrays["momentum_buffer"].item(), slots.step) == (1.0, 2.0, 4)
    assert p.version == 0


def test_the_first_gradient_enters_the_momentum_whole() -> None:
    p = float64_var("p", 1.0)
    opt = SGD([p], lr=0.1, momentum=0.9, dampening=0.5)
    opt.backward_step(1.0 * p)
    buffer = opt.state.get()[0].arrays["momentum_buffer"]
    assert (p.item(), buffer.item()) == (0.9, 1.0)


def test_a_var_that_is_listed_twice_is_updated_once() -> None:
    # 3w + w w has the slope 7 at 2.
    w = float64_var("w", 2.0)
    opt = SGD([w, w], lr=0.1, momentum=0.5)
    opt.backward_step(3.0 * w + w * w)
    assert w.item() == pytest.approx(1.3, rel=1e-15)
    assert (len(opt.params()), len(opt.state.get())) == (1, 1)


def test_each_parameter_counts_its_own_steps() -> None:
    # Only then does the bias correction of `b`, which misses steps, fit its moments.
    a, b = float64_var("a", 1.0), float64_var("b", 1.0)
    opt = Adam([a, b], lr=0.1)
    alone = Adam([c := float64_var("c", 1.0)], lr=0.1)
    for step in range(9):
        loss = a * a
        if step % 3 == 0:
            loss = loss + math.cos(step) * b
            alone.backward_step(math.cos(step) * c)
        opt.backward_step(loss)
    assert [slots.step for slots in opt.state.get()] == [9, 3]
    assert b.item() == c.item()


def test_the_one_with_fewer_steps_may_be_either() -> None:
    # Alike but for which parameter lags behind: a plan must not be taken for the other one.
    for lagging in (0, 1):
        params = [float64_var("a", 1.0), float64_var("b", 1.0)]
        opt = Adam(params, lr=0.1)
        opt.backward_step(2.0 * params[1 - lagging])
        for _ in range(2):
            opt.backward_step(2.0 * (params[0] + params[1]))
        # Under a constant gradient each step is the rate, whatever the count.
        ends = [var.item() for var in params]
        assert ends[lagging] == pytest.approx(0.8, rel=1e-8)
        assert ends[1 - lagging] == pytest.approx(0.7, rel=1e-8)


def test_a_large_step_count_still_corrects() -> None:
    p = float64_var("p", 1.0)
    opt = Adam([p], lr=0.1)
    state = opt.state_dict()
    state["state"]["p"]["step"] = 10**12
    opt.load_state_dict(state)
    opt.backward_step(1.0 * p)
    # No correction is left: m = 0.1, v = 0.001.
    assert p.item() == pytest.approx(1.0 - 0.1 * 0.1 / math.sqrt(0.001), rel=1e-6)
    assert opt.state.get()[0].step == 10**12 + 1


def test_parameters_of_both_dtypes_step_together(rng: Generator) -> None:
    a, b = lg.Var("a", np.ones(3, np.float32)), lg.Var("b", np.ones(3))
    opt = AdamW([a, b], lr=0.1)
    TrainingLoop(max_grad_norm=1.0).step(lg.sum(lg.astype(a, lg.float64) * b * b), opt)
    assert (a.dtype, b.dtype) == (lg.float32, lg.float64)
    np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6)
