"""The error function, with the very bits of `lazygraph.ops.special.erf`."""

from collections.abc import Sequence
from typing import Any

from lazygraph.backends.native.floats import at_most
from lazygraph.backends.native.register import Register, given_sign_of
from lazygraph.ops.special import SERIES


def erf(x: Register) -> Register:
    """`(m + m near(m^2)) + (far(0)^8 - far(u)^8)`: no product is fused with a sum here."""
    series = SERIES[x.dtype.name]
    size = abs(x)
    near = at_most(size, float(series.split))
    far = at_most(size, float(series.end)) - near
    total = _evaluate(series.near, near * near) * near + near
    rest = _evaluate(series.far, far)
    for _ in range(3):
        rest = rest * rest
    return given_sign_of(total + (float(series.far_at_split) - rest), x)


def _evaluate(polynomial: Sequence[Any], x: Register) -> Register:
    total = x * float(polynomial[0])
    for c in polynomial[1:-1]:
        total = (total + float(c)) * x
    return total + float(polynomial[-1])
