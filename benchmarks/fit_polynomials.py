"""Fit the polynomials of `lazygraph.backends.native.coefficients` and print that module.

Every polynomial corrects terms that are exact, so that its own rounding hardly counts: for
instance e^r = 1 + r + r^2 p(r). Each is the minimax fit of its kind, by Remez exchange in
fifty digits, of the lowest degree whose error is below the bound given. Needs mpmath.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import mpmath as mp
import numpy as np

from benchmarks.fit_erf import remez

Real = Any  # a number of mpmath, which has no types
Function = Callable[[Real], Real]

BITS = {"float32": 26.0, "float64": 55.5}  # the error of a whole function is 2^-bits of it
LINE_LENGTH = 96
HALF_LOG2 = mp.log(2) / 2
ROOT = mp.sqrt(2)


@dataclass(frozen=True)
class Fit:
    """A polynomial to be fitted.

    Attributes:
        name: what the module calls it.
        says: the identity that it completes.
        target: the function that it stands for.
        weight: its share of the whole function, by which errors count.
        low, high: the interval.
        bits: the accuracy wanted, for each dtype, where it is not the usual one.
    """

    name: str
    says: str
    target: Function
    weight: Function
    low: Real
    high: Real
    bits: dict[str, float] | None = None


def _of_square(function: Function) -> Function:
    """p in function(t) = t + t^3 p(t^2)."""
    return lambda z: (function(mp.sqrt(z)) / mp.sqrt(z) - 1) / z


def _share_of_square(function: Function) -> Function:
    return lambda z: mp.sqrt(z) * z / function(mp.sqrt(z))


TINY = mp.mpf("1e-9")  # from here on fifty digits are enough for what remains of a difference
QUARTER_TURN = (mp.pi / 4) ** 2 * 1.0001
FITS = (
    Fit(
        "EXP",
        "e^r = 1 + r + r^2 p(r), |r| <= log(2) / 2",
        lambda r: mp.hyp1f1(1, 3, r) / 2,
        lambda r: abs(r),
        -HALF_LOG2 * 1.0001,
        HALF_LOG2 * 1.0001,
    ),
    Fit(
        "LOG",
        "log(1 + f) = f - f^2 / 2 + f^3 p(f), sqrt(1/2) <= 1 + f <= sqrt(2)",
        lambda f: mp.hyp2f1(1, 3, 4, -f) / 3,
        lambda f: f**2,
        1 / ROOT - mp.mpf("1.0001"),
        ROOT - mp.mpf("0.9999"),
    ),
    Fit(
        "ATANH_PAIR",
        "2 atanh(s) = 2 s + s^3 (2/3 + s^2 p(s^2)), |s| <= 3 - sqrt(8)",
        lambda z: 2 * ((mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z - mp.mpf(1) / 3) / z,
        lambda z: z**2,
        TINY,
        (3 - 2 * ROOT) ** 2 * 1.0001,
        {"float64": 68.0},
    ),
    Fit(
        "SINH",
        "sinh(t) = t + t^3 p(t^2), |t| <= 1",
        _of_square(mp.sinh),
        _share_of_square(mp.sinh),
        TINY,
        1,
    ),
    Fit(
        "TANH",
        "tanh(t) = t + t^3 p(t^2), |t| <= 0.55",
        _of_square(mp.tanh),
        _share_of_square(mp.tanh),
        TINY,
        mp.mpf("0.55") ** 2,
    ),
    Fit(
        "ASINH",
        "asinh(t) = t + t^3 p(t^2), |t| <= 1/2",
        _of_square(mp.asinh),
        _share_of_square(mp.asinh),
        TINY,
        mp.mpf("0.25"),
    ),
    Fit(
        "SIN",
        "sin(t) = t + t^3 p(t^2), |t| <= pi / 4",
        _of_square(mp.sin),
        _share_of_square(mp.sin),
        TINY,
        QUARTER_TURN,
    ),
    Fit(
        "COS",
        "cos(t) = 1 - t^2 / 2 + t^4 p(t^2), |t| <= pi / 4",
        lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2,
        lambda z: z**2 / mp.cos(mp.sqrt(z)),
        TINY,
        QUARTER_TURN,
    ),
    Fit(
        "ATAN",
        "atan(t) = t + t^3 p(t^2), |t| <= 1",
        _of_square(mp.atan),
        _share_of_square(mp.atan),
        TINY,
        1,
    ),
    Fit(
        "ASIN",
        "asin(t) = t + t^3 p(t^2), |t| <= 1/2",
        _of_square(mp.asin),
        _share_of_square(mp.asin),
        TINY,
        mp.mpf("0.25"),
    ),
)


def fit(plan: Fit, bits: float) -> list[Real]:
    """Coefficients of the lowest degree that reaches the accuracy, the constant first."""
    for degree in range(2, 30):
        powers = range(degree + 1)
        found, error = remez(plan.target, plan.weight, powers, plan.low, plan.high)
        if error < 2.0**-bits:
            return found
    raise ValueError(f"{plan.name} must reach {bits} bits with a degree below 30")


def show_numbers(dtype: str, numbers: Sequence[Any]) -> None:
    """An entry of a table, on one line if that is short enough."""
    line = f'    "{dtype}": ({", ".join(map(str, numbers))}),'
    if len(line) > LINE_LENGTH:
        line = "\n".join([f'    "{dtype}": (', *(f"        {n!s}," for n in numbers), "    ),"])
    print(line)


def show(plan: Fit) -> None:
    print(f"\n# {plan.says}\n{plan.name} = {{")
    for dtype, bits in (plan.bits or BITS).items():
        number = np.dtype(dtype).type
        show_numbers(dtype, [number(c) for c in fit(plan, bits)])
    print("}", flush=True)


@dataclass(frozen=True)
class Split:
    """A number to be written as a sum of floats, so that it has more digits than one of them.

    Attributes:
        name: what the module calls it.
        says: what it is for.
        value: the number.
        bits: how many digits each summand but the last has, for each dtype.
        pieces: how many summands there are.
    """

    name: str
    says: str
    value: Real
    bits: dict[str, int]
    pieces: int = 2


FULL = {"float32": 24, "float64": 53}
SPLITS = (
    Split(
        "LOG_OF_2",
        "log(2), whose first part times any exponent is exact",
        mp.log(2),
        {"float32": 15, "float64": 40},
    ),
    Split("HALF_PI", "pi / 2", mp.pi / 2, FULL),
    Split("PI", "pi", mp.pi, FULL),
    Split(
        "HALF_PI_PIECES",
        "pi / 2, whose parts but the last are exact when multiplied by up to 2^20",
        mp.pi / 2,
        {"float64": 33},
        pieces=4,
    ),
    Split("LOG10_OF_E", "log10(e)", 1 / mp.log(10), {"float64": 53}),
    Split("TWO_THIRDS", "2 / 3", mp.mpf(2) / 3, {"float64": 53}),
)


def cut(value: Real, bits: int) -> Real:
    """The number rounded to so many binary digits."""
    scale = mp.mpf(2) ** (bits - 1 - mp.floor(mp.log(abs(value), 2)))
    return mp.nint(value * scale) / scale


def show_split(plan: Split) -> None:
    print(f"\n# {plan.says}\n{plan.name} = {{")
    for dtype, bits in plan.bits.items():
        number, rest, parts = np.dtype(dtype).type, plan.value, []
        for _ in range(plan.pieces - 1):
            parts.append(cut(rest, bits))
            rest -= parts[-1]
        show_numbers(dtype, [number(part) for part in (*parts, rest)])
    print("}")


def main() -> None:
    print(
        '"""Coefficients of minimax polynomials, the constant term first; numbers in parts.\n'
    )
    print("`python -m benchmarks.fit_polynomials` prints this module.")
    print('"""')
    for split in SPLITS:
        show_split(split)
    for plan in FITS:
        show(plan)


if __name__ == "__main__":
    main()
