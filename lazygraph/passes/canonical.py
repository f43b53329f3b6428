"""One form for what can be written in several ways, so that later rules have one case each."""

import math

from lazygraph.graph.leaves import SCALAR
from lazygraph.graph.node import Node
from lazygraph.graph.tensor import Tensor, apply
from lazygraph.ops.arithmetic import add, subtract
from lazygraph.ops.contraction import TURNED_MATMUL, matmul
from lazygraph.ops.layout import reshape
from lazygraph.passes.rewrite import Known, Rule, rebuilt, rule


@rule(on="", says="c op x -> x op c, where op commutes")
def scalar_last(node: Node, known: Known) -> Node | None:
    if node.op.commutes:
        a, b = node.inputs
        if a.op is SCALAR and b.op is not SCALAR:
            return rebuilt(node, (b, a))
    return None


@rule(on="add", says="x + -y -> x - y")
def add_negative(node: Node, known: Known) -> Node | None:
    x, y = node.inputs
    if y.op.name == "negative" and y.value is None:
        return subtract(Tensor(x), Tensor(y.inputs[0])).node
    if x.op.name == "negative" and x.value is None:
        return subtract(Tensor(y), Tensor(x.inputs[0])).node
    return None


@rule(on="subtract", says="x - -y -> x + y")
def subtract_negative(node: Node, known: Known) -> Node | None:
    x, y = node.inputs
    if y.op.name == "negative" and y.value is None:
        return add(Tensor(x), Tensor(y.inputs[0])).node
    return None


@rule(on="matmul", says="(..., m, k) @ (k, n) -> one product of (... m, k)")
def one_tall_product(node: Node, known: Known) -> Node | None:
    a, b = node.inputs
    if len(a.spec.shape) > 2 and len(b.spec.shape) == 2:
        return reshape(matmul(_tall(a), Tensor(b)), node.spec.shape).node
    return None


@rule(on="turned_matmul", says="(..., m, k) @ (n, k).mT -> one product of (... m, k)")
def one_tall_turned_product(node: Node, known: Known) -> Node | None:
    a, b = node.inputs
    if len(a.spec.shape) > 2 and len(b.spec.shape) == 2 and node.params == ((False, True),):
        tall = apply(TURNED_MATMUL, _tall(a), Tensor(b), params=node.params)
        return reshape(tall, node.spec.shape).node
    return None


def _tall(x: Node) -> Tensor:
    return reshape(Tensor(x), (math.prod(x.spec.shape[:-1]), x.spec.shape[-1]))


RULES: tuple[Rule, ...] = (
    scalar_last,
    add_negative,
    subtract_negative,
    one_tall_product,
    one_tall_turned_product,
)
