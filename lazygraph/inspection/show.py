"""One tensor as text, for `repr`."""

import numpy as np

from lazygraph.graph.tensor import Tensor
from lazygraph.source import describe


def render(tensor: Tensor) -> str:
    """The value if it is remembered, else the spec, the op and the line that recorded it."""
    node = tensor.node
    if node.value is None:
        line = describe(node.source, with_text=False)
        return f"Tensor({node.spec}, {node.op.name}, recorded at {line})"
    text = np.array2string(np.asarray(node.value), separator=", ", threshold=20, edgeitems=3)
    return f"Tensor({node.spec} = {text})"
