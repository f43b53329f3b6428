"""Checks that hold for every graph, run between passes when the setting asks for it."""

from collections.abc import Iterable

from lazygraph.errors import InternalError, LazyGraphError
from lazygraph.graph.node import Node
from lazygraph.graph.op import Kind
from lazygraph.graph.walk import postorder
from lazygraph.source import describe


def verify(roots: Iterable[Node], after: str = "recording") -> None:
    """Check every node that `roots` reach.

    Inputs are older than the node, parameters are hashable, the spec is what the op infers from
    its inputs, and a remembered value has the spec.

    Args:
        roots: where to start.
        after: what has just been done to the graph, for the message.

    Raises:
        InternalError: the first node for which something does not hold, with its line.

    Example:
        >>> import lazygraph as lg
        >>> verify([(lg.ones((2,)) + 1).node])
    """
    for node in postorder(roots):
        complaint = _complaint(node)
        if complaint:
            raise InternalError(
                f"after {after}, node {node.id} ({node.op.name} {node.spec}) {complaint}; "
                f"it stems from {describe(node.source)}"
            )


def _complaint(node: Node) -> str | None:
    if any(x.id >= node.id for x in node.inputs):
        return "is not younger than its inputs"
    if node.value is not None and node.value.shape != node.spec.shape:
        return f"remembers a value of shape {node.value.shape}"
    if node.value is not None and node.value.dtype != node.spec.dtype.dtype:
        return f"remembers a value of dtype {node.value.dtype}"
    hash(node.params)
    if node.op.kind is Kind.LEAF:
        return None
    try:
        spec = node.op.infer(*(x.spec for x in node.inputs), **node.op.named(node.params))
    except LazyGraphError as error:
        return f"does not fit its inputs: {error}"
    return None if spec == node.spec else f"should be {spec}"
