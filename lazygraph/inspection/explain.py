"""The plan that a realization would use: how it came about, what it runs, what it costs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from operator import eq
from typing import Any

import numpy as np

from lazygraph.graph.node import Node
from lazygraph.graph.spec import Spec
from lazygraph.graph.walk import postorder
from lazygraph.inspection.picture import nodes_of
from lazygraph.inspection.structure import differences
from lazygraph.plan import Plan, Scan, cache, cache_key, plan_for, scan
from lazygraph.settings import Settings, current
from lazygraph.source import Places, describe

_MOST_STEPS = 60  # printed; all are in the field


@dataclass(frozen=True, slots=True)
class ExplainedStep:
    """One step of a plan, and the user's line that it stems from.

    Attributes:
        name: the op, or "copy" where an operand had to be made contiguous.
        spec: what it computes.
        where: "arena", "result", "in place" or "view".
        node: the number in `listing` of the node that it stems from, or None.
        line: the line that recorded that node, or "".
    """

    name: str
    spec: Spec
    where: str
    node: int | None
    line: str


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """What realizing some targets would do; `print` it.

    Attributes:
        pending: how many targets have to be computed.
        remembered: how many have their value already and need no plan.
        cached: whether a plan was there already.
        difference: why none was, in words; "" if one was, or none is needed.
        backend: the name of the backend that runs the plan.
        passes: for each pass, in order, its name and how often each of its rules fired.
        steps: what is run, in order.
        guarded: how many Python scalars must keep their values for the plan to fit.
        arena_bytes: memory for what is computed on the way.
        result_bytes: memory for what is handed out.
    """

    pending: int
    remembered: int
    cached: bool
    difference: str
    backend: str
    passes: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
    steps: tuple[ExplainedStep, ...]
    guarded: int
    arena_bytes: int
    result_bytes: int

    @property
    def peak_bytes(self) -> int:
        """The memory that the realization will take."""
        return self.arena_bytes + self.result_bytes

    def __repr__(self) -> str:
        return f"<explanation: {self._head()}>"

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _head(self) -> str:
        if not self.pending:
            return "no plan is needed"
        return f"{'a cached' if self.cached else 'a new'} plan on the backend {self.backend!r}"

    def _lines(self) -> Iterator[str]:
        yield self._head()
        yield f"targets: {self.pending} to compute, {self.remembered} remembered already"
        if not self.pending:
            return
        if self.difference:
            yield f"no cached plan fitted: {self.difference}"
        yield "passes:"
        for name, fired in self.passes:
            yield f"  {name}" + ("" if fired else ": nothing to do")
            yield from (f"    {says}  ({count})" for says, count in fired)
        yield f"Python scalars whose values the plan relies on: {self.guarded}"
        yield (
            f"memory: {self.peak_bytes:,} bytes, {self.arena_bytes:,} of them on the way and "
            f"{self.result_bytes:,} for results"
        )
        yield f"steps: {len(self.steps)}"
        yield from _table(self.steps)


def _table(steps: Sequence[ExplainedStep]) -> Iterator[str]:
    shown = list(steps[:_MOST_STEPS])
    rows = [(step.name, str(step.spec), step.where) for step in shown]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for step, row in zip(shown, rows, strict=True):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        origin = "" if step.node is None else f"%{step.node}  {step.line}"
        yield "  ".join(["", *cells, origin]).rstrip()
    if len(steps) > len(shown):
        yield f"  and {len(steps) - len(shown)} more steps"


def explain(*targets: Any) -> Explanation:
    """The plan that realizing the targets together would use.

    No target is computed, only what the passes find to be constant. A plan that has to be built
    for it is kept, so that the realization finds it: what is explained is what will run.

    Args:
        *targets: as for `listing`.

    Returns:
        The explanation: print it, or read its fields.

    Raises:
        TypeError: a target is something else.

    Example:
        >>> import lazygraph as lg
        >>> x = lg.asarray([1.0, 2.0])
        >>> dict(lg.explain(lg.tanh(x * 1.0)).passes)["simplify"]
        (('x * 1 -> x', 1),)
    """
    nodes = list(dict.fromkeys(nodes_of(targets)))
    pending = [node for node in nodes if node.value is None]
    remembered = len(nodes) - len(pending)
    backend = current().backend
    if not pending:
        return Explanation(0, remembered, False, "", backend, (), (), 0, 0, 0)
    number = {node: i for i, node in enumerate(postorder(nodes))}
    found = scan(pending)
    plan, difference = _plan(found, pending, number)
    return Explanation(
        len(pending),
        remembered,
        not difference,
        difference,
        backend,
        tuple((name, tuple(sorted(fired.items()))) for name, fired in plan.counts.items()),
        tuple(_steps(plan, found, number)),
        len(plan.guards),
        plan.program.arena_bytes,
        plan.program.result_bytes,
    )


def _plan(found: Scan, pending: list[Node], number: dict[Node, int]) -> tuple[Plan, str]:
    """The plan for a realization, and why there was none: "" if there was."""
    plan = cache.get(cache_key(found, None))
    broken = [] if plan is None else plan.broken(found.leaves)
    if plan is not None and not broken:
        return plan, ""
    if plan is None:
        difference = _difference(found, number)
    else:
        difference = _changes(plan, broken, found, number)
    slots = {leaf: i for i, leaf in enumerate(found.leaves)}
    return plan_for(found, None, lambda: (pending, slots, None)), difference


def _changes(plan: Plan, broken: list[int], found: Scan, number: dict[Node, int]) -> str:
    bits = dict(plan.guards)
    words = []
    for i in broken:
        leaf = found.leaves[i]
        old = np.frombuffer(bits[i], leaf.spec.dtype.dtype)[0]
        words.append(f"the Python scalar %{number[leaf]} is {leaf.value} instead of {old}")
    return f"{', '.join(words)}; the new plan holds for any value of it"


def _difference(found: Scan, number: dict[Node, int]) -> str:
    """What differs from the cached plan whose key is most like this one."""
    now = current()
    keys = cache.keys()[::-1]  # of equally close ones, the one used last
    rest = [(key, settings) for key, extra, settings in keys if extra is None]
    if not rest:
        return "there is none for a realization yet"

    def likeness(candidate: tuple[tuple[Any, ...], Settings]) -> tuple[float, bool]:
        key, settings = candidate
        return sum(map(eq, key, found.key)) / max(len(key), len(found.key)), settings == now

    key, settings = max(rest, key=likeness)
    words = [] if key == found.key else differences(found, key, number)
    return "; ".join([*words, *_settings(now, settings)])


def _settings(new: Settings, old: Settings) -> Iterator[str]:
    for field in fields(Settings):
        ours, theirs = getattr(new, field.name), getattr(old, field.name)
        if ours != theirs:
            yield f"the setting {field.name} is {ours!r} instead of {theirs!r}"


def _steps(plan: Plan, found: Scan, number: dict[Node, int]) -> Iterator[ExplainedStep]:
    order = list(found.order)
    places = Places()
    for step in plan.program.steps:
        node = order[step.origin] if step.origin >= 0 else None
        line = "" if node is None else describe(places[node.source], with_text=False)
        position = None if node is None else number[node]
        yield ExplainedStep(step.name, step.spec, step.where, position, line)
