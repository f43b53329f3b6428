"""Eager functions that only move elements, or pick some: one rule for all gradients."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.lazygraph.eager.elementwise import subtract
from tests.lazygraph.eager.operand import FUNCTIONS
from tests.lazygraph.eager.values import Forward, Value, always, leaf, record
from tests.lazygraph.eager.variables import astype, common, lift
from tests.lazygraph.exactness import Array


def moved(
    move: Forward,
    *operands: Value,
    track: Forward | None = None,
    decide: Forward | None = None,
) -> Value:
    """The result of a function that sends elements to places.

    Its gradient follows from where it sends numbers that say where they came from, counted from
    1; 0 came from nowhere. `track` stands for `move` there, if that makes numbers of its own.
    """

    def pull(g: Array, y: Array, *xs: Array) -> list[Array | None]:
        ends = np.cumsum([x.size for x in xs])
        origins = [
            np.arange(end - x.size + 1, end + 1, dtype=float).reshape(x.shape)
            for x, end in zip(xs, ends, strict=True)
        ]
        total = np.zeros(ends[-1] + 1)
        np.add.at(total, np.ravel((track or move)(*origins)).astype(int), np.ravel(g))
        pieces = np.split(total[1:], ends[:-1])
        return [part.reshape(x.shape) for part, x in zip(pieces, xs, strict=True)]

    return record(move, pull, *operands, exact=always, decide=decide)


def getitem(x: Any, key: Any) -> Value:
    """`x[key]`; integers in the key belong to the history, masks are asked for their value."""
    parts = key if isinstance(key, tuple) else (key,)
    tensors = [part for part in parts if isinstance(part, Value)]
    masks = [part.realize() for part in tensors if part.dtype == "bool"]
    found = tuple(part.clean if isinstance(part, Value) else part for part in parts)
    indices = [part for part in tensors if part not in masks]
    return with_history(indices, moved(lambda a: a[found], lift(x)))


def with_history(tensors: Sequence[Value], x: Value) -> Value:
    """The value, with a history of which tensors without a gradient are a part."""
    nothing = [None] * len(tensors)
    return record(
        lambda y, *rest: y, lambda g, y, *rest: [g, *nothing], x, *tensors, exact=always
    )


def reshape(x: Any, shape: Any) -> Value:
    return moved(lambda a: a.reshape(shape), lift(x))


def permute_dims(x: Any, axes: Sequence[int]) -> Value:
    return moved(lambda a: a.transpose(axes), lift(x))


def matrix_transpose(x: Any) -> Value:
    return moved(lambda a: np.swapaxes(a, -1, -2), lift(x))


def moveaxis(x: Any, source: Any, destination: Any) -> Value:
    return moved(lambda a: np.moveaxis(a, source, destination), lift(x))


def squeeze(x: Any, axis: Any) -> Value:
    return moved(lambda a: np.squeeze(a, axis), lift(x))


def expand_dims(x: Any, axis: int) -> Value:
    return moved(lambda a: np.expand_dims(a, axis), lift(x))


def broadcast_to(x: Any, shape: Sequence[int]) -> Value:
    return moved(lambda a: np.array(np.broadcast_to(a, shape)), lift(x))


def broadcast_arrays(*xs: Any) -> list[Value]:
    shape = np.broadcast_shapes(*(lift(x).shape for x in xs))
    return [broadcast_to(x, shape) for x in xs]


def flip(x: Any, *, axis: Any = None) -> Value:
    return moved(lambda a: np.flip(a, axis), lift(x))


def roll(x: Any, shift: Any, *, axis: Any = None) -> Value:
    return moved(lambda a: np.roll(a, shift, axis), lift(x))


def pad(x: Any, pad_width: Any, *, value: float = 0) -> Value:
    return moved(
        lambda a: np.pad(a, pad_width, constant_values=value),
        lift(x),
        track=lambda a: np.pad(a, pad_width),
    )


def repeat(x: Any, repeats: int, *, axis: int | None = None) -> Value:
    return moved(lambda a: np.repeat(a, repeats, axis), lift(x))


def tile(x: Any, repetitions: Sequence[int]) -> Value:
    return moved(lambda a: np.tile(a, repetitions), lift(x))


def concat(arrays: Sequence[Any], axis: int | None = 0) -> Value:
    return moved(lambda *xs: np.concatenate(xs, axis), *common(*arrays))


def stack(arrays: Sequence[Any], axis: int = 0) -> Value:
    return moved(lambda *xs: np.stack(xs, axis), *common(*arrays))


def unstack(x: Any, *, axis: int = 0) -> tuple[Value, ...]:
    x = lift(x)
    return tuple(moved(lambda a, i=i: np.take(a, i, axis), x) for i in range(x.shape[axis]))


def where(condition: Any, x1: Any, x2: Any) -> Value:
    chosen = lift(condition)
    a, b = common(x1, x2)

    def pick(p: Any, q: Any) -> Any:
        return np.where(chosen.clean, p, q)

    return with_history([chosen], moved(pick, a, b))


def tril(x: Any, *, k: int = 0) -> Value:
    return moved(lambda a: np.tril(a, k), lift(x))


def triu(x: Any, *, k: int = 0) -> Value:
    return moved(lambda a: np.triu(a, k), lift(x))


def take(x: Any, indices: Any, *, axis: int) -> Value:
    return _with_indices(lambda a, at: np.take(a, at, axis, mode="wrap"), x, indices)


def take_along_axis(x: Any, indices: Any, axis: int = -1) -> Value:
    return _with_indices(lambda a, at: np.take_along_axis(a, at, axis), x, indices)


def _with_indices(pick: Forward, x: Any, indices: Any) -> Value:
    """A movement that goes by integers, which belong to the history."""
    at = lift(indices)
    return with_history([at], moved(lambda a: pick(a, at.clean), lift(x)))


def _order(a: Array, axis: int, descending: bool) -> Array:
    if not descending:
        return np.argsort(a, axis=axis, kind="stable")
    last = a.shape[axis] - 1
    backwards = np.argsort(np.flip(a, axis), axis=axis, kind="stable")
    return np.asarray(last - np.flip(backwards, axis))


def argsort(x: Any, *, axis: int = -1, descending: bool = False) -> Value:
    return record(
        lambda a: _order(a, axis, descending), lambda g, y, a: [None], lift(x), dtype="int64"
    )


def sort(x: Any, *, axis: int = -1, descending: bool = False) -> Value:
    return take_along_axis(x, argsort(x, axis=axis, descending=descending), axis)


def topk(x: Any, k: int, *, axis: int = -1, largest: bool = True) -> tuple[Value, Value]:
    order = argsort(x, axis=axis, descending=largest)
    first = moved(lambda a: np.take(a, np.arange(k), axis), order)
    return take_along_axis(x, first, axis), first


def searchsorted(x1: Any, x2: Any, *, side: str = "left") -> Value:
    a, b = common(x1, x2)
    return record(
        lambda a, b: np.asarray(np.searchsorted(a, b, side)),  # type: ignore[call-overload]
        lambda g, y, a, b: [None, None],
        a,
        b,
        dtype="int64",
    )


def diff(x: Any, *, axis: int = -1) -> Value:
    x = lift(x)
    before = moved(lambda a: np.delete(a, -1, axis), x)
    return subtract(moved(lambda a: np.delete(a, 0, axis), x), before)


def one_hot(x: Any, classes: int) -> Value:
    return record(
        lambda a: np.eye(classes)[a],
        lambda g, y, a: [None],
        lift(x),
        dtype="float32",
        exact=always,
    )


# Values that are made of nothing.


def asarray(data: Any, *, dtype: str | None = None) -> Value:
    if hasattr(data, "tensor") or isinstance(data, Value):
        return lift(data) if dtype is None else astype(data, dtype)
    return leaf(data, dtype)


def full(shape: Any, value: Any, *, dtype: str | None = None) -> Value:
    single = lift(value) if dtype is None else leaf(value, dtype)
    return broadcast_to(single, shape)


def zeros(shape: Any, *, dtype: str = "float32") -> Value:
    return full(shape, 0, dtype=dtype)


def ones(shape: Any, *, dtype: str = "float32") -> Value:
    return full(shape, 1, dtype=dtype)


def full_like(x: Any, value: Any) -> Value:
    return full(lift(x).shape, value, dtype=lift(x).dtype)


def zeros_like(x: Any) -> Value:
    return full_like(x, 0)


def ones_like(x: Any) -> Value:
    return full_like(x, 1)


def arange(start: float, stop: float, step: float = 1, *, dtype: str | None = None) -> Value:
    return leaf(np.arange(start, stop, step), dtype)


def linspace(start: float, stop: float, num: int, *, dtype: str = "float32") -> Value:
    return leaf(np.linspace(start, stop, num), dtype)


def eye(rows: int, columns: int | None = None, *, k: int = 0, dtype: str = "float32") -> Value:
    return leaf(np.eye(rows, columns, k), dtype)


def stop_gradient(x: Any) -> Value:
    return lift(x).detach()


FUNCTIONS.update(getitem=getitem, matrix_transpose=matrix_transpose)
