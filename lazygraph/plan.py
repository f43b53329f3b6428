"""Plans: found by the structure of what is asked for, built when there is none."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any, NamedTuple

from lazygraph.autodiff.closures import Recipe
from lazygraph.backends.base import Backend, Program
from lazygraph.backends.native.backend import NativeBackend
from lazygraph.backends.numpy import NumpyBackend
from lazygraph.counters import counters
from lazygraph.graph.leaves import SCALAR, VARIABLE
from lazygraph.graph.node import Node
from lazygraph.locks import lock_across_forks
from lazygraph.passes import pipeline
from lazygraph.passes.rewrite import Known
from lazygraph.settings import Settings, backends, current

BACKENDS: dict[str, Backend] = {"numpy": NumpyBackend(), "native": NativeBackend()}
backends.update({name: backend.missing for name, backend in BACKENDS.items()})
MOST_PLANS = 256
# Stands in a key before the spec of a node that is remembered and yet walked through: without
# it, that spec could be taken for the one of a leaf that follows.
REMEMBERED = "remembered"


class Scan(NamedTuple):
    """What a walk over a graph finds out: all that a look-up needs.

    Attributes:
        key: the structure, hashable; equal keys mean equal computations.
        leaves: the nodes whose values come with the run, in canonical order.
        order: every node, in canonical order.
    """

    key: tuple[Any, ...]
    leaves: list[Node]
    order: dict[Node, int]


def scan(roots: Sequence[Node], through_remembered: bool = False) -> Scan:
    """Walk the graph in canonical order and write its structure down.

    Ops, parameters, sharing and the specs of leaves enter the key; data, names, lines and the
    values of Python scalars do not. A remembered node is a leaf; with `through_remembered` what
    is below it is part of the structure as well, as gradients need it. A value that another
    thread computes while its node is walked through is none of the leaves.
    """
    position: dict[Node, int] = {}
    leaves: list[Node] = []
    key: list[Any] = []
    add = key.append
    opened: list[Node] = []
    stack: list[Node | None] = list(reversed(roots))
    while stack:
        node = stack.pop()
        if node is None:  # all inputs of the node that was opened last are there
            node = opened.pop()
            add(node.op)
            add(node.params)
            for x in node.inputs:
                add(position[x])
            value = node.value if through_remembered else None
        elif node in position:
            continue
        else:
            value = node.value
            if node.inputs and (value is None or through_remembered):
                opened.append(node)
                stack.append(None)
                stack += node.inputs[::-1]
                continue
            if value is None:
                add(node.op)
                add(node.params)
        position[node] = len(position)
        if value is not None:
            leaves.append(node)
            if node.inputs and through_remembered:
                add(REMEMBERED)
            op = node.op
            add(node.spec)
            # Only these may be laid out otherwise than row by row.
            add(op if op is SCALAR or op is VARIABLE else value.strides)
    key.append(tuple([position[root] for root in roots]))
    return Scan(tuple(key), leaves, position)


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """A program for a structure, and the values that it took for granted.

    Attributes:
        program: the compiled steps.
        guards: positions of leaves and the bits that the plan relies on.
        opaque: positions of Python scalars whose values it did not look at.
        counts: for each pass, how often each of its rules fired.
        note: what the caller that derived the targets wants to know of them in each run.
    """

    program: Program
    guards: tuple[tuple[int, bytes], ...]
    opaque: frozenset[int]
    counts: Mapping[str, Mapping[str, int]]
    note: Any = None

    def broken(self, leaves: Sequence[Node]) -> list[int]:
        """The positions of guarded scalars that have another value now."""
        return [i for i, bits in self.guards if leaves[i].value.tobytes() != bits]  # type: ignore[union-attr]


# A scan's key, what else the plan depends on, and the settings that it was built under.
Key = tuple[tuple[Any, ...], Hashable, Settings]


class PlanCache:
    """The most recently used plans. Full keys are compared; a hash only picks the bucket."""

    def __init__(self) -> None:
        self._plans: OrderedDict[Key, Plan] = OrderedDict()
        self._lock = lock_across_forks()

    def get(self, key: Key) -> Plan | None:
        """The plan for the key, which becomes the most recently used."""
        with self._lock:
            plan = self._plans.get(key)
            if plan is not None:
                self._plans.move_to_end(key)
            return plan

    def put(self, key: Key, plan: Plan) -> None:
        """Keep a plan; the least recently used one may have to go."""
        with self._lock:
            self._plans[key] = plan
            self._plans.move_to_end(key)
            while len(self._plans) > MOST_PLANS:
                self._plans.popitem(last=False)

    def keys(self) -> list[Key]:
        """The keys, least recently used first."""
        with self._lock:
            return list(self._plans)


cache = PlanCache()


def cache_key(found: Scan, key: Hashable) -> Key:
    """What a plan for a scan is kept under, with the settings in force."""
    return found.key, key, current()


Derive = Callable[[], tuple[Sequence[Node], dict[Node, int], Any]]


def plan_for(found: Scan, key: Hashable, derive: Derive) -> Plan:
    """The cached plan for a key, or a new one.

    Args:
        found: the scan of the roots.
        key: the scan's key and whatever else the plan depends on.
        derive: gives the nodes to compute, their slots and a note; called only to build a plan.
    """
    whole = cache_key(found, key)
    plan = cache.get(whole)
    opaque: frozenset[int] = frozenset()
    if plan is not None:
        broken = plan.broken(found.leaves)
        if not broken:
            counters.plan_hits += 1
            return plan
        opaque = plan.opaque.union(broken)
    plan = build(found, opaque, derive)
    if _comes_again(found):
        cache.put(whole, plan)
    return plan


def _comes_again(found: Scan) -> bool:
    """Whether an equal key is possible: not with a function unsure of what it depends on."""
    tuples = (params for params in found.key if type(params) is tuple)
    return not any(isinstance(x, Recipe) and x.unsure for params in tuples for x in params)


def build(found: Scan, opaque: frozenset[int], derive: Derive) -> Plan:
    """A new plan: derive, run the passes, compile.

    All of it happens in a copy of the context, so that an interrupt anywhere leaves no trace of
    the lines and scopes that derived nodes take over.
    """
    return copy_context().run(_built, found, opaque, derive)


def _built(found: Scan, opaque: frozenset[int], derive: Derive) -> Plan:
    settings = current()
    backend = BACKENDS[settings.backend]
    targets, slots, note = derive()
    known = Known(slots, opaque)
    roots = pipeline.run(targets, known, backend.evaluate, settings.verify)
    # Derived and rewritten nodes share the very line object of the node that they stem from.
    positions = {id(node.source): i for node, i in found.order.items()}
    program = backend.compile(roots, slots, lambda node: positions.get(id(node.source), -1))
    counters.plans_built += 1
    return Plan(program, tuple(known.guards.items()), opaque, known.counts, note)
