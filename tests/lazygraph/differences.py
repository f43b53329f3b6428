"""Directional derivatives from values alone."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.lazygraph.exactness import Array

_STEP = 2.0**-10
_LEVELS = 3


def directional(
    function: Callable[[Sequence[Array]], Array],
    at: Sequence[Array],
    along: Sequence[Array],
) -> Any:
    """The derivative of a function of several arrays along a direction, to about 1e-11.

    Central differences with steps h, h/2 and h/4, whose errors in h^2 and h^4 Richardson's
    extrapolation cancels.
    """

    def central(step: float) -> Any:
        ahead = function([x + step * v for x, v in zip(at, along, strict=True)])
        behind = function([x - step * v for x, v in zip(at, along, strict=True)])
        return (ahead - behind) / (2.0 * step)

    row = [central(_STEP / 2**i) for i in range(_LEVELS)]
    for power in range(1, _LEVELS):
        factor = 4.0**power
        row = [
            (factor * finer - coarser) / (factor - 1.0)
            for coarser, finer in itertools.pairwise(row)
        ]
    return row[0]


def inner(us: Sequence[Array], vs: Sequence[Array]) -> float:
    return float(sum(np.vdot(u, v) for u, v in zip(us, vs, strict=True)))


def assert_close(found: float, wanted: float, scale: float) -> None:
    """Equal to 1e-7 of the wanted value, or of what its terms add up to if they cancel."""
    assert abs(found - wanted) <= 1e-7 * max(abs(wanted), 0.01 * scale), (found, wanted)
