"""Workloads in autograd, which differentiates NumPy programs as they run."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy

from benchmarks.by_hand.adamw import AdamW
from benchmarks.program import Program, UnavailableError
from benchmarks.workloads import (
    NORM_EPSILON,
    Arrays,
    Elements,
    Perceptron,
    Rows,
    Shape,
    Workload,
)

autograd: Any = importlib.import_module("autograd")
np: Any = importlib.import_module("autograd.numpy")


def perceptron(shape: Perceptron, p: Any, batch: Arrays) -> Any:
    h, last = batch["x"], len(shape.widths) - 2
    for i in range(last + 1):
        h = h @ p[f"weight{i}"] + p[f"bias{i}"]
        if i < last:
            h = np.tanh(h) if shape.regression else np.maximum(h, 0)
    if shape.regression:
        return np.mean((h - batch["y"]) ** 2)
    h = h - np.max(h, axis=1, keepdims=True)
    right = h[numpy.arange(shape.rows), batch["y"]]
    return np.mean(np.log(np.sum(np.exp(h), axis=1)) - right)


def elements(p: Any, batch: Arrays) -> Any:
    x = batch["x"]
    gate = 1 / (1 + np.exp(-p["c"] * x))
    return np.mean((np.tanh(p["a"] * x + p["b"]) * gate + np.exp(-x * x)) ** 2)


def rows(p: Any, batch: Arrays) -> Any:
    distance = p["x"] - np.mean(p["x"], axis=1, keepdims=True)
    variance = np.mean(distance**2, axis=1, keepdims=True)
    y = distance / np.sqrt(variance + NORM_EPSILON) * p["scale"] + p["shift"]
    e = np.exp(y - np.max(y, axis=1, keepdims=True))
    return np.sum((e / np.sum(e, axis=1, keepdims=True)) ** 2)


def _loss(shape: Shape) -> Callable[[Any, Arrays], Any]:
    match shape:
        case Perceptron():
            return lambda p, batch: perceptron(shape, p, batch)
        case Elements():
            return elements
        case Rows():
            return rows
    raise UnavailableError(f"no program in autograd for a {type(shape).__name__}")


def prepare(workload: Workload) -> Program:
    """The program for a workload; clip and AdamW are the hand-written ones."""
    loss_and_gradients = autograd.value_and_grad(_loss(workload.shape))
    weights, batch = workload.draw()
    if not workload.trained:
        return Program(lambda: loss_and_gradients(weights, batch)[0])
    optimizer = AdamW(weights, {})

    def step() -> Any:
        loss, optimizer.gradients = loss_and_gradients(weights, batch)
        optimizer.step()
        return loss

    return Program(step)
