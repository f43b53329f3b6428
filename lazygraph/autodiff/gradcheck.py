"""Gradients against differences of values, for users."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from lazygraph.autodiff.reverse import grad
from lazygraph.dtypes import float64
from lazygraph.errors import DTypeError, GradientError
from lazygraph.graph.node import Value
from lazygraph.graph.tensor import Tensor
from lazygraph.graph.var import Var
from lazygraph.ops.creation import asarray

_STEP = 2.0**-13
_LEVELS = 3
_CANCELLATION = 0.01


@dataclass(frozen=True, slots=True)
class GradientReport:
    """What a check that succeeded has seen.

    Attributes:
        inputs: how many inputs have a gradient.
        differences: how many derivatives were compared.
        largest_error: the greatest relative error among them.
    """

    inputs: int
    differences: int
    largest_error: float


def gradcheck(
    function: Callable[..., Tensor],
    inputs: Sequence[Any],
    *,
    mode: str = "directional",
    rtol: float = 1e-6,
    atol: float = 1e-9,
    step: float = _STEP,
    seed: int = 0,
) -> GradientReport:
    """Compare the gradients of a function with differences of its values, in float64.

        <J' u, v>  =  d/dt <u, f(x + t v)>  at t = 0,   for random u and, for each input, some v

    Args:
        function: from tensors to a floating tensor of any shape; the same for the same inputs.
        inputs: its arguments: tensors, Vars, arrays or numbers. Floating ones are converted to
            float64 and checked, others handed on.
        mode: "directional" takes a random v for each input, so that one difference checks all
            of its coordinates; "coordinates" takes each coordinate for itself.
        rtol: the error allowed, relative to the derivative.
        atol: the error allowed where that is 0.
        step: the largest of the three steps from which the difference is extrapolated.
        seed: of the random directions.

    Returns:
        A report.

    Raises:
        GradientError: a gradient differs; names the input, the coordinate that is off by most,
            and both numbers.
        DTypeError: the function does not compute in float64.

    Example:
        >>> import lazygraph as lg
        >>> lg.gradcheck(lg.tanh, [[0.3, -1.0]]).differences
        1
        >>> wrong = lg.custom_gradient(lambda x: (x * x, lambda g: g * x))
        >>> lg.gradcheck(wrong, [[3.0, 0.0]])
        Traceback (most recent call last):
        lazygraph.errors.GradientError: the gradient with respect to input 0 at (0,) must be ...
    """
    if mode not in ("directional", "coordinates"):
        raise ValueError(f"mode must be 'directional' or 'coordinates'; got {mode!r}")
    rng = np.random.default_rng(seed)
    check = _Check(function, inputs, (rtol, atol), step, rng)
    compare = check.coordinates if mode == "coordinates" else check.along_some_direction
    with np.errstate(all="ignore"):
        for i in check.gradients:
            compare(i)
    return GradientReport(len(check.gradients), check.differences, check.largest_error)


class _Check:
    """A function at a point, with the gradients that it claims to have there."""

    def __init__(
        self,
        function: Callable[..., Tensor],
        inputs: Sequence[Any],
        tolerance: tuple[float, float],
        step: float,
        rng: np.random.Generator,
    ) -> None:
        self.rtol, self.atol = tolerance
        self.step = step
        self.rng = rng
        self._function = function
        self.names = [_name(i, x) for i, x in enumerate(inputs)]
        self.at = [_widened(x) for x in inputs]
        self.differences = 0
        self.largest_error = 0.0
        value = self._value(self.at)
        if not np.array_equal(value, self._value(self.at), equal_nan=True):
            raise GradientError(
                "the function must give the same value twice, to be compared with itself; got "
                "two (draw random numbers outside of it)"
            )
        self.upstream = rng.uniform(-1.0, 1.0, value.shape)
        self.size = float(np.abs(self.upstream * value).sum())
        self.gradients = self._gradients()

    def _value(self, at: Sequence[Value]) -> Value:
        y = self._function(*map(asarray, at))
        if y.dtype is not float64:
            raise DTypeError(
                f"the function must compute in float64 where its inputs are; got {y.dtype}"
            )
        return y.numpy()

    def _gradients(self) -> dict[int, Value]:
        tensors = [asarray(x) for x in self.at]
        moving = [i for i, x in enumerate(self.at) if x.dtype == np.float64]
        y = self._function(*tensors)
        found = grad(y, [tensors[i] for i in moving], upstream=self.upstream, missing="zero")
        return {i: share.numpy() for i, share in zip(moving, found, strict=True)}

    def direction(self, i: int, v: Value) -> tuple[float, float, bool]:
        """The derivative along `v` by differences, by the gradient, and whether they agree."""
        row = [self._central(i, v, self.step / 2**level) for level in range(_LEVELS)]
        for power in range(1, _LEVELS):  # cancels errors in step^2, then in step^4
            factor = 4.0**power
            row = [(factor * fine - coarse) / (factor - 1.0) for coarse, fine in pairwise(row)]
        # Elements that the direction leaves out may be infinite.
        terms = np.multiply(self.gradients[i], v, out=np.zeros_like(v), where=v != 0)
        wanted = row[0]
        found, scale = float(terms.sum()), float(np.abs(terms).sum())
        noise = 2.0**_LEVELS * np.finfo(np.float64).eps * self.size / self.step
        largest = max(abs(wanted), _CANCELLATION * scale)
        error = abs(found - wanted)
        self.differences += 1
        if largest:
            self.largest_error = max(self.largest_error, error / largest)
        return wanted, found, bool(error <= self.rtol * largest + self.atol + noise)

    def _central(self, i: int, v: Value, step: float) -> float:
        ahead, behind = list(self.at), list(self.at)
        ahead[i], behind[i] = self.at[i] + step * v, self.at[i] - step * v
        values = self._value(ahead), self._value(behind)
        # Equal ones may be infinite.
        change = np.subtract(
            *values, out=np.zeros(values[0].shape), where=values[0] != values[1]
        )
        return float((self.upstream * change).sum() / (2.0 * step))

    def coordinates(self, i: int) -> None:
        """Compare each coordinate of an input; the error names the one that is off by most."""
        shape = self.at[i].shape
        wrong: list[tuple[float, tuple[int, ...], float, float]] = []
        for k in np.ndindex(shape):
            v: Value = np.zeros(shape)
            v[k] = 1.0
            wanted, found, agree = self.direction(i, v)
            if not agree:
                error = abs(found - wanted)
                wrong.append((error if np.isfinite(error) else np.inf, k, wanted, found))
        if wrong:
            _, k, wanted, found = max(wrong)
            raise GradientError(
                f"the gradient with respect to {self.names[i]} at {k} must be {wanted:.9g}; "
                f"got {found:.9g} ({len(wrong)} of {self.at[i].size} coordinates are off)"
            )

    def along_some_direction(self, i: int) -> None:
        """Compare one random direction of an input, and if that fails its coordinates."""
        wanted, found, agree = self.direction(
            i, np.asarray(self.rng.uniform(-1.0, 1.0, self.at[i].shape))
        )
        if not agree:
            self.coordinates(i)
            raise GradientError(
                f"the gradient with respect to {self.names[i]} must be {wanted:.9g} along a "
                f"random direction; got {found:.9g}"
            )


def _name(i: int, x: Any) -> str:
    return f"input {i} ({x.name!r})" if isinstance(x, Var) else f"input {i}"


def _widened(x: Any) -> Value:
    value = x.numpy() if isinstance(x, Tensor | Var) else np.asarray(x)
    return value.astype(np.float64) if value.dtype.kind == "f" else value
