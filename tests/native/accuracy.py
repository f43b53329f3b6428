"""How far results are from the true values, in units of the last place."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import mpmath
import numpy as np

from tests.lazygraph.exactness import Array

# One reference for float32, in float64 by NumPy; one for float64, in many digits by mpmath.
NUMPY: dict[str, Callable[..., Array]] = {
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "log10": np.log10,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "power": np.power,
    "hypot": np.hypot,
    "atan2": np.arctan2,
}
_MANY_DIGITS: dict[str, Callable[..., Any]] = {
    name: getattr(mpmath, name) for name in NUMPY if name != "log10"
} | {"log10": lambda x: mpmath.log(x, 10)}
_DIGITS = 40
_DIGITS_OF_HUGE_ANGLES = 370


class Reference(NamedTuple):
    """True values: the nearest float64, and what it lacks."""

    value: Array
    rest: Array


def reference(name: str, operands: Sequence[Array]) -> Reference:
    """The function at operands where it is defined and finite."""
    if operands[0].dtype == np.float32:
        with np.errstate(over="ignore"):
            value = NUMPY[name](*(x.astype(np.float64) for x in operands))
        return Reference(value, np.zeros_like(value))
    pairs = [_split(_true_value(name, numbers)) for numbers in zip(*operands, strict=True)]
    value, rest = np.array(pairs).T
    return Reference(value, rest)


def _true_value(name: str, numbers: Sequence[float]) -> Any:
    huge = name in ("sin", "cos", "tan") and abs(numbers[0]) > 2.0**64
    # Near a zero of a function, as many digits cancel as its operand has.
    with mpmath.workdps(_DIGITS_OF_HUGE_ANGLES if huge else 2 * _DIGITS):
        return _MANY_DIGITS[name](*(mpmath.mpf(float(x)) for x in numbers))


def _split(exact: Any) -> tuple[float, float]:
    with mpmath.workdps(_DIGITS):
        value = float(exact)
        return value, float(exact - mpmath.mpf(value)) if np.isfinite(value) else 0.0


def last_place(x: Array, dtype: Any) -> Array:
    """The unit in the last place of numbers in a dtype; below the normal ones it stays."""
    limits = np.finfo(dtype)
    _, exponent = np.frexp(np.clip(np.abs(x), limits.tiny, limits.max))
    unit: Array = np.ldexp(1.0, exponent - (limits.nmant + 1))
    return unit


def ulps(found: Array, wanted: Reference) -> Array:
    """The distance of each result from the true value, in units of the last place.

    Infinity counts as the number after the largest: to round up to it is no great error.
    """
    unit = last_place(wanted.value, found.dtype)
    result, value = found.astype(np.float64), wanted.value
    if found.dtype == np.float32:
        beyond = 2.0**128
        result, value = np.clip(result, -beyond, beyond), np.clip(value, -beyond, beyond)
    with np.errstate(invalid="ignore"):
        distance: Array = np.abs((result - value) - wanted.rest) / unit
    distance[result == value] = np.abs(wanted.rest / unit)[result == value]
    return distance


def assert_within(limit: float, found: Array, operands: Sequence[Array], name: str) -> None:
    distances = ulps(found, reference(name, operands))
    worst = int(np.argmax(np.where(np.isnan(distances), np.inf, distances)))
    at = ", ".join(repr(x[worst]) for x in operands)
    assert distances[worst] <= limit, f"{name}({at}): {found[worst]!r}, {distances[worst]} ulp"
