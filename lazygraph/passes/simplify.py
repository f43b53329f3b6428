"""Identities that are exact for every value: NaN, infinities and -0.0 included.

Not here: `x + 0 -> x` (it loses the sign of -0.0 + 0.0), `x * 0 -> 0` (NaN, infinity),
`x / x -> 1` (0, NaN, infinity), `x / c -> x * (1 / c)` (rounds twice), `exp(log(x)) -> x`.
"""

from lazygraph.dtypes import float32, float64
from lazygraph.graph.node import Node
from lazygraph.graph.op import Kind
from lazygraph.graph.tensor import Tensor, apply
from lazygraph.ops.layout import permute_dims, reshape
from lazygraph.ops.spread import broadcast_to
from lazygraph.passes.rewrite import Known, Rule, rebuilt, rule


def _neutral(node: Node, known: Known, number: float) -> Node | None:
    x, c = node.inputs
    if x.spec == node.spec and known.is_scalar(c, number):
        return x  # only if the op neither broadcast nor promoted x
    return None


@rule(on="multiply", says="x * 1 -> x")
def multiply_by_one(node: Node, known: Known) -> Node | None:
    return _neutral(node, known, 1.0)


@rule(on="divide", says="x / 1 -> x")
def divide_by_one(node: Node, known: Known) -> Node | None:
    return _neutral(node, known, 1.0)


@rule(on="subtract", says="x - 0 -> x")
def subtract_zero(node: Node, known: Known) -> Node | None:
    return _neutral(node, known, 0.0)  # +0.0 only: -0.0 - -0.0 is +0.0


@rule(on="add", says="x + -0.0 -> x")
def add_negative_zero(node: Node, known: Known) -> Node | None:
    return _neutral(node, known, -0.0) if node.spec.dtype.is_floating else None


@rule(on="negative", says="--x -> x")
def negative_twice(node: Node, known: Known) -> Node | None:
    (x,) = node.inputs
    return x.inputs[0] if x.op.name == "negative" and x.value is None else None


@rule(on="where", says="where(c, x, x) -> x")
def same_branches(node: Node, known: Known) -> Node | None:
    _, a, b = node.inputs
    return a if a is b and a.spec == node.spec else None


@rule(on="reshape", says="reshape of a reshape -> one reshape")
def reshape_twice(node: Node, known: Known) -> Node | None:
    (x,) = node.inputs
    if x.spec.shape == node.spec.shape:
        return x
    if x.op.name == "reshape" and x.value is None:
        return reshape(Tensor(x.inputs[0]), node.spec.shape).node
    return None


@rule(on="permute_dims", says="permutation of a permutation -> one permutation")
def permute_twice(node: Node, known: Known) -> Node | None:
    (x,) = node.inputs
    if x.op.name != "permute_dims" or x.value is not None:
        return None
    outer, inner = node.op.named(node.params)["axes"], x.op.named(x.params)["axes"]
    return permute_dims(Tensor(x.inputs[0]), tuple(inner[axis] for axis in outer)).node


@rule(on="broadcast_to", says="broadcast of a broadcast -> one broadcast")
def broadcast_twice(node: Node, known: Known) -> Node | None:
    (x,) = node.inputs
    if x.spec.shape == node.spec.shape:
        return x
    if x.op.name == "broadcast_to" and x.value is None:
        return broadcast_to(Tensor(x.inputs[0]), node.spec.shape).node
    return None


@rule(on="astype", says="float32 -> float64 -> float32 changes nothing")
def widen_and_narrow(node: Node, known: Known) -> Node | None:
    (x,) = node.inputs
    if node.spec.dtype is float32 and x.op.name == "astype" and x.value is None:
        origin = x.inputs[0]
        if origin.spec.dtype is float32 and x.spec.dtype is float64:
            return origin
    return None


@rule(on="", says="f(broadcast x) -> broadcast f(x), where f is pointwise")
def compute_before_broadcast(node: Node, known: Known) -> Node | None:
    if node.op.kind is not Kind.POINTWISE:
        return None
    sources, stretched = [], False
    for x in node.inputs:
        if x.op.name == "broadcast_to" and x.value is None and x.spec.shape == node.spec.shape:
            sources.append(x.inputs[0])
            stretched = True
        elif x.spec.shape == ():
            sources.append(x)
        else:
            return None
    if not stretched or len({s.spec.shape for s in sources} - {()}) > 1:
        return None
    small = apply(node.op, *map(Tensor, sources), params=node.params)
    return broadcast_to(small, node.spec.shape).node


@rule(on="", says="f(x, broadcast y) -> f(x, y), where f is pointwise and x as large")
def leave_broadcasting_to_the_op(node: Node, known: Known) -> Node | None:
    if node.op.kind is not Kind.POINTWISE or len(node.inputs) < 2:
        return None
    inputs = list(node.inputs)
    for i, x in enumerate(inputs):
        others = (y.spec.shape == node.spec.shape for j, y in enumerate(inputs) if j != i)
        if x.op.name == "broadcast_to" and x.value is None and any(others):
            inputs[i] = x.inputs[0]
    if inputs == list(node.inputs):
        return None
    return rebuilt(node, tuple(inputs))


RULES: tuple[Rule, ...] = (
    multiply_by_one,
    divide_by_one,
    subtract_zero,
    add_negative_zero,
    negative_twice,
    same_branches,
    reshape_twice,
    permute_twice,
    broadcast_twice,
    widen_and_narrow,
    compute_before_broadcast,
    leave_broadcasting_to_the_op,
)
