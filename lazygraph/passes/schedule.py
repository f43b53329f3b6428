"""The order in which a program computes a graph: what needs little before what needs much."""

from collections.abc import Callable, Sequence

from lazygraph.graph.node import Node
from lazygraph.graph.op import Kind
from lazygraph.graph.walk import postorder


def shallow_first(roots: Sequence[Node], is_leaf: Callable[[Node], bool]) -> list[Node]:
    """Every node that `roots` reach, inputs first; of two ways, the shorter one first.

    The gradient of a weight is then computed as soon as the backward pass has come to its
    layer, and what it reads can be given up. In the order of the roots, the first layer's
    gradient would come first, and all others after it. A root that another root needs is
    computed when that one is: the moments of a weight beside the new weight. What is made of
    leaves alone by pointwise steps, such as a weight that decays, waits for what it is combined
    with: until then its leaves take no memory of the run.

    Args:
        roots: where the walk starts.
        is_leaf: nodes for which it is true are listed, but their inputs are not visited.

    Returns:
        The nodes; each stands after all of its inputs that are listed.
    """
    rank: dict[Node, tuple[bool, int]] = {}
    needed: set[Node] = set()
    for node in postorder(roots, is_leaf):
        inputs = () if is_leaf(node) else node.inputs
        can_wait = not inputs or (
            node.op.kind is Kind.POINTWISE and all(rank[x][0] for x in inputs)
        )
        rank[node] = can_wait, 1 + max([rank[x][1] for x in inputs], default=0)
        needed.update(inputs)
    last = [root for root in roots if root not in needed]
    return postorder(last, is_leaf, rank.__getitem__)
