"""A graph as a flat list, so that pickling a deep one does not recurse."""

from typing import Any

import numpy as np

from lazygraph.graph.engine import OPS
from lazygraph.graph.node import Node, Value
from lazygraph.graph.orientation import lies_by_columns
from lazygraph.graph.walk import postorder
from lazygraph.source import Places


def flatten(root: Node) -> list[tuple[Any, ...]]:
    """One row a node, inputs first; operands are positions in the list."""
    order = postorder([root])
    position = {node: i for i, node in enumerate(order)}
    places = Places()
    return [
        (
            node.op.name,
            tuple(position[x] for x in node.inputs),
            node.params,
            node.spec,
            places[node.source],
            node.scope,
            *_with_orientation(node.value),
        )
        for node in order
    ]


def unflatten(rows: list[tuple[Any, ...]]) -> Node:
    """The graph of the rows, with fresh ids in their order; the last row is the root."""
    nodes: list[Node] = []
    for name, operands, params, spec, source, scope, value, turned in rows:
        if turned and not lies_by_columns(value):
            value = value.mT.copy().mT
        node = Node(OPS[name], tuple(nodes[i] for i in operands), params, spec, value)
        node.source, node.scope = source, scope
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
        nodes.append(node)
    return nodes[-1]


def _with_orientation(value: Value | None) -> tuple[Value | None, bool]:
    """The value, and whether it lies by columns: pickles of stacks of matrices forget that."""
    return value, value is not None and lies_by_columns(value)
