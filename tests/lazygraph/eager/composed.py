"""Eager functions of several steps: windows over images, sums by letters, updates at keys."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.lazygraph.eager.elementwise import maximum, minimum, power
from tests.lazygraph.eager.movement import (
    getitem,
    moved,
    reshape,
    take_along_axis,
    with_history,
)
from tests.lazygraph.eager.operand import FUNCTIONS
from tests.lazygraph.eager.reductions import argmax, mean, sum
from tests.lazygraph.eager.values import Value, record
from tests.lazygraph.eager.variables import astype, common, lift
from tests.lazygraph.exactness import Array


def checkpoint(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def _windows(x: Any, size: int, stride: int, padding: int) -> Value:
    """The windows over images, of shape `(..., rows, columns, size, size)`."""
    around = ((0, 0), (0, 0), (padding, padding), (padding, padding))

    def slide(a: Array) -> Array:
        framed = np.pad(a, around)
        windows = np.lib.stride_tricks.sliding_window_view(framed, (size, size), (2, 3))
        return np.array(windows[:, :, ::stride, ::stride])

    return moved(slide, lift(x))


def conv2d(x: Any, weight: Any, *, stride: int = 1, padding: int = 0) -> Value:
    images, kernel = common(x, weight)
    windows = _windows(images, kernel.shape[-1], stride, padding)
    return einsum("bchwij,ocij->bohw", windows, kernel)


def max_pool2d(x: Any, size: int, *, stride: int) -> Value:
    """The first greatest element of each window."""
    windows = _windows(x, size, stride, 0)
    rows = reshape(windows, (*windows.shape[:4], size * size))
    first = argmax(rows, axis=-1, keepdims=True)
    return reshape(take_along_axis(rows, first, -1), windows.shape[:4])


def avg_pool2d(x: Any, size: int, *, stride: int) -> Value:
    return mean(_windows(x, size, stride, 0), axis=(4, 5))


def einsum(letters: str, *operands: Any) -> Value:
    """By letters that occur once in each operand."""
    values = common(*operands)
    inputs, output = letters.split("->")
    terms = inputs.split(",")

    def share(g: Array, i: int, xs: tuple[Array, ...]) -> Array:
        rest = [k for k in range(len(xs)) if k != i]
        given = ",".join([output, *(terms[k] for k in rest)])
        known = "".join(letter for letter in terms[i] if letter in given)
        found = np.einsum(f"{given}->{known}", g, *(xs[k] for k in rest))
        new = tuple(k for k, letter in enumerate(terms[i]) if letter not in known)
        return np.asarray(np.expand_dims(found, new) * np.ones_like(xs[i]))

    return record(
        lambda *xs: np.asarray(np.einsum(letters, *xs)),
        lambda g, y, *xs: [share(g, i, xs) for i in range(len(xs))],
        *values,
        inner=True,
    )


def vecdot(x1: Any, x2: Any) -> Value:
    return sum(lift(x1) * lift(x2), axis=-1)


def outer(x1: Any, x2: Any) -> Value:
    return reshape(x1, (-1, 1)) * reshape(x2, (1, -1))


def rms_norm(x: Any, *, eps: float = 1e-5) -> Value:
    size = mean(lift(x) * x, axis=-1, keepdims=True)
    return lift(x) * power(size + eps, -0.5)


class At:
    """What `x.at[key]` gives, for keys without tensors; only `add` takes a place twice."""

    def __init__(self, x: Value, key: Any) -> None:
        self._x, self._key = x, key

    def _filled(self, values: Any) -> Value:
        """The values, in the dtype of the tensor and as many as there are places."""
        shape = self._x.clean[self._key].shape
        given = astype(lift(values, self._x.dtype), self._x.dtype)
        return moved(lambda a: np.array(np.broadcast_to(a, shape)), given)

    def set(self, values: Any) -> Value:
        def put(a: Array, v: Array) -> Array:
            result = np.array(a)
            result[self._key] = v
            return result

        return with_history([], moved(put, self._x, self._filled(values)))

    def add(self, values: Any) -> Value:
        def add(a: Array, v: Array) -> Array:
            result = np.array(a)
            np.add.at(result, self._key, v)
            return result

        return record(
            add,
            lambda g, y, a, v: [g, g[self._key]],
            self._x,
            self._filled(values),
            inner=True,
        )

    def multiply(self, values: Any) -> Value:
        return self.set(getitem(self._x, self._key) * self._filled(values))

    def max(self, values: Any) -> Value:
        return self.set(maximum(getitem(self._x, self._key), self._filled(values)))

    def min(self, values: Any) -> Value:
        return self.set(minimum(getitem(self._x, self._key), self._filled(values)))


FUNCTIONS.update(at=At)
