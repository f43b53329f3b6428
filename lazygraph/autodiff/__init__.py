"""Gradients, from graph to graph."""

from lazygraph.autodiff.reverse import GradientMap, backward, grad, gradients

__all__ = ["GradientMap", "backward", "grad", "gradients"]
