"""The sign of a number as a bit: kept, read, and given to another number."""

import numpy as np

from lazygraph.dtypes import bool_
from lazygraph.errors import DTypeError
from lazygraph.graph.op import Coerce, Kind, Sample
from lazygraph.graph.spec import Spec
from lazygraph.graph.tensor import Tensor, TensorLike, apply
from lazygraph.ops import infer
from lazygraph.ops.arithmetic import NONZERO, sign
from lazygraph.ops.comparison import REALS
from lazygraph.ops.record import define
from lazygraph.ops.spread import constant


def positive(x: TensorLike) -> Tensor:
    """`+x`: the number as it is.

    Args:
        x: a tensor of numbers.

    Returns:
        A tensor of `x`'s spec and values; no data moves.

    Raises:
        DTypeError: `x` is bool.

    Example:
        >>> import lazygraph as lg
        >>> lg.positive(lg.asarray([1, -2])).tolist()
        [1, -2]
    """
    return apply(POSITIVE, x)


POSITIVE = define(
    "positive",
    infer=infer.numeric,
    evaluate=lambda x: x[...],
    gradient=lambda g, y, x: [g],
    kind=Kind.VIEW,
    coerce=Coerce.NONE,
    samples=lambda rng: [Sample((rng.standard_normal((2, 3)),))],
)


def signbit(x: TensorLike) -> Tensor:
    """Whether the sign bit is set: true for negative numbers, and for -0.0.

    Args:
        x: a floating tensor.

    Returns:
        A bool tensor of `x`'s shape.

    Raises:
        DTypeError: not floating.

    Example:
        >>> import lazygraph as lg
        >>> lg.signbit(lg.asarray([0.0, -0.0, -3.0])).tolist()
        [False, True, True]
    """
    return apply(SIGNBIT, x)


def _signbit_spec(x: Spec) -> Spec:
    if not x.dtype.is_floating:
        raise DTypeError(f"the operand must be floating; got {x}")
    return Spec(x.shape, bool_)


SIGNBIT = define(
    "signbit",
    infer=_signbit_spec,
    evaluate=np.signbit,
    emit=lambda k, x: k.signbit(x),
    kind=Kind.POINTWISE,
    domain=(REALS,),
)


def copysign(x1: TensorLike, x2: TensorLike) -> Tensor:
    """The size of `x1` with the sign of `x2`, be that of a zero or of NaN.

    Args:
        x1: a tensor of numbers; integers become float32 first.
        x2: a tensor that broadcasts with it.

    Returns:
        A floating tensor of the promoted dtype. The gradient goes to `x1` alone, with its sign
        changed where `x1`'s is; where `x1` is 0 it is 0, as for `abs`.

    Example:
        >>> import lazygraph as lg
        >>> lg.copysign(lg.asarray([1.0, -2.0]), -0.0).tolist()
        [-1.0, -2.0]
    """
    return apply(COPYSIGN, x1, x2)


COPYSIGN = define(
    "copysign",
    infer=infer.arithmetic,
    evaluate=np.copysign,
    gradient=lambda g, y, a, b: [g * (sign(a) * sign(y)), constant(0, b)],
    emit=lambda k, a, b: k.copysign(a, b),
    kind=Kind.POINTWISE,
    coerce=Coerce.FLOAT,
    in_place=True,
    domain=(NONZERO, NONZERO),
)
