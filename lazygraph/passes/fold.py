"""Constants computed once, when the plan is built."""

from collections.abc import Callable, Sequence

from lazygraph.graph.leaves import data_node
from lazygraph.graph.node import Node, Value
from lazygraph.graph.op import Kind
from lazygraph.passes.rewrite import Known, transform
from lazygraph.source import recording

LARGEST = 1 << 20  # bytes: a plan keeps its constants as long as it lives

Evaluate = Callable[[Node], Value]


def run(roots: Sequence[Node], known: Known, evaluate: Evaluate) -> tuple[Node, ...]:
    """Replace every node whose inputs are all constants by its value.

    Values are computed by `evaluate`, the backend that will run the plan, so that folding
    changes no bit. Broadcasts stay: they cost nothing, and their value may be large.
    """

    def replace(node: Node) -> Node:
        if (
            known.is_leaf(node)
            or node.op.kind is Kind.LEAF
            or node.op.name == "broadcast_to"
            or node.spec.nbytes > LARGEST
            or not all(known.is_constant(x) for x in node.inputs)
        ):
            return node
        known.fired("constant computed")
        token = recording.set((node.scope, node.source))
        try:
            return data_node(evaluate(node))
        finally:
            recording.reset(token)

    return transform(roots, replace, known)
