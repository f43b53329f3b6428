"""Whether the matrices of a value lie by rows or by columns, which decides bits of products."""

from lazygraph.graph.node import Value


def lies_densely(array: Value) -> bool:
    """Whether the strides are those of a fresh array, on axes of length 1 as well."""
    stride = array.itemsize
    for length, found in zip(array.shape[::-1], array.strides[::-1], strict=True):
        if found != stride:
            return False
        stride *= length
    return True


def lies_by_columns(array: Value) -> bool:
    """Whether it is the transpose of what lies densely, and does not lie densely itself."""
    return array.ndim > 1 and lies_densely(array.mT) and not lies_densely(array)
