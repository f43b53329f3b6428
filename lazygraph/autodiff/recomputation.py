"""Values that are computed again for the gradient instead of being kept for it."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from lazygraph.autodiff.reverse import accumulate, needed_of
from lazygraph.counters import counters, next_id
from lazygraph.graph.leaves import SCALAR
from lazygraph.graph.node import Node
from lazygraph.graph.op import Coerce, Kind, Sample
from lazygraph.graph.tensor import Tensor, apply
from lazygraph.graph.walk import postorder
from lazygraph.ops.record import define
from lazygraph.ops.turning import is_turned
from lazygraph.passes.rewrite import rebuilt


def checkpoint(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The function, whose inner values are not kept for the gradient but computed again.

    Less memory for more time: of a call only what goes in and what comes out lives until the
    gradient is computed, which then begins with another forward pass of this call. Values and
    gradients are the same in every bit, those of random numbers too. Tensors that the function
    makes inside cannot be looked up in a gradient map; Vars that it uses can.

    Args:
        function: from anything to one tensor; a module will do.

    Returns:
        A function of the same arguments.

    Raises:
        TypeError: when called, if the function does not return a tensor.

    Example:
        >>> import lazygraph as lg
        >>> x = lg.asarray([0.5, 2.0])
        >>> y = lg.checkpoint(lambda x: lg.exp(lg.sin(x)))(x)
        >>> y.backward(lg.ones((2,)))[x].tolist() == (lg.cos(x) * lg.exp(lg.sin(x))).tolist()
        True
    """

    @functools.wraps(function, updated=())
    def recomputed(*args: Any, **options: Any) -> Tensor:
        first = next_id()
        counters.ids_read += 1
        y = function(*args, **options)
        if not isinstance(y, Tensor):
            raise TypeError(f"a function for checkpoint must return one tensor; got {y!r}")
        if y.node.id < first:
            return y
        return apply(CHECKPOINT, y, *map(Tensor, _boundary(y.node, first)))

    return recomputed


def _boundary(y: Node, first: int) -> list[Node]:
    """What a call has read: nodes that are older, and leaves that it made, but no scalars."""

    def is_outside(node: Node) -> bool:
        return node.id < first or not node.inputs

    return [x for x in postorder([y], is_outside) if is_outside(x) and x.op is not SCALAR]


def _shares(g: Tensor, y: Tensor, value: Tensor, *boundary: Tensor) -> list[Tensor | None]:
    stand_ins = [_waiting(x, g).node for x in boundary]
    copies = {x.node: stand_in for x, stand_in in zip(boundary, stand_ins, strict=True)}
    inner = [x for x in postorder([value.node], copies.__contains__) if x not in copies]
    for node in inner:
        inputs = tuple([copies[x] for x in node.inputs])
        copies[node] = rebuilt(node, inputs) if inputs else node
    order = [*stand_ins, *(copies[node] for node in inner)]
    total = {copies[value.node]: g}
    accumulate(order, needed_of(order, set(stand_ins)), total)
    return [None, *(total.get(x) for x in stand_ins)]


def _waiting(x: Tensor, g: Tensor) -> Tensor:
    """`x` for the second forward pass, or itself if it lies by columns, which a view hides."""
    return x if is_turned(x.node) else apply(AFTER, x, g)


# The value of a call of a checkpointed function, with all that the call has read.
CHECKPOINT = define(
    "checkpoint",
    infer=lambda value, *boundary: value,
    evaluate=lambda value, *boundary: value[...],
    gradient=_shares,
    kind=Kind.VIEW,
    coerce=Coerce.NONE,
    # Integers, since the value has no history that could be run again.
    samples=lambda rng: [Sample((np.arange(6).reshape(2, 3), np.arange(2)))],
)

# An operand that is not to be used before the gradient is there: whatever is computed from it
# differs, for `share`, from what was computed in the forward pass, and comes later.
AFTER = define(
    "after",
    infer=lambda x, other: x,
    evaluate=lambda x, *_: x[...],
    gradient=lambda g, y, x, other: [g, None],
    kind=Kind.VIEW,
    coerce=Coerce.NONE,
    samples=lambda rng: [Sample((rng.standard_normal((2, 3)), rng.standard_normal((4,))))],
)
