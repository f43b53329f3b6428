"""Realization: the only place where values appear."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from lazygraph.counters import counters
from lazygraph.dtypes import as_dtype
from lazygraph.errors import RealizationError
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
        lazygraph.errors.RealizationError: nothing may be computed inside no_realize; got a request for float32[1]
    """
    token = _forbidden.set(True)
    try:
        yield
    finally:
        _forbidden.reset(token)


def _check_allowed(node: Node | None) -> None:
    if _forbidden.get():
        what = "a step" if node is None else str(node.spec)
        error = RealizationError(
            f"nothing may be computed inside no_realize; got a request for {what}"
        )
        if node is not None:
            error.add_note(f"  {node.spec} built at {describe(node.source)}")
        raise error


def realize_nodes(nodes: Sequence[Node]) -> None:
    """Compute and remember the values of nodes, in one evaluation."""
    targets = list(dict.fromkeys([node for node in nodes if node.value is None]))
    if not targets:
        return
    _check_allowed(targets[0])
    found = scan(targets)

    def derive() -> tuple[Sequence[Node], dict[Node, int]]:
        return targets, {leaf: i for i, leaf in enumerate(found.leaves)}

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
        *tensors: Tensors, and lists, tuples, dicts or other mappings of them, nested as you like; Vars,
            numbers and None in them are passed over.

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


Placeholders = Sequence[Tensor]


def realize_derived(
    derive: Callable[[Placeholders], Sequence[Tensor]],
    roots: Sequence[Tensor],
    inputs: Sequence[Value],
    key: Hashable,
) -> list[Value]:
    """Compute a graph that is a function of another graph, in one evaluation.

    If a plan for the structure of `roots` and for `key` exists, it is run with the present leaves and
    inputs, and `derive` is not called: a training step builds its backward and update nodes once.

    Args:
        derive: from one tensor for each input to the tensors wanted. What it does may depend on
            nothing but the structure of the graph of `roots`, and on `key`.
        roots: the recorded graph. Its nodes may be used, and differentiated, in `derive`.
        inputs: values that are not part of that graph.
        key: everything else that `derive` depends on, the specs of the inputs included.

    Returns:
        A value for each tensor that `derive` gave; nobody will change it.
    """
    _check_allowed(None)
    found = scan([root.node for root in roots], through_remembered=True)

    def derived() -> tuple[Sequence[Node], dict[Node, int]]:
        slots = {leaf: i for i, leaf in enumerate(found.leaves)}
        placeholders = []
        for value in inputs:
            spec = Spec(value.shape, as_dtype(value.dtype))
            placeholders.append(Node(PLACEHOLDER, (), (), spec))
            slots[placeholders[-1]] = len(slots)
        targets = derive([Tensor(node) for node in placeholders])
        return [target.node for target in targets], slots

    return _run(plan_for(found, (key,), derived), found, inputs)
