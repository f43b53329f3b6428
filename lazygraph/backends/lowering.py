"""From a graph to calls over a table of arrays whose layouts are known."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from lazygraph.backends.base import Origin, Step
from lazygraph.backends.layout import Call, Entry, Home, Phantoms, Storage, lies_by_rows
from lazygraph.dtypes import as_dtype
from lazygraph.graph.node import Node, Value
from lazygraph.graph.op import Kind, Op
from lazygraph.graph.orientation import lies_densely
from lazygraph.graph.spec import Spec
from lazygraph.ops.turning import is_turned
from lazygraph.passes.schedule import shallow_first


def _copy(x: Value, out: Value) -> None:
    np.copyto(out, x)


# Where an operand has to lie in another order, or a result would only look at other memory.
COPY = Op("copy", lambda x: x, _copy, Kind.POINTWISE, emit=lambda k, x: x)


def _computed_in(root: Node) -> Node:
    """The node whose memory a root looks at, if it is a view of all of it."""
    node = root
    while node.op.kind is Kind.VIEW and node.inputs[0].spec.size == root.spec.size:
        node = node.inputs[0]
    return node


class Lowering:
    """Calls in the order of a schedule, and the table of arrays that they work on.

    Args:
        roots: the nodes whose values are wanted.
        slots: the leaves whose values come with each run, and their positions.
        origin: where each node stems from.

    Attributes:
        table: every array, whole or a view.
        calls: in order.
        constants: the values that lie in the program, by their place in the table.
        slots: places in the table of what comes with each run, and its positions.
        results: the place of each root.
    """

    def __init__(self, roots: Sequence[Node], slots: dict[Node, int], origin: Origin) -> None:
        self._positions = slots
        self._origin = origin
        self._phantoms = Phantoms()
        self.table: list[Entry] = []
        self.calls: list[Call] = []
        self.constants: dict[int, Value] = {}
        self.slots: list[tuple[int, int]] = []
        self._entries: dict[Node, Entry] = {}
        self._dense: dict[Entry, Entry] = {}
        wanted = set(map(_computed_in, roots))
        for node in shallow_first(roots, slots.__contains__):
            self._entries[node] = self._entry(node, node in wanted)
        handed = {root: self._handed_out(root).index for root in dict.fromkeys(roots)}
        self.results = [handed[root] for root in roots]

    def _new(
        self, storage: Storage, phantom: Value, view: Any = None, base: Any = None
    ) -> Entry:
        entry = Entry(len(self.table), storage, phantom, view, base)
        self.table.append(entry)
        return entry

    def _entry(self, node: Node, is_root: bool) -> Entry:
        if node in self._positions:
            phantom = self._phantoms.dense(node.spec)
            if node.value is not None:
                phantom = self._phantoms.like(node.value)
            entry = self._new(Storage(Home.SLOT, node.spec), phantom)
            self.slots.append((entry.index, self._positions[node]))
            return entry
        if node.value is not None and not node.inputs:
            entry = self._new(Storage(Home.CONSTANT, node.spec), node.value)
            self.constants[entry.index] = node.value
            return entry
        if node.op.kind is Kind.VIEW:
            return self._view(node)
        return self._computed(node, Home.RESULT if is_root else Home.ARENA)

    def _view(self, node: Node) -> Entry:
        function = partial(node.op.evaluate, **node.op.named(node.params))
        base = self._entries[node.inputs[0]]
        try:
            phantom = function(base.phantom)
        except ValueError:  # the strides allow no view: it needs a copy in row-major order
            base = self._contiguous(base, node)
            phantom = function(base.phantom)
        return self._new(base.storage, phantom, function, base)

    def _computed(self, node: Node, home: Home) -> Entry:
        inputs = [self._operand(node, self._entries[x]) for x in node.inputs]
        out = self._new(Storage(home, node.spec), self._phantoms.dense(node.spec))
        step = self._step(node.op.name, out, node)
        self.calls.append(Call(node.op, node.params, inputs, out, step))
        return out

    def _operand(self, node: Node, entry: Entry) -> Entry:
        """The operand in the layout that keeps bits independent of how it came to be."""
        kind = node.op.kind
        if kind is Kind.CONTRACTION:
            # With a single row or column, sums depend on all strides.
            shapes = [x.spec.shape[-2:] for x in (node, *node.inputs)]
            if any(len(shape) < 2 or 1 in shape for shape in shapes):
                return self._fresh(entry, node)
            return entry if lies_by_rows(entry.phantom) else self._contiguous(entry, node)
        if kind is Kind.REDUCTION:
            return self._contiguous(entry, node)
        if kind is Kind.POINTWISE and any(step < 0 for step in entry.phantom.strides):
            return self._contiguous(
                entry, node
            )  # NumPy computes some functions otherwise there
        return entry

    def _contiguous(self, entry: Entry, reason: Node) -> Entry:
        """The entry, or a copy of it, in row-major order."""
        if entry.is_dense:
            return entry
        if entry not in self._dense:
            self._dense[entry] = self._copied(entry, Home.ARENA, reason)
        return self._dense[entry]

    def _fresh(self, entry: Entry, reason: Node) -> Entry:
        """The same with the strides of a fresh array, on axes of length 1 as well."""
        entry = self._contiguous(entry, reason)
        if lies_densely(entry.phantom):
            return entry
        shape = entry.phantom.shape
        phantom = entry.phantom.reshape(-1).reshape(shape)
        return self._new(entry.storage, phantom, lambda x: x.reshape(-1).reshape(shape), entry)

    def _copied(self, entry: Entry, home: Home, reason: Node) -> Entry:
        spec = Spec(entry.phantom.shape, as_dtype(entry.phantom.dtype))
        out = self._new(Storage(home, spec), self._phantoms.dense(spec))
        step = self._step("copy", out, reason)
        self.calls.append(Call(COPY, (), [entry], out, step))
        return out

    def _turned(self, entry: Entry) -> Entry:
        return self._new(entry.storage, entry.phantom.mT, lambda x: x.mT, entry)

    def _step(self, name: str, out: Entry, node: Node) -> Step:
        return Step(name, out.storage.spec, self._origin(node), out.storage.home.value)

    def _handed_out(self, root: Node) -> Entry:
        """The entry of a root; what only looks at other memory is copied."""
        entry = self._entries[root]
        if entry.is_whole:
            return entry
        turned = is_turned(root)
        seen = entry.phantom.mT if turned else entry.phantom
        in_result = entry.storage.home is Home.RESULT and seen.flags.c_contiguous
        if in_result and entry.phantom.nbytes == entry.storage.spec.nbytes:
            return entry  # all of it, under another shape
        if turned:
            return self._turned(self._copied(self._turned(entry), Home.RESULT, root))
        return self._copied(entry, Home.RESULT, root)
