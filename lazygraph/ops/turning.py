"""Matrices that lie by columns, which products read as they lie."""

from lazygraph.graph.node import Node
from lazygraph.graph.orientation import lies_by_columns
from lazygraph.graph.tensor import Tensor
from lazygraph.ops.layout import PERMUTE, permute_dims


def is_turned(node: Node) -> bool:
    """Whether the matrices of a value lie by columns, or would if it were realized.

    That is so for a permutation that changes the order of its last two axes. The transpose of
    what is turned is not.
    """
    turned = False
    while _is_transpose(node):
        node, turned = node.inputs[0], not turned
    if node.value is not None:
        return turned != lies_by_columns(node.value)
    if node.op is not PERMUTE or len(node.spec.shape) < 2:
        return turned
    *_, a, b = _axes(node)
    return turned != (a > b)


def turned_back(node: Node) -> Tensor:
    """The transpose of a node for which `is_turned` holds; it lies by rows."""
    if _is_transpose(node):
        return Tensor(node.inputs[0])
    if node.value is not None:
        return Tensor(node).mT
    *leading, a, b = _axes(node)
    return permute_dims(Tensor(node.inputs[0]), (*leading, b, a))


def _is_transpose(node: Node) -> bool:
    rank = len(node.spec.shape)
    if node.value is not None or node.op is not PERMUTE or rank < 2:
        return False
    return _axes(node) == (*range(rank - 2), rank - 1, rank - 2)


def _axes(node: Node) -> tuple[int, ...]:
    axes: tuple[int, ...] = node.op.named(node.params)["axes"]
    return axes
