"""Elements and their indices in order of size, and places found in that order."""

from typing import Any

import numpy as np

from lazygraph.dtypes import int64
from lazygraph.errors import ShapeError
from lazygraph.graph.op import Coerce, Kind, Sample
from lazygraph.graph.spec import Spec
from lazygraph.graph.tensor import Tensor, TensorLike, apply, as_tensor
from lazygraph.ops import infer
from lazygraph.ops.along import SCATTER_ADD_ALONG, take_along_axis
from lazygraph.ops.gathering import take
from lazygraph.ops.layout import reshape
from lazygraph.ops.rearranging import span
from lazygraph.ops.record import define
from lazygraph.ops.reduction import nonempty
from lazygraph.ops.spread import without_axes


def sort(
    x: TensorLike, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Tensor:
    """The elements in order of size along an axis; NaN counts as the greatest.

    Args:
        x: a tensor with at least one axis.
        axis: the axis to sort along.
        descending: begin with the greatest.
        stable: accepted as the standard wants it; equal elements keep their order in any case.

    Returns:
        A tensor of `x`'s spec. The gradient goes back to where each element came from.

    Example:
        >>> import lazygraph as lg
        >>> lg.sort(lg.asarray([3, 1, 2]), descending=True).tolist()
        [3, 2, 1]
    """
    x = as_tensor(x)
    return apply(SORT, x, params=(infer.one_axis(axis, x.ndim), bool(descending)))


def argsort(
    x: TensorLike, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Tensor:
    """The indices that put the elements in order of size along an axis.

    Args:
        x: a tensor with at least one axis; NaN counts as the greatest.
        axis: the axis to sort along.
        descending: begin with the greatest.
        stable: accepted as the standard wants it; the indices of equal elements ascend in any
            case.

    Returns:
        An int64 tensor of `x`'s shape.

    Example:
        >>> import lazygraph as lg
        >>> lg.argsort(lg.asarray([3, 1, 3]), descending=True).tolist()
        [0, 2, 1]
    """
    x = as_tensor(x)
    return apply(ARGSORT, x, params=(infer.one_axis(axis, x.ndim), bool(descending)))


def _backwards(x: Any, axis: int) -> Any:
    return x[(*(slice(None),) * axis, slice(None, None, -1))]


# Descending is ascending from the other end: so equal elements keep their order. NumPy's sorts
# that are not stable are many times as fast, and as good where no two elements are alike.


def _sort(x: Any, out: Any, *, axis: int, descending: bool) -> None:
    np.copyto(out, x)
    stable = out.dtype.kind == "f" and _has_negative_zeros(out)
    target = _backwards(out, axis) if descending else out
    target.sort(axis=axis, kind="stable" if stable else "quicksort")


def _has_negative_zeros(x: Any) -> bool:
    bits = x.view(f"u{x.itemsize}")
    return bool((bits == 1 << (8 * x.itemsize - 1)).any())


def _argsort(x: Any, out: Any, *, axis: int, descending: bool) -> None:
    if descending:
        found = _ascending(_backwards(x, axis), axis)
        np.subtract(x.shape[axis] - 1, _backwards(found, axis), out)
    else:
        np.copyto(out, _ascending(x, axis))


def _ascending(x: Any, axis: int) -> Any:
    found = np.argsort(x, axis=axis, kind="quicksort")
    ordered = np.take_along_axis(x, found, axis)
    whole = (slice(None),) * axis
    apart = ordered[(*whole, slice(None, -1))] < ordered[(*whole, slice(1, None))]
    return found if apart.all() else np.argsort(x, axis=axis, kind="stable")


def _sort_gradient(
    g: Tensor, y: Tensor, x: Tensor, axis: int, descending: bool
) -> list[Tensor]:
    origins = argsort(x, axis=axis, descending=descending)
    return [apply(SCATTER_ADD_ALONG, origins, g, params=(axis, True, x.shape))]


def _distinct(rng: np.random.Generator) -> list[Sample]:
    return [
        Sample((rng.permutation(5) / 3.0,), (0, False)),
        Sample((rng.permutation(12).reshape(3, 4) / 3.0,), (0, True)),
        Sample((rng.permutation(12).reshape(2, 3, 2) / 3.0,), (1, False)),
        Sample((np.zeros((0, 3)),), (1, False)),
    ]


SORT = define(
    "sort",
    infer=lambda x, axis, descending: x,
    evaluate=_sort,
    gradient=_sort_gradient,
    kind=Kind.MOVE,
    params=("axis", "descending"),
    coerce=Coerce.NONE,
    samples=_distinct,
)

ARGSORT = define(
    "argsort",
    infer=lambda x, axis, descending: Spec(x.shape, int64),
    evaluate=_argsort,
    kind=Kind.MOVE,
    params=("axis", "descending"),
    coerce=Coerce.NONE,
    samples=lambda rng: [
        *_distinct(rng),
        Sample((np.array([2.0, np.nan, 1.0, 2.0, -np.inf]),), (0, True)),
    ],
)


def topk(
    x: TensorLike, k: int, *, axis: int = -1, largest: bool = True
) -> tuple[Tensor, Tensor]:
    """The `k` greatest elements along an axis, the greatest first, and their indices.

    Args:
        x: a tensor of length n >= k along the axis; NaN counts as the greatest.
        k: how many.
        axis: the axis to choose along.
        largest: False for the smallest, the smallest first.

    Returns:
        Values of `x`'s dtype and int64 indices, of length `k` along the axis. Of equal elements
        the first come first. The gradient goes to the chosen elements.

    Raises:
        ShapeError: `k` is not in [0, n].

    Example:
        >>> import lazygraph as lg
        >>> values, indices = lg.topk(lg.asarray([3, 9, 1, 9]), 3)
        >>> values.tolist(), indices.tolist()
        ([9, 9, 3], [1, 3, 0])
    """
    x = as_tensor(x)
    at = infer.one_axis(axis, x.ndim)
    if not 0 <= k <= x.shape[at]:
        raise ShapeError(f"topk needs k in [0, {x.shape[at]}], the length of the axis; got {k}")
    indices = span(argsort(x, axis=at, descending=largest), at, 0, k)
    return take_along_axis(x, indices, axis=at), indices


def argmin(x: TensorLike, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The index of the first smallest element; NaN counts as the smallest.

    Args:
        x: a tensor.
        axis: the axis to search; by default the flattened tensor.
        keepdims: keep the searched axis, with length 1.

    Returns:
        An int64 tensor.

    Raises:
        ShapeError: nothing to search.

    Example:
        >>> import lazygraph as lg
        >>> lg.argmin(lg.asarray([4, 2, 2, 8])).item()
        1
    """
    x = as_tensor(x)
    if axis is None:
        flat = apply(ARGMIN, reshape(x, (x.size,)), params=(0,))
        return reshape(flat, (1,) * x.ndim if keepdims else ())
    at = infer.one_axis(axis, x.ndim)
    y = apply(ARGMIN, x, params=(at,))
    return y if keepdims else without_axes(y, (at,))


ARGMIN = define(
    "argmin",
    infer=lambda x, axis: Spec(nonempty(x, (axis,)).shape, int64),
    evaluate=lambda x, out, axis: np.argmin(x, axis=axis, out=out, keepdims=True),
    kind=Kind.REDUCTION,
    params=("axis",),
    coerce=Coerce.NONE,
    samples=lambda rng: [
        Sample((rng.standard_normal((3, 4)),), (1,)),
        Sample((np.array([4, 2, 2, 8]),), (0,)),
    ],
)


def searchsorted(
    x1: TensorLike, x2: TensorLike, *, side: str = "left", sorter: TensorLike | None = None
) -> Tensor:
    """Where values belong in an ascending row, so that it stays ascending.

        left:  x1[i - 1] <  v <= x1[i]
        right: x1[i - 1] <= v <  x1[i]

    Args:
        x1: the row, ascending, of shape `(n,)`.
        x2: the values v, of any shape.
        side: "left" for the first possible index, "right" for the last.
        sorter: indices that put `x1` in ascending order, if it is not: what `argsort` gives.

    Returns:
        int64 indices in [0, n], of the shape of `x2`.

    Raises:
        ShapeError: `x1` does not have one axis.
        ValueError: another side.

    Example:
        >>> import lazygraph as lg
        >>> lg.searchsorted(lg.asarray([1, 3, 5]), lg.asarray([3, 6])).tolist()
        [1, 3]
    """
    if side not in ("left", "right"):
        raise ValueError(f"side must be 'left' or 'right'; got {side!r}")
    row = as_tensor(x1) if sorter is None else take(x1, sorter)
    return apply(SEARCHSORTED, row, x2, params=(side,))


def _searchsorted_spec(x1: Spec, x2: Spec, side: str) -> Spec:
    if len(x1.shape) != 1:
        raise ShapeError(f"the row to search must have one axis; got {x1}")
    return Spec(x2.shape, int64)


SEARCHSORTED = define(
    "searchsorted",
    infer=_searchsorted_spec,
    evaluate=lambda x1, x2, out, side: np.copyto(out, np.searchsorted(x1, x2, side)),
    kind=Kind.MOVE,
    params=("side",),
    samples=lambda rng: [
        Sample((np.array([1.0, 3.0, 3.0, 5.0]), np.array([[3.0, 0.0], [9.0, 3.5]])), ("left",)),
        Sample((np.array([1.0, 3.0, 3.0, 5.0]), np.array([3.0, np.nan])), ("right",)),
        Sample((np.zeros((0,)), np.array(2.0)), ("left",)),
    ],
)
