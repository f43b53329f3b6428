"""Picking elements by integers, and adding them back where they came from."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from lazygraph.dtypes import INTEGER
from lazygraph.errors import BoundsError, DTypeError, ShapeError
from lazygraph.graph.node import Value
from lazygraph.graph.op import Coerce, Kind, Op, Sample
from lazygraph.graph.spec import Shape, Spec
from lazygraph.graph.tensor import Tensor, TensorLike, apply, as_tensor
from lazygraph.ops import infer, scatter
from lazygraph.ops.record import define
from lazygraph.ops.spread import constant

Axes = tuple[int, ...]


def take(
    x: TensorLike, indices: TensorLike, *, axis: int | None = None, wrap: bool = True
) -> Tensor:
    """The slices of `x` along an axis that the indices name.

    Args:
        x: a tensor.
        indices: integers of any shape, in [-n, n) for an axis of length n; negative ones count
            from the end. Values are checked when the result is computed.
        axis: the axis to pick from; may be left out for a tensor with one axis.
        wrap: False refuses negative indices, as where they are labels or tokens.

    Returns:
        A tensor of shape `x.shape[:axis] + indices.shape + x.shape[axis + 1:]`. Where an index
        occurs several times, the gradients add.

    Raises:
        BoundsError: an index outside, at realization, with the index and the length.

    Example:
        >>> import lazygraph as lg
        >>> lg.take(lg.asarray([10, 20, 30]), lg.asarray([2, 0])).tolist()
        [30, 10]
    """
    x = as_tensor(x)
    if axis is None:
        if x.ndim != 1:
            raise ShapeError(f"take needs an axis for a tensor of shape {x.shape}; got None")
        axis = 0
    return gathered(x, [as_tensor(indices)], (infer.one_axis(axis, x.ndim),), wrap)


def gathered(x: Tensor, indices: Sequence[Tensor], axes: Axes, wrap: bool = True) -> Tensor:
    """The elements that indices name along several axes at once, as NumPy has it.

        y = x[:, i, j]  for axes (1, 2);   y = x[i, :, j]  for axes (0, 2)

    Args:
        x: a tensor.
        indices: integers for each of the axes, which broadcast against each other.
        axes: ascending. Where they follow one another, the axes of the indices take their
            place; else they come first.
        wrap: whether negative indices are allowed.
    """
    return apply(GATHER, x, *indices, params=(axes, wrap))


def check_integers(indices: Spec) -> None:
    """Raise DTypeError unless they can be indices."""
    if indices.dtype.category != INTEGER:
        raise DTypeError(f"indices must be integers; got {indices}")


def place_of(axes: Axes) -> int:
    """Where the axes of the indices go."""
    return axes[0] if _touch(axes) else 0


def _touch(axes: Axes) -> bool:
    return axes[-1] - axes[0] == len(axes) - 1


def _gather_spec(x: Spec, *indices: Spec, axes: Axes, wrap: bool) -> Spec:
    block: Shape = ()
    for each in indices:
        check_integers(each)
        block = infer.broadcast_shapes(block, each.shape)
    rest = [n for axis, n in enumerate(x.shape) if axis not in axes]
    at = place_of(axes)
    return Spec((*rest[:at], *block, *rest[at:]), x.dtype)


def _scatter_spec(x: Spec, *rest: Spec, axes: Axes, wrap: bool) -> Spec:
    *indices, values = rest
    region = _gather_spec(x, *indices, axes=axes, wrap=wrap)
    if values != region:
        raise ShapeError(f"the values must be {region}, as their places are; got {values}")
    return x


def within_bounds(kernel: Callable[..., None]) -> Callable[..., None]:
    """The kernel, whose errors of indices become the library's own."""

    def checked(*arrays: Value, **params: Any) -> None:
        try:
            kernel(*arrays, **params)
        except IndexError as error:
            raise BoundsError(*error.args) from None

    return checked


def _together(x: Value, axes: Axes) -> tuple[Value, int]:
    """A view in which the axes follow one another, from the place where their block goes."""
    at = place_of(axes)
    return (x if _touch(axes) else np.moveaxis(x, axes, range(len(axes)))), at


def _positions(
    indices: Sequence[Value], lengths: Sequence[int], axes: Axes, wrap: bool
) -> list[Value]:
    positions = []
    for index, length, axis in zip(indices, lengths, axes, strict=True):
        scatter.check_bounds(index, axis, length, wrap)
        positions.append(scatter.wrapped(index, length))
    return positions


def addresses(
    indices: Sequence[Value], lengths: Sequence[int], axes: Axes, wrap: bool
) -> Value:
    """One number for each combination of indices: its place if the axes were a single one."""
    address: Any = 0
    for length, position in zip(lengths, _positions(indices, lengths, axes, wrap), strict=True):
        address = address * length + position
    return np.asarray(address)


def lengths_of(x: Any, axes: Axes) -> Shape:
    """The lengths of those axes of an array or tensor."""
    return tuple([x.shape[axis] for axis in axes])


def _as_one(x: Value, at: int, count: int) -> Value:
    """The array with `count` axes, from `at` on, taken as a single one."""
    lengths = x.shape[at : at + count]
    return x.reshape(*x.shape[:at], math.prod(lengths), *x.shape[at + count :])


def _gather(x: Value, *rest: Value, axes: Axes, wrap: bool) -> None:
    *indices, out = rest
    near, at = _together(x, axes)
    if len(axes) == 1:
        scatter.gather(near, indices[0], at, out, wrap)
    elif near.flags.c_contiguous:
        flat = _as_one(near, at, len(axes))
        scatter.gather(flat, addresses(indices, lengths_of(x, axes), axes, wrap), at, out)
    else:
        whole: list[Any] = [slice(None)] * at
        positions = _positions(indices, lengths_of(x, axes), axes, wrap)
        out[...] = near[(*whole, *positions)]


def scattering(run: Callable[..., None]) -> Callable[..., None]:
    """What an op does that brings values to the places of a gather.

    Args:
        run: `(indices, values, axis, out, wrap)` changes `out` along one axis.
    """

    def evaluate(x: Value, *rest: Value, axes: Axes, wrap: bool) -> None:
        *indices, values, out = rest
        np.copyto(out, x)
        near, at = _together(out, axes)
        if len(axes) == 1:
            run(indices[0], values, at, near, wrap)
            return
        dense = np.ascontiguousarray(near)
        run(
            addresses(indices, lengths_of(x, axes), axes, wrap),
            values,
            at,
            _as_one(dense, at, len(axes)),
            True,
        )
        if dense is not near:
            near[...] = dense

    return within_bounds(evaluate)


def define_scatter(
    name: str,
    run: Callable[..., None],
    gradient: Callable[..., list[Tensor | None]],
    check: Callable[[Spec], Spec] = infer.same,
) -> Op:
    """The record of an op `(x, *indices, values)`: `x`, changed at the places of a gather."""
    return define(
        name,
        infer=lambda x, *rest, **params: _scatter_spec(check(x), *rest, **params),
        evaluate=scattering(run),
        gradient=gradient,
        kind=Kind.MOVE,
        params=("axes", "wrap"),
        coerce=Coerce.NONE,
        samples=lambda rng: [
            Sample((x, *indices, rng.standard_normal(shape)), (axes, True))
            for x, indices, axes, shape in _cases(rng)
        ],
    )


def _cases(rng: np.random.Generator) -> list[tuple[Value, list[Value], Axes, Shape]]:
    """Tensors, indices of every form, their axes, and the shape that they gather."""
    return [
        (rng.standard_normal((4, 3)), [np.array([2, 0, 2, -1])], (0,), (4, 3)),
        (rng.standard_normal((2, 4)), [np.array([[1, 1], [3, 0]])], (1,), (2, 2, 2)),
        (rng.standard_normal((4, 3)), [np.zeros((0,), np.int64)], (0,), (0, 3)),
        (
            rng.standard_normal((2, 3, 4)),
            [np.array([[0], [-1]]), np.array([3, 1, 3])],
            (1, 2),
            (2, 2, 3),
        ),
        (rng.standard_normal((2, 3, 4)), [np.array([1, 1]), np.array(2)], (0, 2), (2, 3)),
    ]


GATHER: Op = define(
    "gather",
    infer=_gather_spec,
    evaluate=within_bounds(_gather),
    gradient=lambda g, y, x, *indices, axes, wrap: [
        apply(SCATTER_ADD, constant(0, x), *indices, g, params=(axes, wrap)),
        *[None] * len(indices),
    ],
    kind=Kind.MOVE,
    params=("axes", "wrap"),
    coerce=Coerce.NONE,
    samples=lambda rng: [
        Sample((x, *indices), (axes, True)) for x, indices, axes, _ in _cases(rng)
    ],
)

SCATTER_ADD: Op = define_scatter(
    "scatter_add",
    partial(scatter.accumulate, np.add),
    lambda g, y, x, *rest, axes, wrap: [
        g,
        *[None] * (len(rest) - 1),
        gathered(g, rest[:-1], axes, wrap),
    ],
    check=infer.arithmetic,
)
