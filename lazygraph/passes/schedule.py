"""The order in which a program computes a graph: what needs little before what needs much."""

from collections.abc import Callable, Sequence

from lazygraph.graph.node import Node
from lazygraph.graph.walk import postorder


def shallow_first(roots: Sequence[Node], is_leaf: Callable[[Node], bool]) -> list[Node]:
    """Every node that `roots` reach, inputs first; of two ways, the shorter one first.

    The gradient of a weight is then computed as soon as the backward pass has come to its
    layer, and what it reads can be given up. In the order of the roots, the first layer's
    gradient would come first, and all others after it.

    Args:
        roots: where the walk starts.
        is_leaf: nodes for which it is true are listed, but their inputs are not visited.

    Returns:
        The nodes; each stands after all of its inputs that are listed.
    """
    depth: dict[Node, int] = {}
    for node in postorder(roots, is_leaf):
        below = [] if is_leaf(node) else [depth[x] for x in node.inputs]
        depth[node] = 1 + max(below, default=0)
    return postorder(roots, is_leaf, depth.__getitem__)
