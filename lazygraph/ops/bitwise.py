"""Operations on the bits of integers; on bool they are logic."""

from typing import Any

import numpy as np

from lazygraph.graph.op import Kind, Op, Sample
from lazygraph.graph.tensor import Tensor, TensorLike, apply
from lazygraph.ops import infer
from lazygraph.ops.record import define


def _bitwise(name: str, evaluate: Any, emit: Any, operands: int = 2, **fields: Any) -> Op:
    return define(
        name,
        evaluate=evaluate,
        emit=emit,
        kind=Kind.POINTWISE,
        in_place=True,
        samples=lambda rng: [
            Sample(tuple(rng.integers(0, 7, (2, 3)) for _ in range(operands)))
        ],
        **{"infer": infer.integral, "commutes": operands == 2, **fields},
    )


def bitwise_and(x1: TensorLike, x2: TensorLike) -> Tensor:
    """The bits that both integers have."""
    return apply(BITWISE_AND, x1, x2)


def bitwise_or(x1: TensorLike, x2: TensorLike) -> Tensor:
    """The bits that at least one of the integers has."""
    return apply(BITWISE_OR, x1, x2)


def bitwise_xor(x1: TensorLike, x2: TensorLike) -> Tensor:
    """The bits in which two integers differ."""
    return apply(BITWISE_XOR, x1, x2)


def bitwise_invert(x: TensorLike) -> Tensor:
    """The integer with every bit flipped."""
    return apply(BITWISE_INVERT, x)


def bitwise_left_shift(x1: TensorLike, x2: TensorLike) -> Tensor:
    """`x1` with its bits moved up by `x2` places; 0 once all have left."""
    return apply(BITWISE_LEFT_SHIFT, x1, x2)


def bitwise_right_shift(x1: TensorLike, x2: TensorLike) -> Tensor:
    """`x1` with its bits moved down by `x2` places; the sign is kept."""
    return apply(BITWISE_RIGHT_SHIFT, x1, x2)


BITWISE_AND = _bitwise("bitwise_and", np.bitwise_and, lambda k, a, b: k.bit_and(a, b))
BITWISE_OR = _bitwise("bitwise_or", np.bitwise_or, lambda k, a, b: k.bit_or(a, b))
BITWISE_XOR = _bitwise("bitwise_xor", np.bitwise_xor, lambda k, a, b: k.bit_xor(a, b))
BITWISE_INVERT = _bitwise("bitwise_invert", np.invert, lambda k, x: k.invert(x), operands=1)
BITWISE_LEFT_SHIFT = _bitwise(
    "bitwise_left_shift",
    np.left_shift,
    lambda k, a, b: k.left_shift(a, b),
    infer=infer.shift,
    commutes=False,
)
BITWISE_RIGHT_SHIFT = _bitwise(
    "bitwise_right_shift",
    np.right_shift,
    lambda k, a, b: k.right_shift(a, b),
    infer=infer.shift,
    commutes=False,
)
