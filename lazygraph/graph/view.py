"""The graph as networkx sees it."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from lazygraph.graph.node import Node
from lazygraph.graph.walk import postorder

if TYPE_CHECKING:
    import networkx as nx


def as_networkx(roots: Iterable[Node]) -> "nx.MultiDiGraph":
    """A `MultiDiGraph` with one node a graph node and one edge an operand."""
    import networkx as nx

    graph = nx.MultiDiGraph()
    position: dict[Node, int] = {}
    for node in postorder(roots):
        position[node] = len(position)
        graph.add_node(
            position[node],
            op=node.op.name,
            shape=node.spec.shape,
            dtype=node.spec.dtype.name,
            scope=node.scope,
            node=node,
        )
        for operand, x in enumerate(node.inputs):
            graph.add_edge(position[x], position[node], operand=operand)
    return graph
