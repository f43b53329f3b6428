"""Numbers brought to whole ones, and what division leaves."""

from typing import Any

import numpy as np

from lazygraph.dtypes import INTEGER
from lazygraph.errors import DTypeError
from lazygraph.graph.op import Kind, Op, Sample
from lazygraph.graph.spec import Spec
from lazygraph.graph.tensor import Tensor, TensorLike, apply, as_tensor
from lazygraph.ops import infer
from lazygraph.ops.arithmetic import multiply_no_nan
from lazygraph.ops.record import define
from lazygraph.ops.spread import constant


def _whole(op: Op, x: TensorLike) -> Tensor:
    x = as_tensor(x)
    return x if x.dtype.category == INTEGER else apply(op, x)


def _floating(x: Spec) -> Spec:
    if not x.dtype.is_floating:
        raise DTypeError(f"the operand must be numbers; got {x}")
    return x


def _rounding(name: str, evaluate: Any, emit: Any) -> Op:
    return define(
        name,
        infer=_floating,
        evaluate=evaluate,
        gradient=lambda g, y, x: [constant(0, x)],
        emit=emit,
        kind=Kind.POINTWISE,
        in_place=True,
        samples=lambda rng: [Sample((_between_halves(rng),))],
    )


def _between_halves(rng: np.random.Generator) -> Any:
    """Numbers that are not near a jump of any rounding."""
    return rng.integers(-6, 6, (3, 67)) / 2.0 + rng.uniform(0.1, 0.4, (3, 67))


def _not_nearly_multiples(rng: np.random.Generator) -> list[Sample]:
    divisor = rng.uniform(0.5, 3.0, (3, 67)) * rng.choice([-1.0, 1.0], (3, 67))
    return [Sample((divisor * _between_halves(rng), divisor))]


def floor(x: TensorLike) -> Tensor:
    """The greatest whole number that is not greater than the element.

    Args:
        x: a tensor of numbers; integers are whole already, and `x` itself is the result.

    Returns:
        A tensor of `x`'s spec. The gradient is 0.

    Example:
        >>> import lazygraph as lg
        >>> lg.floor(lg.asarray([1.5, -1.5])).tolist()
        [1.0, -2.0]
    """
    return _whole(FLOOR, x)


def ceil(x: TensorLike) -> Tensor:
    """The smallest whole number that is not smaller than the element.

    Args:
        x: a tensor of numbers; integers are whole already, and `x` itself is the result.

    Returns:
        A tensor of `x`'s spec. The gradient is 0.

    Example:
        >>> import lazygraph as lg
        >>> lg.ceil(lg.asarray([1.5, -1.5])).tolist()
        [2.0, -1.0]
    """
    return _whole(CEIL, x)


def trunc(x: TensorLike) -> Tensor:
    """The element without its digits behind the point: the nearest whole number towards 0.

    Args:
        x: a tensor of numbers; integers are whole already, and `x` itself is the result.

    Returns:
        A tensor of `x`'s spec. The gradient is 0.

    Example:
        >>> import lazygraph as lg
        >>> lg.trunc(lg.asarray([1.5, -1.5])).tolist()
        [1.0, -1.0]
    """
    return _whole(TRUNC, x)


def round(x: TensorLike) -> Tensor:
    """The nearest whole number; of two that are equally near, the even one.

    Args:
        x: a tensor of numbers; integers are whole already, and `x` itself is the result.

    Returns:
        A tensor of `x`'s spec. The gradient is 0.

    Example:
        >>> import lazygraph as lg
        >>> lg.round(lg.asarray([0.5, 1.5, 2.4])).tolist()
        [0.0, 2.0, 2.0]
    """
    return _whole(ROUND, x)


FLOOR = _rounding("floor", np.floor, lambda k, x: k.floor(x))
CEIL = _rounding("ceil", np.ceil, lambda k, x: k.ceil(x))
TRUNC = _rounding("trunc", np.trunc, lambda k, x: k.trunc(x))
ROUND = _rounding("round", np.rint, lambda k, x: k.round(x))


def floor_divide(x1: TensorLike, x2: TensorLike) -> Tensor:
    """The quotient rounded down, `floor(x1 / x2)`, as Python's `//` has it.

        x1 = x2 floor_divide(x1, x2) + remainder(x1, x2)

    Args:
        x1: a tensor of numbers.
        x2: a tensor that broadcasts with it.

    Returns:
        A tensor of the promoted dtype, with the gradient 0. An integer divided by 0 gives 0, a
        float gives infinity or NaN, as NumPy has it.

    Example:
        >>> import lazygraph as lg
        >>> (lg.asarray([-7, 7]) // 2).tolist()
        [-4, 3]
    """
    return apply(FLOOR_DIVIDE, x1, x2)


FLOOR_DIVIDE = define(
    "floor_divide",
    infer=infer.arithmetic,
    evaluate=np.floor_divide,
    gradient=lambda g, y, a, b: [constant(0, a), constant(0, b)],
    emit=lambda k, a, b: k.floor_divide(a, b),
    kind=Kind.POINTWISE,
    in_place=True,
    samples=_not_nearly_multiples,
)


def remainder(x1: TensorLike, x2: TensorLike) -> Tensor:
    """What `floor_divide` leaves, with the sign of the divisor, as Python's `%` has it.

        x1 - x2 floor(x1 / x2)

    Args:
        x1: a tensor of numbers.
        x2: a tensor that broadcasts with it.

    Returns:
        A tensor of the promoted dtype. The gradients are 1 and `-floor(x1 / x2)`. The remainder
        of a division by 0 is 0 for integers, NaN for floats, as NumPy has it.

    Example:
        >>> import lazygraph as lg
        >>> (lg.asarray([-7, 7]) % 3).tolist()
        [2, 1]
    """
    return apply(REMAINDER, x1, x2)


REMAINDER = define(
    "remainder",
    infer=infer.arithmetic,
    evaluate=np.remainder,
    gradient=lambda g, y, a, b: [g, -multiply_no_nan(g, floor_divide(a, b))],
    emit=lambda k, a, b: k.remainder(a, b),
    kind=Kind.POINTWISE,
    in_place=True,
    samples=_not_nearly_multiples,
)
