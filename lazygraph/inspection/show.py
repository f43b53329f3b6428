"""One tensor as text, for `repr`."""

import numpy as np

from lazygraph.graph.node import Value
from lazygraph.graph.tensor import Tensor
from lazygraph.source import describe

_FULL = 20  # elements: a value up to this size is shown whole
_LINE = 75  # characters behind the spec


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
    if value.ndim > 3 and value.size > _FULL:
        # Three at each end will be shown, and dots for the one between them.
        places = (0, 1, 2, 3, *range(value.size - 3, value.size))
        row = [value[np.unravel_index(i, value.shape)] for i in places]
        return _printed(np.asarray(row), before, threshold=0)
    return _printed(value, before)


def _printed(value: Value, before: str, threshold: int = _FULL) -> str:
    return np.array2string(
        value,
        max_line_width=len(before) + _LINE,
        prefix=before,
        suffix=")",
        threshold=threshold,
        edgeitems=3 if value.ndim < 3 else 1,
        formatter={"bool": str},
    )
