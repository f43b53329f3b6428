"""Small problems to step on, and the state that a step may change, as comparable bits."""

from collections.abc import Iterable
from typing import Any

from numpy.random import Generator
from numpy.typing import NDArray

import lazygraph as lg
import training

Array = NDArray[Any]


class Perceptron:
    """Two layers and a squared error: parameters of several shapes, one after the other."""

    def __init__(self, rng: Generator, dtype: str = "float64") -> None:
        self.params = [
            lg.Var(name, rng.standard_normal(shape).astype(dtype))
            for name, shape in {"w1": (3, 4), "b1": (4,), "w2": (4, 2), "b2": (2,)}.items()
        ]

    def outputs(self, x: Array) -> lg.Tensor:
        w1, b1, w2, b2 = self.params
        return lg.tanh(x @ w1 + b1) @ w2 + b2

    def loss(self, x: Array, y: Array) -> lg.Tensor:
        return lg.mean((self.outputs(x) - y) ** 2)


def draw_batch(rng: Generator, rows: int = 5, dtype: str = "float64") -> tuple[Array, Array]:
    """Inputs and targets of a Perceptron."""
    return (
        rng.standard_normal((rows, 3)).astype(dtype),
        rng.standard_normal((rows, 2)).astype(dtype),
    )


def values(params: Iterable[lg.Var]) -> list[Array]:
    """Private copies of the values."""
    return [var.numpy().copy() for var in params]


def state_of(opt: training.Optimizer, loop: training.TrainingLoop | None = None) -> Any:
    """All that a step may change, as nested tuples of bits and numbers."""
    state: list[Any] = [opt.learning_rate]
    for var, slots in zip(opt.params(), opt.state.get(), strict=True):
        arrays = [(name, array.tobytes()) for name, array in slots.arrays.items()]
        state.append((var.name, var.version, var.numpy().tobytes(), slots.step, *arrays))
    if loop is not None:
        window = loop._window.get()
        sums = [(i, array.tobytes()) for i, array in sorted(window.sums.arrays.items())]
        state += [loop.global_step, window.batches, window.sums.weight, window.loss, sums]
        state += [sorted(window.reached), window.poisoned, window.optimizer is None]
    return tuple(map(repr, state))
