"""Compositions that carry the derivative of the whole have that of their steps."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazygraph as lg

Function = Callable[[lg.Tensor], lg.Tensor]


def stepwise_softmax(axis: int) -> Function:
    def softmax(x: lg.Tensor) -> lg.Tensor:
        e = lg.exp(x - lg.stop_gradient(lg.max(x, axis=axis, keepdims=True)))
        return e / lg.sum(e, axis=axis, keepdims=True)

    return softmax


def stepwise_norm(eps: float) -> Function:
    def norm(x: lg.Tensor) -> lg.Tensor:
        distance = x - lg.mean(x, axis=-1, keepdims=True)
        return distance / lg.sqrt(lg.mean(distance**2, axis=-1, keepdims=True) + eps)

    return norm


PAIRS: dict[str, tuple[Function, Function]] = {
    "softmax of rows": (lambda x: lg.softmax(x), stepwise_softmax(-1)),
    "softmax of columns": (lambda x: lg.softmax(x, axis=0), stepwise_softmax(0)),
    "layer norm": (lambda x: lg.layer_norm(x), stepwise_norm(1e-5)),
    "layer norm of near constants": (lambda x: lg.layer_norm(x * 1e-2, eps=1e-2), lambda x: (
        stepwise_norm(1e-2)(x * 1e-2)
    )),
    "gelu": (lambda x: lg.gelu(x), lambda x: x * (0.5 * lg.erf(x * np.sqrt(0.5)) + 0.5)),
}  # fmt: skip


def orders(function: Function, x: Any, u: Any, v: Any) -> list[Any]:
    """The value, the derivative against `u`, and the derivative of that against `v`."""
    point = lg.asarray(x)
    y = function(point)
    slope = lg.grad(lg.sum(y * lg.asarray(u)), point)
    curvature = lg.grad(lg.sum(slope * lg.asarray(v)), point)
    third = lg.grad(lg.sum(curvature * lg.asarray(u)), point)
    lg.realize(y, slope, curvature, third)
    return [t.numpy() for t in (y, slope, curvature, third)]


@pytest.mark.parametrize("name", PAIRS)
def test_value_and_three_derivatives_are_those_of_the_steps(
    name: str, rng: np.random.Generator
) -> None:
    whole, steps = PAIRS[name]
    for shape in ((3, 5), (2, 3, 4)):
        x, u, v = rng.standard_normal((3, *shape))
        for found, expected in zip(orders(whole, x, u, v), orders(steps, x, u, v), strict=True):
            scale = np.abs(expected).max()
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11 * scale)


def test_the_whole_keeps_less_for_the_gradient() -> None:
    x = lg.asarray(np.zeros((64, 1000), np.float32))
    for name in ("softmax of rows", "layer norm", "gelu"):
        whole, steps = PAIRS[name]
        peaks = []
        for function in (whole, steps):
            y = function(lg.sin(x))
            slope = lg.grad(lg.sum(lg.sin(lg.matrix_transpose(y)) * 2.0), x)
            peaks.append(lg.explain(slope).peak_bytes)
        assert peaks[0] < peaks[1], name
