"""Eager values with a tape, in NumPy: a model of tensors that shares no code with them."""

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tests.lazygraph.eager.operand import Operand, call
from tests.lazygraph.exactness import Array

Forward = Callable[..., Array]
Pull = Callable[..., list[Array | None]]

EPSILON = {"float32": 2.0**-23, "float64": 2.0**-52}
# The disturbances of the twin, so much larger than roundings that these do not drown them.
SHAKE = {"float32": 8.0, "float64": 4096.0}
# How far values may be off, in roundings that the twin would have suffered, and how far at
# most, in units of the largest element: what would need more is not computed with.
AMPLE = {"float32": 60.0, "float64": 400.0}
LOOSEST = {"float32": 2e-3, "float64": 1e-9}
LARGEST, SMALLEST = 1e4, 1e-30  # of what numbers have at most, and tensors at least
MOST = 600  # elements

_births = itertools.count()
_dice = np.random.default_rng(0)


def roll_again(seed: int) -> None:
    """Start the disturbances of a program anew."""
    global _dice
    _dice = np.random.default_rng(seed)


class RejectedError(Exception):
    """What was asked for cannot be compared well: a pole, a jump nearby, too large a number."""


class Value(Operand):
    """An array that is there at once, a disturbed twin of it, and how it came about.

    Floats are computed in float64, whatever their dtype; the twin suffers roundings of the
    dtype's size, so that the distance between the two says what may be expected of the tensor.
    """

    def __init__(
        self,
        clean: Array,
        noisy: Array,
        dtype: str,
        parents: Sequence["Value"] = (),
        forward: Forward | None = None,
        pull: Pull | None = None,
        grain: str | None = None,
    ) -> None:
        self.clean, self.noisy, self.dtype = clean, noisy, dtype
        self.parents, self.forward, self.pull = tuple(parents), forward, pull
        self.grain = grain or dtype  # the coarsest of the dtypes that it was rounded to
        self.born = next(_births)
        self.owner: Any = None  # of whom it is a version, if of anybody
        self.realized = not parents
        self.stops = False  # no gradient is asked for below it

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.clean.shape
        return shape

    @property
    def ndim(self) -> int:
        return self.clean.ndim

    @property
    def size(self) -> int:
        return self.clean.size

    @property
    def is_floating(self) -> bool:
        return self.dtype in EPSILON

    @property
    def is_exact(self) -> bool:
        """Whether the tensor must have these very numbers."""
        return self.noisy is self.clean

    @property
    def mT(self) -> "Value":  # noqa: N802
        return call("matrix_transpose", self)

    def realize(self) -> "Value":
        self.realized = True
        return self

    def numpy(self) -> "Value":
        return self.realize()

    def backward(self, upstream: Any = None) -> Any:
        return call("backward", self, upstream)

    def detach(self) -> "Value":
        """Without a gradient; if it is remembered, without a history too."""
        if self.realized and self.parents:
            return Value(self.clean, self.noisy, self.dtype, grain=self.grain)
        found = record(lambda a: a, lambda g, y, a: [None], self, exact=always)
        found.stops = True
        return found


def leaf(array: Any, dtype: str | None = None) -> Value:
    """A value that was given. Its numbers are exact."""
    given = np.asarray(array)
    dtype = dtype or given.dtype.name
    kept: Array = np.array(given, "float64" if dtype in EPSILON else dtype)
    return Value(kept, kept, dtype)


# When an operation does not round, given its result and its operands.


def never(y: Array, *xs: Array) -> bool:
    """It does."""
    return False


def always(y: Array, *xs: Array) -> bool:
    """It picks among its operands."""
    return True


def dyadic(y: Array, *xs: Array) -> bool:
    """As long as the numbers are short."""
    return all(are_short(x) for x in (y, *xs))


def dyadic_sum(y: Array, x: Array) -> bool:
    """As long as all partial sums are short."""
    return are_short(x) and float(np.abs(x).sum()) <= 1024.0


def are_short(x: Array) -> bool:
    scaled = x * 1024.0
    return bool(np.all(scaled == np.rint(scaled)) and np.all(np.abs(x) <= 1024.0))


def record(
    forward: Forward,
    pull: Pull,
    *operands: Value,
    dtype: str | None = None,
    exact: Callable[..., bool] = never,
    decide: Forward | None = None,
    inner: bool = False,
) -> Value:
    """Compute a value, and keep how.

    Args:
        forward: from arrays to an array.
        pull: `(g, y, *xs)` to the share of each operand, or None, as large as `g` at most.
        operands: values of the dtype that the function wants.
        dtype: of the result; that of the first operand by default.
        exact: whether it is free of rounding, given the result and the operands.
        decide: what the function decides by its operands: near a jump of it no program goes.
        inner: whether it rounds on the way, as sums do, and not only its result.
    """
    dtype = dtype or operands[0].dtype
    xs = [x.clean for x in operands]
    with np.errstate(all="ignore"):
        y = noisy = np.asarray(forward(*xs))
        if y.size > MOST or y.ndim > 6:
            raise RejectedError("too large")
        if dtype in EPSILON:
            _check_size(y)
            if not (all(x.is_exact for x in operands) and exact(y, *xs)):
                zs = [disturbed(x.noisy, x.dtype) if inner else x.noisy for x in operands]
                noisy = disturbed(np.asarray(forward(*zs)), dtype)
        elif decide is None:
            decide = forward
        if decide is not None:
            _check_decision(decide, operands)
    found = Value(y, noisy, dtype, operands, forward, pull, coarsest(dtype, operands))
    tolerance(found)
    return found


def coarsest(dtype: str, operands: Iterable[Value]) -> str:
    """The coarsest of dtypes to which something was rounded: of floats, the shortest."""
    return min([dtype, *(x.grain for x in operands if x.is_floating and not x.is_exact)])


def disturbed(array: Array, dtype: str) -> Array:
    """The array with every element moved a little, either way."""
    if dtype not in EPSILON:
        return array
    signs = _dice.integers(0, 2, array.shape) * 2.0 - 1.0
    sizes = _dice.uniform(0.5, 1.0, array.shape)
    return np.asarray(array * (1.0 + SHAKE[dtype] * EPSILON[dtype] * signs * sizes))


def _check_size(y: Array) -> None:
    if not np.isfinite(y).all() or np.abs(y).max(initial=0.0) > LARGEST:
        raise RejectedError("infinite, or large")


def _check_decision(decide: Forward, operands: Sequence[Value]) -> None:
    if all(x.is_exact for x in operands):
        return
    wanted = decide(*[x.clean for x in operands])
    for far in (10.0, -10.0):
        moved = [x.clean if x.is_exact else _away(x, far) for x in operands]
        if not np.array_equal(decide(*moved), wanted):
            raise RejectedError("a jump is near")


def _away(x: Value, far: float) -> Array:
    return np.asarray(x.clean + far * (x.noisy - x.clean))


def allowed(clean: Array, noisy: Array, grain: str) -> float:
    """How far any element of a tensor may be off, given what rounding did to the twin.

    Raises:
        RejectedError: rounding did too much to it.
    """
    if clean is noisy or not clean.size:
        return 0.0
    largest = float(np.abs(clean).max())
    rounding = float(np.abs(noisy - clean).max()) / SHAKE[grain] + EPSILON[grain] * largest
    off = AMPLE[grain] * rounding
    if not off <= LOOSEST[grain] * largest or 0.0 < largest < SMALLEST:
        raise RejectedError("rounding decides")
    return off


def tolerance(x: Value) -> float:
    """How far any element of the tensor may be off; see `allowed`."""
    return allowed(x.clean, x.noisy, x.grain) if x.is_floating else 0.0
