"""Slopes by differences: the oracle for gradients."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import lazygraph as lg

Arrays = dict[str, NDArray[Any]]
STEP = 1e-3


def difference(f: Callable[[Arrays], float], at: Arrays, direction: Arrays) -> float:
    """The slope of `f` along a direction, from four values: the error is of fourth order."""

    def value(steps: int) -> float:
        return f({name: x + steps * STEP * direction[name] for name, x in at.items()})

    return (8 * (value(1) - value(-1)) - (value(2) - value(-2))) / (12 * STEP)


def draw_direction(at: Arrays, rng: np.random.Generator) -> Arrays:
    return {name: rng.standard_normal(x.shape) / np.sqrt(x.size) for name, x in at.items()}


def assert_gradients_hold(
    build: Callable[[], lg.Tensor], variables: Mapping[str, lg.Var], rng: np.random.Generator
) -> None:
    """The loss that `build` records has the slope that its gradients say, in float64."""
    at = {name: var.numpy() for name, var in variables.items()}
    assert all(x.dtype == np.float64 for x in at.values())
    direction = draw_direction(at, rng)
    gradients = build().backward()
    slope = sum((gradients[var].numpy() * direction[n]).sum() for n, var in variables.items())

    def value(arrays: Arrays) -> float:
        for name, array in arrays.items():
            variables[name].assign(array)
        return float(build())

    expected = difference(value, at, direction)
    for name, array in at.items():
        variables[name].assign(array)
    assert slope == pytest.approx(expected, rel=1e-7, abs=1e-10)
