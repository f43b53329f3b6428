"""Reverse mode, from graph to graph."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextvars import copy_context
from typing import Any

from lazygraph.errors import GradientError, InternalError, ShapeError
from lazygraph.graph.leaves import SCALAR, VARIABLE, scalar_node
from lazygraph.graph.node import Node
from lazygraph.graph.tensor import Tensor, TensorLike, as_tensor
from lazygraph.graph.var import Var, VarIdentity
from lazygraph.graph.walk import postorder
from lazygraph.ops.conversion import STOP
from lazygraph.ops.spread import broadcast_to, constant, sum_to
from lazygraph.source import describe, inherit

Key = Node | Tensor | Var


class GradientMap(Mapping[Node, Tensor]):
    """The lazy gradient of one scalar with respect to each node that it depends on.

    Look up by `Node`, `Tensor` or `Var`; a Var means its leaf in the graph of this loss. A name
    will do where one Var has it. Nodes that the loss does not depend on through differentiable
    ops are not in it.

    Example:
        >>> import lazygraph as lg
        >>> x = lg.asarray([1.0, 2.0])
        >>> gradients = lg.sum(x * x).backward()
        >>> gradients[x].tolist()
        [2.0, 4.0]
    """

    def __init__(self, gradients: dict[Node, Tensor]) -> None:
        self._gradients = gradients
        self._leaves = _by_identity(gradients)

    def _node(self, key: Any) -> Node | None:
        if isinstance(key, str):
            named = self._named(key)
            return named[0] if len(named) == 1 else None
        if isinstance(key, Var):
            return self._leaves.get(key.identity)
        if isinstance(key, Tensor):
            return key.node
        return key if isinstance(key, Node) else None

    def _named(self, name: str) -> list[Node]:
        return [node for identity, node in self._leaves.items() if identity.name == name]

    def __getitem__(self, key: Key | str) -> Tensor:
        node = self._node(key)
        if node in self._gradients:
            return self._gradients[node]
        if isinstance(key, str) and self._named(key):
            # No KeyError, which `get` would take for a name that is missing.
            raise GradientError(
                f"a name must be that of one Var; got {key!r}, of {len(self._named(key))} Vars"
            )
        raise KeyError(f"the loss must depend on what is looked up; got {_described(key)}")

    def __contains__(self, key: object) -> bool:
        return self._node(key) in self._gradients

    def __iter__(self) -> Iterator[Node]:
        return iter(self._gradients)

    def __len__(self) -> int:
        return len(self._gradients)

    def __repr__(self) -> str:
        names = ", ".join(repr(identity.name) for identity in self._leaves)
        return f"<gradients of {len(self)} nodes; Vars: {names or 'none'}>"


def _described(key: Any) -> str:
    if isinstance(key, str | Var):
        return f"Var {(key if isinstance(key, str) else key.name)!r}"
    node = key.node if isinstance(key, Tensor) else key
    return f"{node!r} of {describe(node.source)}" if isinstance(node, Node) else repr(key)


def backward(loss: Tensor, upstream: Tensor | None = None) -> GradientMap:
    """The gradient map of a loss: of every floating node that it depends on."""
    return GradientMap(copy_context().run(gradients, loss, upstream, None))


def gradients(
    loss: Tensor, upstream: Tensor | None, wanted: Collection[Node] | None
) -> dict[Node, Tensor]:
    """Gradients of `loss`, for `wanted` nodes and those between, or for all.

    The sum over all paths is built in reversed canonical order, so that its bits depend on
    nothing but the structure of the graph.
    """
    if not loss.dtype.is_floating:
        raise GradientError(f"a gradient needs a floating loss; got {loss.node.spec}")
    order = reach(loss)
    _check_versions(order)
    needed = needed_of(order, wanted)
    total: dict[Node, Tensor] = {}
    if loss.node in needed:
        total[loss.node] = _seed(loss, upstream)
    accumulate(order, needed, total)
    return total


def reach(loss: Tensor) -> list[Node]:
    """What gradients can reach, in canonical order.

    Nothing below a stopped gradient: were it realized, nothing would be below it, and sums are
    built in the same order either way.
    """
    return postorder([loss.node], lambda node: node.op is STOP)


def accumulate(order: Sequence[Node], needed: set[Node], total: dict[Node, Tensor]) -> None:
    """Bring gradients from the nodes in `total` to all nodes that are needed.

    Args:
        order: nodes in canonical order.
        needed: those whose gradient is wanted.
        total: the gradients so far; what is found is added.
    """
    for y in reversed(order):
        if y in total and any(x in needed for x in y.inputs):
            for x, share in zip(y.inputs, _pull_back(y, total[y]), strict=True):
                if share is not None and x in needed:
                    with inherit(x.source):
                        share = sum_to(share, x.spec.shape)  # undo broadcasting, once, here
                        total[x] = total[x] + share if x in total else share


def _seed(loss: Tensor, upstream: Tensor | None) -> Tensor:
    if upstream is None:
        if loss.size != 1:
            raise GradientError(
                f"a loss that is not one element needs an upstream; got {loss.node.spec}"
            )
        return constant(1, loss)
    if upstream.shape != loss.shape or upstream.dtype is not loss.dtype:
        raise ShapeError(
            f"upstream must have the loss's spec, {loss.node.spec}; got {upstream.node.spec}"
        )
    return upstream


def needed_of(order: Sequence[Node], wanted: Collection[Node] | None) -> set[Node]:
    """The floating nodes that have a gradient and lead to a wanted one."""
    needed: set[Node] = set()
    for node in order:
        if node.spec.dtype.is_floating and (
            (wanted is None and node.op is not SCALAR)
            or (wanted is not None and node in wanted)
            or any(x in needed for x in node.inputs)
        ):
            needed.add(node)
    return needed


def _pull_back(y: Node, g: Tensor) -> Sequence[Tensor | None]:
    if y.op.gradient is None:
        raise GradientError(
            f"{y.op.name} must have a gradient rule to be differentiated; it has none, and was "
            f"recorded at {describe(y.source)}"
        )
    with inherit(y.source):
        operands = [Tensor(x) for x in y.inputs]
        shares = y.op.gradient(g, Tensor(y), *operands, **y.op.named(y.params))
    if len(shares) != len(y.inputs):
        raise InternalError(f"the gradient rule of {y.op.name} must give one share an operand")
    return shares


def _check_versions(order: Sequence[Node]) -> None:
    leaves: dict[VarIdentity, Node] = {}
    for node in order:
        if node.op is VARIABLE:
            identity: VarIdentity = node.params[0]  # type: ignore[assignment]
            other = leaves.setdefault(identity, node)
            if other is not node:
                raise GradientError(
                    f"a graph must use one version of each Var; got versions {other.params[1]} "
                    f"and {node.params[1]} of {identity.name!r}"
                )


def grad(
    y: Tensor, xs: Any, *, upstream: TensorLike | None = None, missing: str = "raise"
) -> Any:
    """The gradients of `y` with respect to `xs`, lazy and differentiable themselves.

    Args:
        y: a floating tensor; of one element unless `upstream` is given.
        xs: a Node, Tensor or Var, or a list, tuple or dict of them.
        upstream: the gradient with respect to `y`, of its spec.
        missing: what to do about an x that `y` does not depend on: "raise" an error, or "zero".

    Returns:
        A Tensor, or the same container with a Tensor for each entry, each of its x's shape and
        dtype.

    Raises:
        KeyError: `y` does not depend on an x, and `missing` is "raise".
        GradientError: `y` is not floating, needs an upstream, or passes an op without a rule.

    Example:
        >>> import lazygraph as lg
        >>> x = lg.asarray(3.0)
        >>> slope = lg.grad(x * x * x, x)
        >>> slope.item(), lg.grad(slope, x).item()
        (27.0, 18.0)
    """
    if missing not in ("raise", "zero"):
        raise ValueError(f"missing must be 'raise' or 'zero'; got {missing!r}")
    many: Any = list(xs.values()) if isinstance(xs, Mapping) else xs
    single = isinstance(many, Node | Tensor | Var)
    keys: list[Key] = [many] if single else list(many)
    leaves = _by_identity(reach(y)) if any(isinstance(key, Var) for key in keys) else {}
    nodes = [_leaf(key, leaves) for key in keys]
    given = None if upstream is None else as_tensor(upstream, y.dtype)
    found = GradientMap(copy_context().run(gradients, y, given, set(nodes)))
    result = []
    for key, node in zip(keys, nodes, strict=True):
        if missing == "zero" and key not in found:
            spec = node.spec
            result.append(broadcast_to(Tensor(scalar_node(0, spec.dtype)), spec.shape))
        else:
            result.append(found[key])
    if single:
        return result[0]
    if isinstance(xs, Mapping):
        return dict(zip(xs, result, strict=True))
    return type(xs)(result) if isinstance(xs, list | tuple) else result


def _by_identity(nodes: Iterable[Node]) -> dict[Any, Node]:
    """The leaves of Vars among some nodes, by whom they belong to."""
    return {node.params[0]: node for node in nodes if node.op is VARIABLE}


def _leaf(key: Key, leaves: dict[Any, Node]) -> Node:
    if isinstance(key, Var):
        return leaves.get(key.identity) or key.tensor().node
    return key.node if isinstance(key, Tensor) else key
