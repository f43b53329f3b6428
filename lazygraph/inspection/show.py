"""One tensor as text, for `repr`."""

import math

import numpy as np

from lazygraph.graph.node import Value
from lazygraph.graph.tensor import Tensor
from lazygraph.source import describe

_FULL = 20  # elements: a value up to this size is shown whole
_MOST = 100  # elements that a value with its axes cut short may show


def render(tensor: Tensor) -> str:
    """The value if it is remembered, else the spec, the op and the line that recorded it."""
    node = tensor.node
    if node.value is None:
        line = describe(node.source, with_text=False)
        return f"Tensor({node.spec}, {node.op.name}, recorded at {line})"
    before = f"Tensor({node.spec} = "
    return f"{before}{_elements(node.value, before)})"


def _elements(value: Value, before: str) -> str:
    """As NumPy prints them; of many, the ends of each axis, or of all elements in a row."""
    if value.ndim == 0:
        return str(value[()])
    edge = next(
        (n for n in (3, 1) if math.prod(min(2 * n, k) for k in value.shape) <= _MOST), 0
    )
    if value.size > _FULL and not edge:
        first, last = value.flat[:3], value.flat[value.size - 3 :]
        return f"{_printed(first, '', 3)[:-1]} ... {_printed(last, '', 3)[1:]}"
    return _printed(value, before, edge or 3)


def _printed(value: Value, before: str, edge: int) -> str:
    return np.array2string(
        value,
        prefix=before,
        suffix=")",
        threshold=_FULL,
        edgeitems=edge,
        formatter={"bool": str},
    )
