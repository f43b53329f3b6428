"""The driver of rewriting rules, and what rules may know of values."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from lazygraph.errors import InternalError
from lazygraph.graph.leaves import SCALAR
from lazygraph.graph.node import Node, Value
from lazygraph.graph.walk import postorder
from lazygraph.source import recording

_MOST_SWEEPS = 16


@dataclass
class Known:
    """What a plan may know of values when it is built, and what it did make use of.

    Attributes:
        slots: the leaves whose values come anew at each run, with their positions. All other
            leaves are constants of the plan.
        opaque: positions of Python scalars whose values must not be used, since they have
            changed.
        guards: positions and bits of the Python scalars whose values were used.
        counts: for each pass, how often each of its rules fired.
    """

    slots: dict[Node, int]
    opaque: frozenset[int] = frozenset()
    guards: dict[int, bytes] = field(default_factory=dict)
    counts: dict[str, Counter[str]] = field(default_factory=dict)
    _firing: Counter[str] = field(default_factory=Counter)

    def begin(self, name: str) -> None:
        """From now on rules fire in the pass of that name."""
        self._firing = self.counts.setdefault(name, Counter())

    def fired(self, says: str) -> None:
        """Count one application of a rule."""
        self._firing[says] += 1

    def is_constant(self, node: Node) -> bool:
        """Whether the node is a leaf with the same value in every run of the plan."""
        return node.value is not None and not node.inputs and node not in self.slots

    def is_leaf(self, node: Node) -> bool:
        """Whether the plan takes the value of a node as given.

        What is remembered is so if it was when the graph was scanned; a value that another
        thread has computed since is not part of the plan.
        """
        return node in self.slots or self.is_constant(node)

    def scalar(self, node: Node) -> Value | None:
        """The value of a Python scalar's leaf, unless it is opaque. Using it needs `guard`."""
        if node.op is not SCALAR or self.slots.get(node) in self.opaque:
            return None
        return node.value

    def guard(self, node: Node) -> None:
        """Declare that the plan is right only while the scalar keeps its value."""
        if node in self.slots and node.value is not None:
            self.guards[self.slots[node]] = node.value.tobytes()

    def is_scalar(self, node: Node, number: float) -> bool:
        """Whether the leaf holds this number, sign of zero included; guards it if so."""
        value = self.scalar(node)
        if value is None or value.tobytes() != value.dtype.type(number).tobytes():
            return False
        self.guard(node)
        return True


Replacement = Callable[[Node, Known], Node | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """An identity between graphs.

    Attributes:
        on: the name of the op that it looks at; "" for every op.
        says: the identity, as traces and documentation show it.
        replace: gives the replacement of a node, or None.
    """

    on: str
    says: str
    replace: Replacement


def rule(on: str, says: str) -> Callable[[Replacement], Rule]:
    """Make a rule of a function; see `Rule`."""
    return lambda replace: Rule(on, says, replace)


def rebuilt(node: Node, inputs: tuple[Node, ...]) -> Node:
    """The node over other inputs of the same specs, with its line and scope."""
    token = recording.set((node.scope, node.source))
    try:
        return Node(node.op, inputs, node.params, node.spec)
    finally:
        recording.reset(token)


def transform(
    roots: Sequence[Node], replace: Callable[[Node], Node], known: Known
) -> tuple[Node, ...]:
    """Rebuild a graph bottom-up: each node over its new inputs, then through `replace`."""
    new: dict[Node, Node] = {}
    for node in postorder(roots, known.slots.__contains__):
        current = node
        if node.inputs and node not in known.slots:
            inputs = tuple([new[x] for x in node.inputs])
            if any(a is not b for a, b in zip(inputs, node.inputs, strict=True)):
                current = rebuilt(node, inputs)
        new[node] = replace(current)
    return tuple(new[root] for root in roots)


def apply_rules(roots: Sequence[Node], rules: Iterable[Rule], known: Known) -> tuple[Node, ...]:
    """Apply rules to every node, inputs first, until none fires there."""
    by_op: dict[str, list[Rule]] = {}
    everywhere = [r for r in rules if not r.on]
    for r in rules:
        if r.on:
            by_op.setdefault(r.on, []).append(r)

    def replace(node: Node) -> Node:
        for _ in range(_MOST_SWEEPS):
            if known.is_leaf(node):
                return node
            found = _first(node, (*by_op.get(node.op.name, ()), *everywhere), known)
            if found is None:
                return node
            node = found
        raise InternalError(f"rules on {node.op.name} undo one another; fired: {known.counts}")

    return transform(roots, replace, known)


def _first(node: Node, rules: Iterable[Rule], known: Known) -> Node | None:
    token = recording.set((node.scope, node.source))
    try:
        for r in rules:
            found = r.replace(node, known)
            if found is not None:
                if found.spec != node.spec:
                    raise InternalError(f"{r.says!r} made {found.spec} of {node.spec}")
                known.fired(r.says)
                return found
    finally:
        recording.reset(token)
    return None
