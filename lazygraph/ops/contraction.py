"""Products summed over a shared axis."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazygraph.errors import ShapeError
from lazygraph.graph.node import Value
from lazygraph.graph.op import Kind, Sample
from lazygraph.graph.spec import Spec
from lazygraph.graph.tensor import Tensor, TensorLike, apply
from lazygraph.ops import infer
from lazygraph.ops.layout import reshape
from lazygraph.ops.record import define


def matmul(x1: TensorLike, x2: TensorLike) -> Tensor:
    """The matrix product over the last axis of `x1` and the last but one of `x2`.

    Args:
        x1: a tensor of shape `(..., m, k)`, or `(k,)`.
        x2: a tensor of shape `(..., k, n)`, or `(k,)`; leading axes broadcast.

    Returns:
        A tensor of shape `(..., m, n)`; the axis of a vector operand is dropped.

    Raises:
        ShapeError: the shared axes differ in length, or an operand has no axis.

    Example:
        >>> import lazygraph as lg
        >>> (lg.asarray([[1, 2], [3, 4]]) @ lg.asarray([1, 1])).tolist()
        [3, 7]
    """
    return apply(MATMUL, x1, x2)


def _matmul_spec(a: Spec, b: Spec) -> Spec:
    if not a.shape or not b.shape:
        raise ShapeError(f"both operands need at least one axis; got {a.shape} and {b.shape}")
    infer.arithmetic(Spec((), a.dtype))
    rows = b.shape[-2] if len(b.shape) > 1 else b.shape[0]
    if a.shape[-1] != rows:
        raise ShapeError(
            f"the columns of the left, {a.shape[-1]}, must equal the rows of the right, "
            f"{rows}; got {a.shape} and {b.shape}"
        )
    batch = infer.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return Spec((*batch, *a.shape[-2:-1], *(b.shape[-1:] if len(b.shape) > 1 else ())), a.dtype)


def _matmul_gradient(g: Tensor, y: Tensor, a: Tensor, b: Tensor) -> list[Tensor]:
    rows = reshape(a, (1, *a.shape)) if a.ndim == 1 else a
    columns = reshape(b, (*b.shape, 1)) if b.ndim == 1 else b
    batch = y.shape[: y.ndim - (a.ndim > 1) - (b.ndim > 1)]
    g = reshape(g, (*batch, rows.shape[-2], columns.shape[-1]))
    if columns.ndim == 2 and rows.ndim > 2:
        # One product of tall matrices instead of a batch of them summed over the batch.
        g = reshape(g, (_rows(g), g.shape[-1]))
        rows = reshape(rows, (_rows(rows), rows.shape[-1]))
    of_a, of_b = g @ columns.mT, rows.mT @ g
    if of_a.ndim < a.ndim or a.ndim == 1:
        of_a = reshape(of_a, (*batch, *a.shape[-1:]) if a.ndim == 1 else a.shape)
    if b.ndim == 1:
        of_b = reshape(of_b, of_b.shape[:-1])
    return [of_a, of_b]


def _rows(x: Tensor) -> int:
    return math.prod(x.shape[:-1])


def _matmul(a: Value, b: Value, out: Value) -> None:
    _chosen(a, b)(a, b, out)


def _chosen(a: Value, b: Value) -> Callable[..., Any]:
    if a.shape[-1] == 1 and a.ndim > 1 and b.ndim > 1:
        return np.multiply  # a column by a row: nothing is summed
    return _unlike if _are_transposes(a, b) else np.matmul


def _unlike(a: Value, b: Value, out: Value) -> None:
    # NumPy would take a routine of its own for x @ x.T, which sums in another order.
    np.matmul(a, b.copy(order="K") if _meet(a, b) else b, out)


def _are_transposes(a: Value, b: Value) -> bool:
    return a.shape[-2:] == b.shape[:-3:-1] and a.strides[-2:] == b.strides[:-3:-1]


def _meet(a: Value, b: Value) -> bool:
    """Whether a matrix of one stack may begin where its partner in the other does."""
    if _start(a) == _start(b):
        return True
    rank = max(a.ndim, b.ndim)
    return _steps(a, rank) != _steps(b, rank) and np.may_share_memory(a, b)


def _start(array: Value) -> Any:
    return array.__array_interface__["data"][0]


def _steps(stack: Value, rank: int) -> list[int]:
    """From one matrix to the next, along each axis of a stack of that many axes."""
    own = zip(stack.shape[:-2], stack.strides[:-2], strict=True)
    return [0] * (rank - stack.ndim) + [0 if n == 1 else stride for n, stride in own]


MATMUL = define(
    "matmul",
    infer=_matmul_spec,
    evaluate=_matmul,
    gradient=_matmul_gradient,
    choose=_chosen,
    kind=Kind.CONTRACTION,
    samples=lambda rng: [
        Sample((rng.standard_normal((2, 3)), rng.standard_normal((3, 4)))),
        Sample((rng.standard_normal((5, 2, 3)), rng.standard_normal((3, 4)))),
        Sample((rng.standard_normal((5, 2, 3)), rng.standard_normal((5, 3, 4)))),
        Sample((rng.standard_normal((1, 2, 3)), rng.standard_normal((5, 3, 4)))),
        Sample((rng.standard_normal((2, 3)), rng.standard_normal((5, 3, 4)))),
        Sample((rng.standard_normal((3,)), rng.standard_normal((3,)))),
        Sample((rng.standard_normal((2, 3)), rng.standard_normal((3,)))),
        Sample((rng.standard_normal((3,)), rng.standard_normal((3, 4)))),
        Sample((rng.standard_normal((3,)), rng.standard_normal((5, 3, 4)))),
        Sample((rng.standard_normal((5, 2, 3)), rng.standard_normal((3,)))),
        Sample((np.zeros((2, 0)), np.zeros((0, 3)))),
    ],
)

# Which operands are read by columns. Recorded graphs hold `matmul` and transposed operands; a
# pass makes these of them, so that whatever becomes of the operand, its product reads it so.
Turned = tuple[bool, bool]


def _as_meant(operands: Sequence[Any], turned: Turned) -> list[Any]:
    return [x.mT if t else x for x, t in zip(operands, turned, strict=True)]


def _turned_spec(a: Spec, b: Spec, turned: Turned) -> Spec:
    for x, t in zip((a, b), turned, strict=True):
        if t and len(x.shape) < 2:
            raise ShapeError(f"a turned operand needs at least two axes; got {x.shape}")
    a, b = (
        Spec((*x.shape[:-2], *x.shape[:-3:-1]), x.dtype) if t else x
        for x, t in zip((a, b), turned, strict=True)
    )
    return _matmul_spec(a, b)


def _turned_matmul(a: Value, b: Value, out: Value, *, turned: Turned) -> None:
    a, b = _as_meant((a, b), turned)
    _matmul(a, b, out)


def _turned_choice(a: Value, b: Value, *, turned: Turned) -> Callable[..., Any]:
    product = _chosen(*_as_meant((a, b), turned))
    match turned:
        case (True, False):
            return lambda a, b, out: product(a.mT, b, out)
        case (False, True):
            return lambda a, b, out: product(a, b.mT, out)
    return lambda a, b, out: product(*_as_meant((a, b), turned), out)


def _turned_gradient(
    g: Tensor, y: Tensor, a: Tensor, b: Tensor, turned: Turned
) -> list[Tensor]:
    return _as_meant(_matmul_gradient(g, y, *_as_meant((a, b), turned)), turned)


TURNED_MATMUL = define(
    "turned_matmul",
    infer=_turned_spec,
    evaluate=_turned_matmul,
    gradient=_turned_gradient,
    choose=_turned_choice,
    kind=Kind.CONTRACTION,
    params=("turned",),
    samples=lambda rng: [
        Sample((rng.standard_normal((3, 2)), rng.standard_normal((3, 4))), ((True, False),)),
        Sample((rng.standard_normal((2, 3)), rng.standard_normal((4, 3))), ((False, True),)),
        Sample((rng.standard_normal((3, 2)), rng.standard_normal((4, 3))), ((True, True),)),
        Sample((rng.standard_normal((5, 2, 3)), rng.standard_normal((4, 3))), ((False, True),)),
        Sample((rng.standard_normal((3, 2)), rng.standard_normal((3,))), ((True, False),)),
        Sample((rng.standard_normal((2, 0)), np.zeros((3, 0))), ((False, True),)),
    ],
)
