"""From a graph to a list of NumPy calls whose operands have fixed places."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from lazygraph.backends.base import Origin, Step
from lazygraph.backends.numpy.layout import Call, Entry, Home, Phantoms, Storage, lies_by_rows
from lazygraph.backends.numpy.program import NumpyProgram
from lazygraph.backends.numpy.rows import RowGroup, grouped
from lazygraph.dtypes import as_dtype
from lazygraph.graph.node import Node, Value
from lazygraph.graph.op import Kind
from lazygraph.graph.orientation import lies_densely
from lazygraph.graph.spec import Spec
from lazygraph.ops.turning import is_turned
from lazygraph.passes.memory import Interval, place
from lazygraph.passes.schedule import shallow_first


class NumpyBackend:
    """Compiles a plan to NumPy calls that write into planned memory."""

    name = "numpy"

    def missing(self) -> str | None:
        """Nothing: NumPy is always there."""
        return None

    def evaluate(self, node: Node) -> Value:
        """The value of one node whose inputs have values."""
        program = self.compile([node], {}, lambda _: -1)
        return program.run((), str)[0].copy(order="K")

    def compile(
        self, roots: Sequence[Node], slots: dict[Node, int], origin: Origin
    ) -> NumpyProgram:
        """A program for the roots; see `Backend.compile`."""
        return _Compiler(slots, origin).compile(roots)


def _computed_in(root: Node) -> Node:
    """The node whose memory a root looks at, if it is a view of all of it."""
    node = root
    while node.op.kind is Kind.VIEW and node.inputs[0].spec.size == root.spec.size:
        node = node.inputs[0]
    return node


def _copy(x: Value, out: Value) -> None:
    np.copyto(out, x)


class _Compiler:
    """The state of one compilation: the table, the calls, and who uses what until when."""

    def __init__(self, slots: dict[Node, int], origin: Origin) -> None:
        self._slots = slots
        self._origin = origin
        self._phantoms = Phantoms()
        self._table: list[Entry] = []
        self._constants: dict[int, Value] = {}
        self._slot_entries: list[tuple[int, int]] = []
        self._entries: dict[Node, Entry] = {}
        self._dense: dict[Entry, Entry] = {}
        self._calls: list[Call] = []
        self._groups: list[RowGroup] = []

    def compile(self, roots: Sequence[Node]) -> NumpyProgram:
        wanted = set(map(_computed_in, roots))
        for node in shallow_first(roots, self._slots.__contains__):
            self._entries[node] = self._entry(node, node in wanted)
        results = [self._handed_out(root) for root in dict.fromkeys(roots)]
        by_root = dict(zip(dict.fromkeys(roots), results, strict=True))
        self._calls, self._groups = grouped(self._calls)
        self._find_uses()
        self._overwrite_what_dies()
        self._keep_in_blocks()
        arena_bytes = self._place()
        return NumpyProgram(
            self._table,
            self._calls,
            self._groups,
            self._constants,
            self._slot_entries,
            [by_root[root].index for root in roots],
            arena_bytes,
        )

    # Entries.

    def _new(
        self, storage: Storage, phantom: Value, view: Any = None, base: Any = None
    ) -> Entry:
        entry = Entry(len(self._table), storage, phantom, view, base)
        self._table.append(entry)
        return entry

    def _entry(self, node: Node, is_root: bool) -> Entry:
        if node in self._slots:
            phantom = self._phantoms.dense(node.spec)
            if node.value is not None:
                phantom = self._phantoms.like(node.value)
            entry = self._new(Storage(Home.SLOT, node.spec), phantom)
            self._slot_entries.append((entry.index, self._slots[node]))
            return entry
        if node.value is not None and not node.inputs:
            entry = self._new(Storage(Home.CONSTANT, node.spec), node.value)
            self._constants[entry.index] = node.value
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
        kind = node.op.kind
        inputs = [self._operand(node, self._entries[x]) for x in node.inputs]
        out = self._new(Storage(home, node.spec), self._phantoms.dense(node.spec))
        step = self._step(node.op.name, out, node)
        named = node.op.named(node.params)
        op = node.op
        self._calls.append(
            Call(op.evaluate, op.choose, named, kind, inputs, out, op.in_place, step)
        )
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
        self._calls.append(Call(_copy, None, {}, Kind.POINTWISE, [entry], out, False, step))
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

    # Memory.

    def _find_uses(self) -> None:
        for i, call in enumerate(self._calls):
            call.out.storage.first = call.out.storage.last = i
            for entry in call.inputs:
                entry.storage.last = i

    def _overwrite_what_dies(self) -> None:
        """Let a step write into an operand that nothing reads afterwards."""
        groups = {group.first: group for group in self._groups}
        kept: set[Storage] = set()
        end = -1
        for i, call in enumerate(self._calls):
            if i in groups:
                kept, end = groups[i].read_otherwise(), groups[i].last
            elif i > end:
                kept = set()
            if call.in_place and call.out.storage.home is Home.ARENA:
                for entry in call.inputs:
                    if entry.storage.place not in kept and _may_overwrite(entry, call, i):
                        _merge(call, entry)
                        break

    def _keep_in_blocks(self) -> None:
        """Give what only one group uses a place in its scratch, and the rest its whole life."""
        for group in self._groups:
            used = {
                entry.storage.place: None
                for call in group.calls
                for entry in (call.out, *call.inputs)
                if entry.storage.place.home is Home.ARENA
            }
            local = []
            for storage in used:
                if group.first <= storage.first and storage.last <= group.last:
                    local.append(storage)
                else:
                    storage.first = min(storage.first, group.first)
                    storage.last = max(storage.last, group.last)
            group.settle(local)

    def _place(self) -> int:
        in_scratch = {storage for group in self._groups for storage in group.offsets}
        ordered = sorted(
            (
                call.out.storage
                for call in self._calls
                if call.out.storage.home is Home.ARENA
                and call.out.storage.merged is None
                and call.out.storage not in in_scratch
            ),
            key=lambda storage: storage.first,
        )
        intervals = [Interval(s.spec.nbytes, s.first, s.last) for s in ordered]
        offsets, size = place(intervals)
        for storage, offset in zip(ordered, offsets, strict=True):
            storage.offset = offset
        return size


def _may_overwrite(entry: Entry, call: Call, i: int) -> bool:
    storage = entry.storage.place
    return (
        storage.home is Home.ARENA
        and storage.last == i
        and entry.is_dense
        and entry.phantom.shape == call.out.phantom.shape
        and entry.phantom.dtype == call.out.phantom.dtype
        and storage.spec.nbytes == call.out.storage.spec.nbytes
        and all(x is entry or x.storage.place is not storage for x in call.inputs)
    )


def _merge(call: Call, entry: Entry) -> None:
    taken = entry.storage.place
    taken.last = max(taken.last, call.out.storage.last)
    call.out.storage.merged = taken
    call.step = replace(call.step, where="in place")
