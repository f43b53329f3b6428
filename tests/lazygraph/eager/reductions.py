"""Eager functions along axes: sums, extremes, products of matrices."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.lazygraph.eager.elementwise import exp, log
from tests.lazygraph.eager.operand import FUNCTIONS
from tests.lazygraph.eager.values import (
    Forward,
    RejectedError,
    Value,
    always,
    dyadic_sum,
    never,
    record,
)
from tests.lazygraph.eager.variables import astype, common, lift
from tests.lazygraph.exactness import Array

# Of an operand and a gradient that kept the reduced axes: the operand's gradient.
Pull = Callable[[Array, Array, Array, tuple[int, ...]], Array]


def _axes(x: Value, axis: Any) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(x.ndim))
    several = axis if isinstance(axis, tuple) else (axis,)
    return tuple(sorted(a % x.ndim for a in several))


def _reduce(
    x: Value,
    forward: Forward,
    pull: Pull,
    axis: Any,
    keepdims: bool,
    exact: Any = never,
    decide: Any = None,
    dtype: str | None = None,
) -> Value:
    """`forward(x, axis=, keepdims=)`; `pull(g, y, x, axes)` sees the reduced axes."""
    axes = _axes(x, axis)

    def kept(array: Array) -> Array:
        return np.expand_dims(array, axes) if not keepdims else array

    return record(
        lambda a: forward(a, axis=axes, keepdims=keepdims),
        lambda g, y, a: [pull(kept(g), kept(y), a, axes)],
        x,
        dtype=dtype,
        exact=exact,
        decide=None if decide is None else (lambda a: decide(a, axes)),
        inner=True,
    )


def _widened(x: Any) -> Value:
    x = lift(x)
    kind = np.dtype(x.dtype).kind
    return x if kind == "f" else astype(x, "uint64" if kind == "u" else "int64")


def _floating(x: Any) -> Value:
    (value,) = common(x, floating=True)
    return value


def sum(x: Any, *, axis: Any = None, keepdims: bool = False) -> Value:
    return _reduce(
        _widened(x),
        np.sum,
        lambda g, y, a, axes: g * np.ones_like(a),
        axis,
        keepdims,
        exact=dyadic_sum,
    )


def mean(x: Any, *, axis: Any = None, keepdims: bool = False) -> Value:
    return _reduce(
        _floating(x),
        np.mean,
        lambda g, y, a, axes: g * np.ones_like(a) * y.size / a.size,
        axis,
        keepdims,
    )


def var(x: Any, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Value:
    def pull(g: Array, y: Array, a: Array, axes: tuple[int, ...]) -> Array:
        count = a.size / y.size - correction
        return np.asarray(g * 2.0 * (a - a.mean(axis=axes, keepdims=True)) / count)

    def forward(a: Array, axis: tuple[int, ...], keepdims: bool) -> Array:
        return np.asarray(np.var(a, axis=axis, keepdims=keepdims, ddof=correction))

    return _reduce(_floating(x), forward, pull, axis, keepdims)


def std(x: Any, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Value:
    def pull(g: Array, y: Array, a: Array, axes: tuple[int, ...]) -> Array:
        count = a.size / y.size - correction
        share = g * (a - a.mean(axis=axes, keepdims=True)) / count / y
        return np.where(y == 0, 0.0, share)

    def forward(a: Array, axis: tuple[int, ...], keepdims: bool) -> Array:
        return np.asarray(np.std(a, axis=axis, keepdims=keepdims, ddof=correction))

    return _reduce(_floating(x), forward, pull, axis, keepdims)


def _extreme(forward: Forward) -> Callable[..., Value]:
    def chosen(a: Array, axes: tuple[int, ...]) -> Array:
        return np.asarray(a == forward(a, axis=axes, keepdims=True))

    def pull(g: Array, y: Array, a: Array, axes: tuple[int, ...]) -> Array:
        ties = chosen(a, axes)
        return np.asarray(g * ties / ties.sum(axis=axes, keepdims=True))

    def function(x: Any, *, axis: Any = None, keepdims: bool = False) -> Value:
        return _reduce(lift(x), forward, pull, axis, keepdims, always, chosen)

    return function


max = _extreme(np.max)
min = _extreme(np.min)


def _truth(forward: Forward) -> Callable[..., Value]:
    def function(x: Any, *, axis: Any = None, keepdims: bool = False) -> Value:
        none: Any = lambda g, y, a, axes: None  # noqa: E731
        return _reduce(lift(x), forward, none, axis, keepdims, dtype="bool")

    return function


any = _truth(np.any)
all = _truth(np.all)


def count_nonzero(x: Any, *, axis: Any = None, keepdims: bool = False) -> Value:
    return sum(astype(x, "bool"), axis=axis, keepdims=keepdims)


def _place(forward: Forward) -> Callable[..., Value]:
    def function(x: Any, *, axis: int | None = None, keepdims: bool = False) -> Value:
        return record(
            lambda a: np.asarray(forward(a, axis=axis, keepdims=keepdims)),
            lambda g, y, a: [None],
            lift(x),
            dtype="int64",
        )

    return function


argmax = _place(np.argmax)
argmin = _place(np.argmin)


def prod(x: Any, *, axis: Any = None, keepdims: bool = False) -> Value:
    def pull(g: Array, y: Array, a: Array, axes: tuple[int, ...]) -> Array:
        last = tuple(range(-len(axes), 0))
        moved = np.moveaxis(a, axes, last)
        rows = moved.reshape(*moved.shape[: moved.ndim - len(axes)], -1)
        columns = range(rows.shape[-1])
        others = [np.prod(np.delete(rows, i, axis=-1), axis=-1) for i in columns]
        share = np.stack(others, axis=-1).reshape(moved.shape) if others else moved
        return np.asarray(g * np.moveaxis(share, last, axes))

    return _reduce(_widened(x), np.prod, pull, axis, keepdims)


def norm(x: Any, *, dtype: str | None = None) -> Value:
    found = vector_norm(x)
    return found if dtype is None else astype(found, dtype)


def vector_norm(x: Any, *, axis: Any = None, keepdims: bool = False, ord: float = 2.0) -> Value:
    def forward(a: Array, axis: tuple[int, ...], keepdims: bool) -> Array:
        total = np.sum(np.abs(a) ** ord, axis=axis, keepdims=keepdims)
        return np.asarray(total ** (1.0 / ord))

    def pull(g: Array, y: Array, a: Array, axes: tuple[int, ...]) -> Array:
        share = np.sign(a) * (np.abs(a) / y) ** (ord - 1.0)
        return np.asarray(g * np.where((a == 0) | (y == 0), 0.0, share))

    return _reduce(lift(x), forward, pull, axis, keepdims)


def cumulative_sum(x: Any, *, axis: int) -> Value:
    return record(
        lambda a: np.cumsum(a, axis=axis),
        lambda g, y, a: [np.flip(np.cumsum(np.flip(g, axis), axis=axis), axis)],
        _widened(x),
        exact=dyadic_sum,
        inner=True,
    )


def logsumexp(x: Any, *, axis: Any = None, keepdims: bool = False) -> Value:
    def forward(a: Array, axis: tuple[int, ...], keepdims: bool) -> Array:
        if not a.size:
            raise RejectedError("nothing to take the largest of")
        reduce: Any = np.logaddexp.reduce
        return np.asarray(reduce(a, axis=axis, keepdims=keepdims))

    return _reduce(
        _floating(x), forward, lambda g, y, a, axes: g * np.exp(a - y), axis, keepdims
    )


def _shares(a: Array, axis: int) -> Array:
    e = np.exp(a - a.max(axis=axis, keepdims=True))
    return np.asarray(e / e.sum(axis=axis, keepdims=True))


def softmax(x: Any, *, axis: int = -1) -> Value:
    return record(
        lambda a: _shares(a, axis),
        lambda g, y, a: [y * (g - (g * y).sum(axis=axis, keepdims=True))],
        _floating(x),
        inner=True,
    )


def log_softmax(x: Any, *, axis: int = -1) -> Value:
    # In steps: near 0, what is rounded on the way is large beside the result.
    (x,) = common(x, floating=True)
    largest = max(x, axis=axis, keepdims=True).detach()
    shifted: Value = x - largest
    return shifted - log(sum(exp(shifted), axis=axis, keepdims=True))


def layer_norm(x: Any, weight: Any = None, bias: Any = None, *, eps: float = 1e-5) -> Value:
    def pull(g: Array, y: Array, a: Array) -> list[Array | None]:
        scale = 1.0 / np.sqrt(a.var(-1, keepdims=True) + eps)
        along = (g * y).mean(-1, keepdims=True) * y
        return [scale * (g - g.mean(-1, keepdims=True) - along)]

    def forward(a: Array) -> Array:
        scale = np.sqrt(a.var(-1, keepdims=True) + eps)
        return np.asarray((a - a.mean(-1, keepdims=True)) / scale)

    y = record(forward, pull, _floating(x), inner=True)
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def matmul(x1: Any, x2: Any) -> Value:
    a, b = common(x1, x2)
    return record(np.matmul, _matmul_pull, a, b, inner=True)


def _matmul_pull(g: Array, y: Array, a: Array, b: Array) -> list[Array | None]:
    rows = a[np.newaxis, :] if a.ndim == 1 else a
    columns = b[:, np.newaxis] if b.ndim == 1 else b
    if a.ndim == 1:
        g = np.expand_dims(g, -1 if b.ndim == 1 else -2)
    if b.ndim == 1:
        g = np.expand_dims(g, -1)
    of_a = np.einsum("...mn,...kn->...mk", g, columns)
    of_b = np.einsum("...mk,...mn->...kn", rows, g)
    return [
        of_a.sum(axis=tuple(range(of_a.ndim - 1))) if a.ndim == 1 else of_a,
        of_b.sum(axis=tuple(range(of_b.ndim - 2)))[:, 0] if b.ndim == 1 else of_b,
    ]


def attention(query: Any, key: Any, value: Any, *, causal: bool = False) -> Value:
    query, key, value = lift(query), lift(key), lift(value)
    scores = matmul(query, key.mT) * (1.0 / math.sqrt(query.shape[-1]))
    if causal:
        t, s = scores.shape[-2:]
        hidden = np.where(np.tri(t, s) > 0, 0.0, -1e30)
        scores = record(lambda a: np.maximum(a + hidden, -9e3), lambda g, y, a: [g], scores)
    return matmul(softmax(scores), value)


FUNCTIONS.update(matmul=matmul)
