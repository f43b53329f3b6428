"""Iterative walks: no depth of graph can exhaust the stack."""

from collections.abc import Callable, Iterable
from typing import Any

from lazygraph.graph.node import Node


def postorder(
    roots: Iterable[Node],
    is_leaf: Callable[[Node], bool] | None = None,
    key: Callable[[Node], Any] | None = None,
) -> list[Node]:
    """Every node that `roots` reach, inputs first, in canonical depth-first order.

    The order depends only on the structure of the graph: not on ids, threads or time.

    Args:
        roots: where the walk starts; duplicates are visited once.
        is_leaf: nodes for which it is true are listed, but their inputs are not visited.
        key: where a node has several inputs, and among the roots, visit the smallest first; by
            default they are visited as they stand.

    Returns:
        The nodes; each stands after all of its inputs that are listed.
    """
    order: list[Node] = []
    done: set[Node] = set()
    opened: list[Node] = []
    stack: list[Node | None] = [*(roots if key is None else sorted(roots, key=key))]
    stack.reverse()
    while stack:
        node = stack.pop()
        if node is None:  # all inputs of the node that was opened last are there
            node = opened.pop()
        elif node in done:
            continue
        elif node.inputs and not (is_leaf is not None and is_leaf(node)):
            opened.append(node)
            stack.append(None)
            stack += (node.inputs if key is None else sorted(node.inputs, key=key))[::-1]
            continue
        done.add(node)
        order.append(node)
    return order


def is_remembered(node: Node) -> bool:
    """Whether the node's value is there already, so that nothing below it needs to run."""
    return node.value is not None
