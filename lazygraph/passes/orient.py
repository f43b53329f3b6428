"""How matrices lie in memory, which decides bits of products, read off the recorded graph.

    matmul(x, permute_dims(w, (1, 0)))  ->  turned_matmul(x, w, turned=(False, True))

A product reads each operand by rows or, where it was recorded as the transpose of something,
by columns; results recorded so are handed out so. Neither depends on where a graph was cut
by realizing a part of it, nor on what later rules make of its views.
"""

from collections.abc import Sequence

from lazygraph.graph.node import Node
from lazygraph.graph.tensor import Tensor, apply
from lazygraph.ops.contraction import TURNED_MATMUL
from lazygraph.ops.conversion import STOP
from lazygraph.ops.turning import is_turned, turned_back
from lazygraph.passes.rewrite import Known, Rule, rule
from lazygraph.source import recording


@rule(on="matmul", says="x @ y.mT -> a product that reads y by columns")
def read_by_columns(node: Node, known: Known) -> Node | None:
    turned = tuple(is_turned(x) for x in node.inputs)
    if not any(turned):
        return None
    a, b = (
        turned_back(x) if t else Tensor(x) for x, t in zip(node.inputs, turned, strict=True)
    )
    return apply(TURNED_MATMUL, a, b, params=(turned,)).node


RULES: tuple[Rule, ...] = (read_by_columns,)


def lay_out_as_recorded(targets: Sequence[Node], roots: Sequence[Node]) -> tuple[Node, ...]:
    """The roots, behind a view where rules changed how the value of the target would lie."""
    return tuple(map(_as_recorded, targets, roots))


def _as_recorded(target: Node, root: Node) -> Node:
    if target.value is not None or is_turned(target) == is_turned(root):
        return root
    token = recording.set((root.scope, root.source))
    try:
        return Tensor(root).mT.mT.node if is_turned(target) else apply(STOP, Tensor(root)).node
    finally:
        recording.reset(token)
