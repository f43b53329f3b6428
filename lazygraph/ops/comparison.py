"""Comparisons and logic."""

from typing import Any

import numpy as np

from lazygraph.graph.op import Kind, Op, Sample
from lazygraph.graph.tensor import Tensor, TensorLike, apply
from lazygraph.ops import infer
from lazygraph.ops.record import define

REALS = (-3.0, 3.0)


def _comparison(name: str, evaluate: Any, emit: Any, commutes: bool = False) -> Op:
    return define(
        name,
        infer=infer.comparison,
        evaluate=evaluate,
        emit=emit,
        kind=Kind.POINTWISE,
        domain=(REALS, REALS),
        commutes=commutes,
    )


def equal(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Whether elements are equal; NaN equals nothing. The result is bool, broadcast."""
    return apply(EQUAL, x1, x2)


def not_equal(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Whether elements differ; NaN differs from everything. The result is bool, broadcast."""
    return apply(NOT_EQUAL, x1, x2)


def less(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Whether `x1 < x2`, element by element; false for NaN."""
    return apply(LESS, x1, x2)


def less_equal(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Whether `x1 <= x2`, element by element; false for NaN."""
    return apply(LESS_EQUAL, x1, x2)


def greater(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Whether `x1 > x2`, element by element; false for NaN."""
    return apply(GREATER, x1, x2)


def greater_equal(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Whether `x1 >= x2`, element by element; false for NaN."""
    return apply(GREATER_EQUAL, x1, x2)


EQUAL = _comparison("equal", np.equal, lambda k, a, b: k.equal(a, b), commutes=True)
NOT_EQUAL = _comparison(
    "not_equal", np.not_equal, lambda k, a, b: k.invert(k.equal(a, b)), commutes=True
)
LESS = _comparison("less", np.less, lambda k, a, b: k.less(a, b))
LESS_EQUAL = _comparison("less_equal", np.less_equal, lambda k, a, b: k.less_equal(a, b))
GREATER = _comparison("greater", np.greater, lambda k, a, b: k.less(b, a))
GREATER_EQUAL = _comparison(
    "greater_equal", np.greater_equal, lambda k, a, b: k.less_equal(b, a)
)


def _logic(name: str, evaluate: Any, emit: Any, operands: int = 2) -> Op:
    def samples(rng: np.random.Generator) -> list[Sample]:
        draws = [rng.integers(0, 2, (2, 3)).astype(bool) for _ in range(operands)]
        return [Sample(tuple(draws))]

    return define(
        name,
        infer=infer.logical,
        evaluate=evaluate,
        emit=emit,
        kind=Kind.POINTWISE,
        in_place=True,
        samples=samples,
        commutes=operands == 2,
    )


def logical_and(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Whether both elements are true.

    Args:
        x1: a bool tensor.
        x2: a bool tensor that broadcasts with `x1`.
    """
    return apply(LOGICAL_AND, x1, x2)


def logical_or(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Whether at least one element is true.

    Args:
        x1: a bool tensor.
        x2: a bool tensor that broadcasts with `x1`.
    """
    return apply(LOGICAL_OR, x1, x2)


def logical_xor(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Whether exactly one element is true.

    Args:
        x1: a bool tensor.
        x2: a bool tensor that broadcasts with `x1`.
    """
    return apply(LOGICAL_XOR, x1, x2)


def logical_not(x: TensorLike) -> Tensor:
    """Whether the element of a bool tensor is false."""
    return apply(LOGICAL_NOT, x)


LOGICAL_AND = _logic("logical_and", np.logical_and, lambda k, a, b: k.bit_and(a, b))
LOGICAL_OR = _logic("logical_or", np.logical_or, lambda k, a, b: k.bit_or(a, b))
LOGICAL_XOR = _logic("logical_xor", np.logical_xor, lambda k, a, b: k.bit_xor(a, b))
LOGICAL_NOT = _logic("logical_not", np.logical_not, lambda k, x: k.invert(x), operands=1)


def isfinite(x: TensorLike) -> Tensor:
    """Whether the element is neither infinite nor NaN; the result is bool."""
    return apply(ISFINITE, x)


def isnan(x: TensorLike) -> Tensor:
    """Whether the element is NaN, which is the only thing that differs from itself."""
    return apply(NOT_EQUAL, x, x)


def isinf(x: TensorLike) -> Tensor:
    """Whether the element is positive or negative infinity."""
    return logical_not(logical_or(isfinite(x), isnan(x)))


ISFINITE = define(
    "isfinite",
    infer=infer.comparison,
    evaluate=np.isfinite,
    emit=lambda k, x: k.isfinite(x),
    kind=Kind.POINTWISE,
    domain=(REALS,),
)
