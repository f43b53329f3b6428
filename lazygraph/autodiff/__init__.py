"""Gradients, from graph to graph."""

from lazygraph.autodiff.custom import custom_gradient
from lazygraph.autodiff.gradcheck import GradientReport, gradcheck
from lazygraph.autodiff.recomputation import checkpoint
from lazygraph.autodiff.reverse import GradientMap, backward, grad, gradients, reach

__all__ = [
    "GradientMap",
    "GradientReport",
    "backward",
    "checkpoint",
    "custom_gradient",
    "grad",
    "gradcheck",
    "gradients",
    "reach",
]
