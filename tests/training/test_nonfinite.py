"""What is not finite changes nothing under "raise" and "skip", to the bit."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator

import lazygraph as lg
from lazygraph import errors
from tests.training.problems import Perceptron, draw_batch, state_of, values
from training import SGD, Adam, AdamW, StepSchedule, TrainingLoop

Spoil = Callable[[lg.Tensor, Perceptron], lg.Tensor]


def float64_var(name: str, data: Any) -> lg.Var:
    return lg.Var(name, np.array(data, np.float64))


def nan_loss(loss: lg.Tensor, model: Perceptron) -> lg.Tensor:
    """A loss of NaN whose gradients are finite."""
    return loss + math.nan


def infinite_loss(loss: lg.Tensor, model: Perceptron) -> lg.Tensor:
    return loss + math.inf


def nan_gradient(loss: lg.Tensor, model: Perceptron) -> lg.Tensor:
    """A finite loss whose gradient is NaN in b1 alone."""
    return loss + lg.sum(slope_of(model.params[1], math.nan))


def infinite_gradient(loss: lg.Tensor, model: Perceptron) -> lg.Tensor:
    return loss + lg.sum(slope_of(model.params[1], math.inf))


def slope_of(var: lg.Var, slope: float) -> lg.Tensor:
    """Zero, with a gradient of `slope`."""
    x = var.tensor()
    line = x * slope
    # where() takes the value of one branch and the gradient of the other through `line`.
    return line - line.detach() if math.isfinite(slope) else hidden(x, slope)


def hidden(x: lg.Tensor, slope: float) -> lg.Tensor:
    # At 0 the function min(c z, 1) has the value 0 and the slope c, which overflows.
    z = x - x.detach()
    huge = 1e308 * (10.0 * z)
    return huge if slope == math.inf else huge - 1e308 * (10.0 * z)


SPOILS: list[Spoil] = [nan_loss, infinite_loss, nan_gradient, infinite_gradient]
NAMED = {
    nan_loss: "a loss of nan",
    infinite_loss: "a loss of inf",
    nan_gradient: "a gradient of b1 with the norm nan",
    infinite_gradient: "a gradient of b1 with the norm inf",
}
