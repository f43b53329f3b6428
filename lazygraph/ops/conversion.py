"""The same value as another dtype, or without its history."""

from typing import Any

import numpy as np

from lazygraph.dtypes import DType, as_dtype
from lazygraph.graph.op import Coerce, Kind, Sample
from lazygraph.graph.spec import Spec
from lazygraph.graph.tensor import Tensor, TensorLike, apply, as_tensor
from lazygraph.ops import infer
from lazygraph.ops.record import define


def astype(x: TensorLike, dtype: Any) -> Tensor:
    """The elements converted to another dtype.

    Floats are cut towards zero to become integers; what does not fit follows NumPy. The
    gradient is converted back between floating dtypes, and ends at any other.

    Args:
        x: a tensor.
        dtype: what `as_dtype` takes.

    Returns:
        A tensor of `x`'s shape and that dtype; `x` itself if it has it already.

    Example:
        >>> import lazygraph as lg
        >>> lg.astype(lg.asarray([1.7, -1.7]), lg.int32).tolist()
        [1, -1]
    """
    x = as_tensor(x)
    wanted = as_dtype(dtype)
    return x if wanted is x.dtype else apply(ASTYPE, x, params=(wanted,))


def _convert(x: Any, out: Any, *, dtype: DType) -> None:
    np.copyto(out, x, casting="unsafe")


ASTYPE = define(
    "astype",
    infer=lambda x, dtype: Spec(x.shape, dtype),
    evaluate=_convert,
    gradient=lambda g, y, x, dtype: [astype(g, x.dtype) if x.dtype.is_floating else None],
    emit=lambda k, x, dtype: k.cast(x, dtype),
    kind=Kind.POINTWISE,
    params=("dtype",),
    coerce=Coerce.NONE,
    samples=lambda rng: [
        Sample((rng.standard_normal((2, 3)),), (as_dtype("float64"),)),
        Sample((rng.integers(0, 9, (2, 3)),), (as_dtype("float32"),)),
        Sample((rng.standard_normal((2, 3)) > 0,), (as_dtype("int64"),)),
    ],
)


def stop_gradient(x: TensorLike) -> Tensor:
    """The same value, through which no gradient flows.

    Args:
        x: a tensor.

    Returns:
        A tensor of `x`'s spec without a differentiable history.

    Example:
        >>> import lazygraph as lg
        >>> x = lg.asarray([3.0])
        >>> lg.sum(x * lg.stop_gradient(x)).backward()[x].tolist()
        [3.0]
    """
    return as_tensor(x).detach()


STOP = define(
    "stop_gradient",
    infer=infer.same,
    evaluate=lambda x: x[...],
    gradient=lambda g, y, x: [None],
    kind=Kind.VIEW,
    coerce=Coerce.NONE,
    samples=lambda rng: [Sample((rng.standard_normal((2, 3)),))],
)
