"""The order in which a program computes a graph: what needs little before what needs much."""

from collections.abc import Callable, Iterable

from lazygraph.graph.node import Node
from lazygraph.graph.walk import postorder


def shallow_first(
    roots: Iterable[Node], is_leaf: Callable[[Node], bool] | None = None
) -> list[Node]:
    """Every node that `roots` reach, inputs first, those of the shorter way to the leaves first.

    The gradient of a weight is then computed as soon as the backward pass has come to its layer,
    and what it reads can be given up; in the order of the roots, the first layer's gradient would
    come first, and all others after it.

    Args:
        roots: where the walk starts.
        is_leaf: nodes for which it is true are listed, but their inputs are not visited.

    Returns:
        The nodes; each stands after all of its inputs that are listed.
    """
    targets = list(roots)
    depth: dict[Node, int] = {}
    for node in postorder(targets, is_leaf):
        ends = not node.inputs or (is_leaf is not None and is_leaf(node))
        depth[node] = 0 if ends else 1 + max([depth[x] for x in node.inputs])
    order: list[Node] = []
    done: set[Node] = set()
    opened: list[Node] = []
    stack: list[Node | None] = sorted(targets, key=depth.__getitem__, reverse=True)
    while stack:
        node = stack.pop()
        if node is None:
            node = opened.pop()
        elif node in done:
            continue
        elif depth[node]:
            opened.append(node)
            stack.append(None)
            stack += sorted(node.inputs, key=depth.__getitem__, reverse=True)
            continue
        if node not in done:
            done.add(node)
            order.append(node)
    return order
