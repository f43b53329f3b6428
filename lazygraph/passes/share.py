"""Equal computations done once."""

from collections.abc import Hashable, Sequence

from lazygraph.graph.leaves import SCALAR
from lazygraph.graph.node import Node
from lazygraph.passes.rewrite import Known, transform

_SMALL = 4096  # bytes: constants up to this size are compared by value


def run(roots: Sequence[Node], known: Known) -> tuple[Node, ...]:
    """Merge nodes of one op, one set of parameters and the same inputs.

    Leaves are merged if they are constants with equal bits; Python scalars that come anew at
    each run too, under a guard that they stay equal. Other leaves are different by nature: two
    data leaves may hold the same numbers today.
    """
    first: dict[Hashable, Node] = {}

    def replace(node: Node) -> Node:
        key = _key(node, known)
        if key is None:
            return node
        twin = first.setdefault(key, node)
        if twin is not node:
            known.fired("twins merged")
            if node.op is SCALAR:
                known.guard(node)
                known.guard(twin)
        return twin

    return transform(roots, replace, known)


def _key(node: Node, known: Known) -> Hashable:
    if not known.is_leaf(node):
        inputs = sorted(node.inputs, key=id) if node.op.commutes else node.inputs
        return (node.op, node.params, *inputs)
    if node.op is SCALAR:
        value = known.scalar(node)
        return None if value is None else (SCALAR, node.spec, value.tobytes())
    constant = node.value if known.is_constant(node) else None
    if constant is not None and node.spec.nbytes <= _SMALL:
        return ("constant", node.spec, constant.tobytes())
    return None
