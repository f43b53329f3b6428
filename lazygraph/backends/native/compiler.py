"""From a graph to a program of machine code."""

from collections.abc import Sequence
from dataclasses import replace

from lazygraph.backends.base import Origin
from lazygraph.backends.layout import Home, Storage
from lazygraph.backends.lowering import Lowering
from lazygraph.backends.native import kernels
from lazygraph.backends.native.partition import Partition
from lazygraph.backends.native.program import NativeProgram
from lazygraph.backends.native.script import write
from lazygraph.backends.native.statements import Statement
from lazygraph.backends.native.steps import (
    KernelStep,
    Places,
    SpecialStep,
    Step,
    Work,
    statement,
)
from lazygraph.graph.node import Node
from lazygraph.passes.memory import Interval, aligned, place
from lazygraph.settings import num_threads


class NativeCompiler:
    """Compiles a plan to steps of machine code that write into planned memory."""

    def compile(
        self, roots: Sequence[Node], slots: dict[Node, int], origin: Origin
    ) -> NativeProgram:
        """A program for the roots; see `Backend.compile`."""
        return _Compiler(Lowering(roots, slots, origin)).compile()


class _Compiler:
    """The memory of one program: what lives in registers, and where the rest lies."""

    def __init__(self, lowered: Lowering) -> None:
        self._lowered = lowered
        self._places = Places()
        self._steps = Partition(lowered.calls, self._places).steps
        self._stored: set[Storage] = set()

    def compile(self) -> NativeProgram:
        self._find_uses()
        self._find_stored()
        planned: dict[Step, Work] = {}
        for step in self._steps:
            if isinstance(step, KernelStep):
                planned[step] = kernels.plan(self._statements(step))
            elif isinstance(step, SpecialStep):
                planned[step] = step.work
        arena_bytes, scratch = self._place(planned)
        written = write(self._steps, self._places, planned, scratch)
        return NativeProgram(self._lowered, written, self._places, arena_bytes)

    def _statements(self, step: Step) -> list[Statement]:
        return [
            statement(call, self._places, call.out.storage in self._stored)
            for call in step.calls
        ]

    def _find_uses(self) -> None:
        for i, step in enumerate(self._steps):
            for entry in step.writes:
                entry.storage.first = entry.storage.last = i
            for entry in step.reads:
                entry.storage.last = max(entry.storage.last, i)

    def _find_stored(self) -> None:
        """What another step reads, or the caller gets, needs memory."""
        for i, step in enumerate(self._steps):
            inside = isinstance(step, KernelStep)
            for entry in step.writes:
                storage = entry.storage
                if not inside or storage.home is not Home.ARENA or storage.last > i:
                    self._stored.add(storage)
        for step in self._steps:
            for call in step.calls:
                where = "arena" if call.out.storage in self._stored else "register"
                if call.out.storage.home is Home.ARENA:
                    call.step = replace(call.step, where=where)

    def _place(self, planned: dict[Step, Work]) -> tuple[int, dict[Step, int]]:
        """Offsets in the arena for what is stored, and for the scratch of kernels."""
        threads = num_threads()
        ordered: list[tuple[Interval, Storage | Step]] = []
        for i, step in enumerate(self._steps):
            for entry in step.writes:
                storage = entry.storage
                if storage in self._stored and storage.home is Home.ARENA:
                    interval = Interval(storage.spec.nbytes, i, storage.last)
                    ordered.append((interval, storage))
            kernel = planned.get(step)
            if kernel is not None and kernel.scratch_bytes(threads):
                ordered.append((Interval(aligned(kernel.scratch_bytes(threads)), i, i), step))
        offsets, size = place([interval for interval, _ in ordered])
        scratch: dict[Step, int] = {}
        for (_, owner), offset in zip(ordered, offsets, strict=True):
            if isinstance(owner, Storage):
                owner.offset = offset
            else:
                scratch[owner] = offset
        return size, scratch
