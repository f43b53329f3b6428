"""Powers whose bits depend on base and exponent alone."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def power(a: Array, b: Array, out: Array) -> None:
    """`a` to the power `b`, element by element, without the short cuts that NumPy takes.

    Where one exponent serves a whole loop, NumPy may take a square, a root or a reciprocal
    instead, with other last bits, and other values at -0.0 and -inf. Here each element has an
    exponent of its own in memory.

    Args:
        a: the bases.
        b: the exponents, of the dtype of `a`.
        out: the result, of the broadcast shape; it may be the memory of neither.

    Example:
        >>> out = np.empty(2)
        >>> power(np.array([-np.inf, 4.0]), np.array(0.5), out)
        >>> out.tolist()
        [inf, 2.0]
    """
    if out.size == 1:  # a loop of one step has no stride to tell the exponents apart
        twice = np.empty((2, 2), a.dtype)
        twice[0], twice[1] = a, b
        out[...] = np.power(*twice)[0]
    else:
        np.copyto(out, b)
        np.power(a, out, out)
