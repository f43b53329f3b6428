"""Sums of products over axes that are named by number."""

from collections.abc import Iterable, Sequence

from lazygraph.graph.tensor import Tensor, TensorLike, as_tensor
from lazygraph.ops import infer
from lazygraph.ops.arithmetic import multiply
from lazygraph.ops.labelled import Term, multiplied, refusal
from lazygraph.ops.layout import reshape
from lazygraph.ops.spread import sum


def tensordot(
    x1: TensorLike,
    x2: TensorLike,
    /,
    *,
    axes: int | tuple[int | Sequence[int], int | Sequence[int]] = 2,
) -> Tensor:
    """The sum of products over axes of the first tensor, each paired with one of the second.

    Args:
        x1: a tensor.
        x2: a tensor.
        axes: which axes of `x1`, and which of `x2`; or how many, for the last ones of `x1` and
            the first ones of `x2`.

    Returns:
        A tensor with the other axes of `x1`, then those of `x2`.

    Raises:
        ShapeError: paired axes that differ in number or length.

    Example:
        >>> import lazygraph as lg
        >>> lg.tensordot(lg.ones((2, 3, 4)), lg.ones((4, 3, 5)), axes=((1, 2), (1, 0))).shape
        (2, 5)
    """
    a, b = as_tensor(x1), as_tensor(x2)
    if isinstance(axes, int):
        if not 0 <= axes <= min(a.ndim, b.ndim):
            message = f"both operands must have as many axes as are paired; got {axes}"
            raise refusal("tensordot", message, (a, b))
        ours, theirs = list(range(a.ndim - axes, a.ndim)), list(range(axes))
    else:
        ours, theirs = _several(axes[0], a.ndim), _several(axes[1], b.ndim)
    lengths = [[x.shape[axis] for axis in each] for x, each in ((a, ours), (b, theirs))]
    if lengths[0] != lengths[1]:
        message = f"paired axes must have the same lengths; got {lengths[0]} and {lengths[1]}"
        raise refusal("tensordot", message, (a, b))
    of_a = [f"a{axis}" for axis in range(a.ndim)]
    of_b = [f"b{axis}" for axis in range(b.ndim)]
    for axis, other in zip(ours, theirs, strict=True):
        of_b[other] = of_a[axis]
    output = [label for label in (*of_a, *of_b) if (label in of_a) != (label in of_b)]
    return multiplied([Term(a, tuple(of_a)), Term(b, tuple(of_b))], tuple(output))


def _several(axes: int | Sequence[int], rank: int) -> list[int]:
    every = axes if isinstance(axes, Iterable) else (axes,)
    return [infer.one_axis(axis, rank, "axes") for axis in every]


def vecdot(x1: TensorLike, x2: TensorLike, /, *, axis: int = -1) -> Tensor:
    """The sum of products over one axis that both tensors have; the other axes broadcast.

    Args:
        x1: a tensor.
        x2: a tensor.
        axis: the axis, counted from the end (negative) where the tensors have unequally many.

    Returns:
        A tensor of the promoted dtype without that axis.

    Raises:
        ShapeError: the axis has different lengths.

    Example:
        >>> import lazygraph as lg
        >>> lg.vecdot(lg.asarray([[1, 2], [3, 4]]), lg.asarray([10, 1])).tolist()
        [12, 34]
    """
    a, b = as_tensor(x1), as_tensor(x2)
    if axis >= 0 and a.ndim != b.ndim:
        raise refusal("vecdot", f"the axis must be counted from the end; got {axis}", (a, b))
    n, m = (x.shape[infer.one_axis(axis, x.ndim)] for x in (a, b))
    if n != m:
        raise refusal("vecdot", f"axis {axis} must have one length; got {n} and {m}", (a, b))
    products = multiply(a, b)
    return sum(products, axis=axis, dtype=products.dtype)


def outer(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """All products of an element of the first and an element of the second tensor.

    Args:
        x1: a tensor of shape `(m,)`.
        x2: a tensor of shape `(n,)`.

    Returns:
        A tensor of shape `(m, n)`.

    Raises:
        ShapeError: an operand does not have one axis.

    Example:
        >>> import lazygraph as lg
        >>> lg.outer(lg.asarray([1, 2]), lg.asarray([3, 4, 5])).tolist()
        [[3, 4, 5], [6, 8, 10]]
    """
    a, b = as_tensor(x1), as_tensor(x2)
    if a.ndim != 1 or b.ndim != 1:
        message = f"both operands must have one axis; got {a.shape} and {b.shape}"
        raise refusal("outer", message, (a, b))
    return multiply(reshape(a, (a.size, 1)), b)
