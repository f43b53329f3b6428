"""Equality in every bit, with one NaN as good as another."""

from typing import Any

import numpy as np

import lazygraph as lg

Array = np.ndarray[Any, Any]
Bits = tuple[tuple[int, ...], str, bytes]


def bits(x: Any) -> Bits:
    """Shape, dtype and the bytes in row-major order; every NaN has the same."""
    array: Array = x.numpy() if isinstance(x, lg.Tensor) else np.asarray(x)
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), array.dtype.type(np.nan), array)
    return array.shape, array.dtype.name, array.tobytes()


def assert_same_bits(found: Any, wanted: Any) -> None:
    assert bits(found) == bits(wanted), f"{np.asarray(found)}\n{np.asarray(wanted)}"
