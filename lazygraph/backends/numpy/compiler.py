"""From a graph to a list of NumPy calls whose operands have fixed places."""

from collections.abc import Sequence
from dataclasses import replace

from lazygraph.backends.base import Origin
from lazygraph.backends.layout import Call, Entry, Home, Storage
from lazygraph.backends.lowering import Lowering
from lazygraph.backends.numpy.program import NumpyProgram
from lazygraph.backends.numpy.rows import grouped
from lazygraph.graph.node import Node, Value
from lazygraph.passes.memory import Interval, place


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
        return _Compiler(Lowering(roots, slots, origin)).compile()


class _Compiler:
    """The memory of one program: what is done in blocks, in place, and where the rest lies."""

    def __init__(self, lowered: Lowering) -> None:
        self._lowered = lowered
        self._calls, self._groups = grouped(lowered.calls)

    def compile(self) -> NumpyProgram:
        self._find_uses()
        self._overwrite_what_dies()
        self._keep_in_blocks()
        arena_bytes = self._place()
        lowered = self._lowered
        return NumpyProgram(
            lowered.table,
            self._calls,
            self._groups,
            lowered.constants,
            lowered.slots,
            lowered.results,
            arena_bytes,
        )

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
            if call.op.in_place and call.out.storage.home is Home.ARENA:
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
