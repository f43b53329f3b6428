"""Fit the coefficients of `lazygraph.ops.special.erf` and print them.

erf(x) is put together from two polynomials that meet at a split point s:

    m = min(|x|, s)      u = min(|x|, end) - m
    erf(|x|) = (m + m near(m^2)) + (far(0)^8 - far(u)^8)

`near` approximates erf(m) / m - 1 with least largest relative error, `far` the eighth root of
erfc(s + u) with least largest error of its eighth power. Both come from Remez exchange in
fifty digits. The split point is moved over neighbouring floats until, in the arithmetic of
the kernel itself, near part and far(0)^8 add up to one. Needs mpmath.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import mpmath as mp
import numpy as np

mp.mp.dps = 50

Real = Any  # a number of mpmath, which has no types
Number = np.float32 | np.float64
Function = Callable[[Real], Real]


@dataclass(frozen=True)
class Plan:
    """What to fit for one dtype: degrees, split point and where erf has become one."""

    number: type[np.float32] | type[np.float64]
    split: float
    end: float
    near_degree: int
    far_degree: int


PLANS = (
    Plan(np.float32, split=1.15, end=3.95, near_degree=6, far_degree=6),
    Plan(np.float64, split=1.15, end=5.95, near_degree=12, far_degree=17),
)


def chebyshev_points(low: float, high: float, count: int) -> list[Real]:
    middle, half = (mp.mpf(low) + high) / 2, (mp.mpf(high) - low) / 2
    return [middle - half * mp.cos(mp.pi * i / (count - 1)) for i in range(count)]


def remez(
    target: Function, weight: Function, powers: Sequence[int], low: float, high: float
) -> tuple[list[Real], float]:
    """Minimize the largest |weight (sum c_k x^k - target)| over [low, high]."""
    grid = chebyshev_points(low, high, 40 * (len(powers) + 1))
    values, weights = [target(x) for x in grid], [weight(x) for x in grid]
    reference = [round(i * (len(grid) - 1) / len(powers)) for i in range(len(powers) + 1)]
    coefficients: list[Real] = []
    error = mp.mpf(0)
    for _ in range(30):
        rows = [
            [grid[i] ** k for k in powers] + [(-1) ** j / weights[i]]
            for j, i in enumerate(reference)
        ]
        solution = mp.lu_solve(mp.matrix(rows), mp.matrix([values[i] for i in reference]))
        coefficients, level = list(solution[:-1]), abs(solution[len(powers)])
        errors = [
            w * (sum(c * x**k for c, k in zip(coefficients, powers, strict=True)) - y)
            for x, y, w in zip(grid, values, weights, strict=True)
        ]
        error = max(abs(e) for e in errors)
        if error <= level * (1 + mp.mpf("1e-3")):
            break
        reference = exchange(errors, len(powers) + 1)
    return coefficients, float(error)


def exchange(errors: Sequence[Real], count: int) -> list[int]:
    """Pick `count` extrema of alternating sign, the largest ones."""
    picked: list[int] = []
    for i, e in enumerate(errors):
        if picked and (e > 0) == (errors[picked[-1]] > 0):
            if abs(e) > abs(errors[picked[-1]]):
                picked[-1] = i
        else:
            picked.append(i)
    while len(picked) > count:
        end = 0 if abs(errors[picked[0]]) < abs(errors[picked[-1]]) else -1
        picked.pop(end)
    return picked


def horner(coefficients: Sequence[Number], x: Number) -> Number:
    total = coefficients[-1]
    for c in coefficients[-2::-1]:
        total = total * x + c
    return total


def fit_near(plan: Plan) -> tuple[list[Number], float]:
    coefficients, error = remez(
        target=lambda q: mp.erf(mp.sqrt(q)) / mp.sqrt(q) - 1,
        weight=lambda q: mp.sqrt(q) / mp.erf(mp.sqrt(q)),
        powers=range(plan.near_degree + 1),
        low=1e-6,
        high=plan.split**2,
    )
    return [plan.number(c) for c in coefficients], error


def eighth_power(x: Number) -> Number:
    square = x * x
    fourth = square * square
    return fourth * fourth


def seam(plan: Plan, near: list[Number]) -> tuple[Number, Number]:
    """The split point, and far(0), at which the two parts add up to one most exactly."""
    number = plan.number
    split = number(plan.split)
    best = (np.inf, split, split)
    for _ in range(400):
        split = np.nextafter(split, number(2))
        low = split + split * horner(near, split * split)
        root = number(mp.root(1 - mp.mpf(float(low)), 8))
        for start in (np.nextafter(root, number(0)), root, np.nextafter(root, number(1))):
            gap = abs(mp.mpf(float(low)) + mp.mpf(float(eighth_power(start))) - 1)
            wrong = abs(mp.mpf(float(low)) - mp.erf(mp.mpf(float(split))))
            best = min(best, (float(gap + wrong), split, start))
    return best[1], best[2]


def fit_far(plan: Plan, split: Number, start: Number) -> tuple[list[Number], float]:
    s, first = mp.mpf(float(split)), mp.mpf(float(start))

    def root(u: Real) -> Real:
        return mp.root(mp.erfc(s + u), 8)

    coefficients, error = remez(
        target=lambda u: root(u) - first,
        weight=lambda u: 8 * root(u) ** 7,
        powers=range(1, plan.far_degree + 1),
        low=1e-3,
        high=plan.end - float(split),
    )
    return [start, *(plan.number(c) for c in coefficients)], error


def show(name: str, values: Sequence[Number]) -> None:
    print(f"    {name}=(")
    for v in values:
        print(f"        {v!s},")
    print("    ),")


def main() -> None:
    for plan in PLANS:
        near, near_error = fit_near(plan)
        split, start = seam(plan, near)
        far, far_error = fit_far(plan, split, start)
        print(
            f"{plan.number.__name__}: largest relative error near 2^{np.log2(near_error):.1f}"
        )
        print(f"    largest absolute error far 2^{np.log2(far_error):.1f}")
        print(f"    split={split!s},\n    end={plan.end},")
        show("near", near)
        show("far", far)


if __name__ == "__main__":
    main()
