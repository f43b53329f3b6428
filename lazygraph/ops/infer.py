"""Type rules that many ops share: specs in, spec out, or one sentence on what does not fit."""

from collections.abc import Iterable
from typing import Any

from lazygraph.dtypes import BOOL, INTEGER, DType, bool_
from lazygraph.errors import BoundsError, DTypeError, ShapeError
from lazygraph.graph.spec import Shape, Spec


def broadcast_shapes(a: Shape, b: Shape) -> Shape:
    """The common shape: axes are matched from the last, and length 1 stretches."""
    short, long = (a, b) if len(a) <= len(b) else (b, a)
    if short == () or long[-len(short) :] == short:
        return long  # a number, or a row beside rows: nearly every call
    padded = (1,) * (len(long) - len(short)) + short
    result = []
    for n, m in zip(long, padded, strict=True):
        if n != m and n != 1 and m != 1:
            raise ShapeError(
                "operands must have shapes that broadcast, equal or 1 on each axis; "
                f"got {a} and {b}"
            )
        result.append(m if n == 1 else n)
    return tuple(result)


def same(x: Spec) -> Spec:
    """The result has the operand's spec."""
    return x


def numeric(x: Spec) -> Spec:
    """The operand's spec, which must not be bool."""
    if x.dtype.category == BOOL:
        raise DTypeError(f"the operand must be numbers; got {x}")
    return x


def broadcast(first: Spec, *others: Spec) -> Spec:
    """Operands of one dtype, broadcast against each other."""
    shape = first.shape
    for x in others:
        if x.shape != shape:
            shape = broadcast_shapes(shape, x.shape)
    for x in (first, *others):
        if x.shape is shape:
            return x
    return Spec(shape, first.dtype)


def arithmetic(first: Spec, *others: Spec) -> Spec:
    """Numbers, broadcast; bool must be converted first."""
    if first.dtype.category == BOOL:
        raise DTypeError(
            "arithmetic needs numbers; got bool (use the logical functions, or astype)"
        )
    for x in others:
        if x.shape != first.shape:
            return broadcast(first, *others)
    return first


def comparison(*operands: Spec) -> Spec:
    """Operands broadcast, the result is bool."""
    return Spec(broadcast(*operands).shape, bool_)


def logical(*operands: Spec) -> Spec:
    """Booleans, broadcast."""
    for x in operands:
        if x.dtype is not bool_:
            raise DTypeError(f"a logical function needs bool; got {x.dtype}")
    return broadcast(*operands)


def integral(*operands: Spec) -> Spec:
    """Integers or booleans, broadcast."""
    if operands[0].dtype.is_floating:
        raise DTypeError(f"a bitwise function needs integers or bool; got {operands[0].dtype}")
    return broadcast(*operands)


def shift(*operands: Spec) -> Spec:
    """Integers, broadcast."""
    if operands[0].dtype.category != INTEGER:
        raise DTypeError(f"a shift needs integers; got {operands[0].dtype}")
    return broadcast(*operands)


def keeping(x: Spec, axes: tuple[int, ...], dtype: DType | None = None) -> Spec:
    """The spec of a reduction over `axes`, which stay with length 1."""
    shape = tuple(1 if axis in axes else n for axis, n in enumerate(x.shape))
    return Spec(shape, dtype or x.dtype)


def one_axis(axis: Any, rank: int, name: str = "axis") -> int:
    """An axis counted from the front."""
    try:
        index = axis.__index__()
    except AttributeError:
        raise TypeError(f"{name} must be an integer; got {axis!r}") from None
    if not -rank <= index < rank:
        raise BoundsError(f"{name} must lie in [-{rank}, {rank}) for {rank} axes; got {index}")
    return int(index % rank) if rank else 0


def all_axes(axis: int | Iterable[int] | None, rank: int) -> tuple[int, ...]:
    """What people write for axes, as a sorted tuple of distinct axes."""
    if axis is None:
        return tuple(range(rank))
    axes = tuple(axis) if isinstance(axis, Iterable) else (axis,)
    found = tuple(sorted(one_axis(a, rank) for a in axes))
    if len(set(found)) != len(found):
        raise ValueError(f"the axes of a reduction must be distinct; got {axes}")
    return found
