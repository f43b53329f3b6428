"""Realization: the only place where values appear."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from lazygraph.counters import counters
from lazygraph.dtypes import as_dtype
from lazygraph.errors import RealizationError
from lazygraph.graph.blame import noted
from lazygraph.graph.leaves import PLACEHOLDER
from lazygraph.graph.node import Node, Value
from lazygraph.graph.spec import Spec
from lazygraph.graph.tensor import Tensor
from lazygraph.graph.var import Var
from lazygraph.plan import Plan, Scan, plan_for, scan
from lazygraph.source import describe

_forbidden: ContextVar[bool] = ContextVar("forbidden", default=False)


@contextmanager
def no_realize() -> Iterator[None]:
    """Inside, whatever would compute a value raises RealizationError.

    Example:
        >>> import lazygraph as lg
        >>> x = lg.asarray([1.0]) + 1
        >>> with lg.no_realize():
        ...     x.item()
        Traceback (most recent call last):
        lazygraph.errors.RealizationError: nothing may be computed inside no_realize; ...
    """
    token = _forbidden.set(True)
    try:
        yield
    finally:
        _forbidden.reset(token)


def _check_allowed(node: Node | None) -> None:
    if _forbidden.get():
        what = "a step" if node is None else str(node.spec)
        message = f"nothing may be computed inside no_realize; got a request for {what}"
        raise noted(RealizationError(message), *([] if node is None else [node]))


def realize_nodes(nodes: Sequence[Node]) -> None:
    """Compute and remember the values of nodes, in one evaluation."""
    targets = list(dict.fromkeys([node for node in nodes if node.value is None]))
    if not targets:
        return
    _check_allowed(targets[0])
    found = scan(targets)

    def derive() -> tuple[Sequence[Node], dict[Node, int], Any]:
        return targets, {leaf: i for i, leaf in enumerate(found.leaves)}, None

    plan = plan_for(found, None, derive)
    for node, value in zip(targets, _run(plan, found, ()), strict=True):
        node.value = value


def _run(plan: Plan, found: Scan, extra: Sequence[Value]) -> list[Value]:
    values: list[Any] = [leaf.value for leaf in found.leaves]
    values += extra

    def locate(position: int) -> str:
        return describe(list(found.order)[position].source)

    counters.realizations += 1
    program = plan.program
    result = program.run(values, locate)
    used = program.arena_bytes + program.result_bytes
    if used > counters.peak_bytes:
        counters.peak_bytes = used
    return result


def realize(*tensors: Any) -> None:
    """Compute several tensors in one evaluation, in which what they share runs once.

    Args:
        *tensors: Tensors, and lists, tuples, dicts or other mappings of them, nested as you
            like; Vars, numbers and None in them are passed over.

    Raises:
        RealizationError: inside `no_realize`.
        BoundsError: an index that points outside, with the line that recorded it.

    Example:
        >>> import lazygraph as lg
        >>> x = lg.asarray([1.0, 2.0])
        >>> a, b = x + 1, {"twice": x * 2}
        >>> lg.realize(a, b)
        >>> b["twice"]
        Tensor(float32[2] = [2. 4.])
    """
    realize_nodes([tensor.node for tensor in _flat(tensors)])


def _flat(container: Any) -> Iterator[Tensor]:
    waiting = [container]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Tensor):
            yield item
        elif isinstance(item, Mapping):
            waiting.extend(reversed(list(item.values())))
        elif isinstance(item, list | tuple | set | frozenset):
            waiting.extend(reversed(list(item)))
        elif not (item is None or isinstance(item, Var | bool | int | float)):
            raise TypeError(f"realize takes tensors and containers of them; got {item!r}")


Derived = tuple[Sequence[Tensor], Any]


def realize_derived(
    found: Scan,
    derive: Callable[[Sequence[Tensor]], Derived],
    inputs: Sequence[Value],
    key: Hashable,
    remember: Sequence[Tensor] = (),
) -> tuple[list[Value], Any]:
    """Compute a graph that is a function of another graph, in one evaluation.

    If a plan for the scanned structure and for `key` exists, it is run with the present leaves
    and inputs, and `derive` is not called: a training step builds its backward and update nodes
    once.

    Args:
        found: the recorded graph, as `scan` with `through_remembered` saw it.
        derive: from one tensor for each input to the tensors wanted, and a note on them. What
            it does may depend on nothing but the structure of the recorded graph, and on `key`.
            It may use the nodes of that graph, and differentiate them.
        inputs: values that are not part of that graph.
        key: everything else that `derive` depends on, the specs of the inputs included.
        remember: tensors of the recorded graph to compute and remember in the same evaluation.

    Returns:
        A value for each tensor that `derive` gave, which nobody will change, and its note.

    Raises:
        RealizationError: inside `no_realize`.
    """
    _check_allowed(None)
    # A remembered tensor is known by its position, since its graph may be another one next
    # time.
    whole = (key, tuple([found.order[t.node] for t in remember]))

    def derived() -> tuple[Sequence[Node], dict[Node, int], Any]:
        slots = {leaf: i for i, leaf in enumerate(found.leaves)}
        placeholders = []
        for value in inputs:
            spec = Spec(value.shape, as_dtype(value.dtype))
            placeholders.append(Node(PLACEHOLDER, (), (), spec))
            slots[placeholders[-1]] = len(slots)
        targets, note = derive([Tensor(node) for node in placeholders])
        return [target.node for target in (*remember, *targets)], slots, note

    plan = plan_for(found, whole, derived)
    values = _run(plan, found, inputs)
    for tensor, value in zip(remember, values, strict=False):
        if tensor.node.value is None:
            tensor.node.value = value
    return values[len(remember) :], plan.note
