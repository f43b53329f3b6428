"""Steps written down for the walk: functions, arguments and barriers, as numbers."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lazygraph.backends.layout import Call, Entry, Home, Storage
from lazygraph.backends.native import targets
from lazygraph.backends.native.building import Unit, load
from lazygraph.backends.native.driver import Flag, library
from lazygraph.backends.native.loading import Library
from lazygraph.backends.native.products_of import product_arguments
from lazygraph.backends.native.steps import NumpyStep, Places, ProductStep, Step, Work, cost
from lazygraph.backends.native.symbols import symbols
from lazygraph.backends.native.types import ir
from lazygraph.settings import num_threads

_ALONE_NS = 4e3  # below, the first thread does it while the others wait
_TOGETHER_NS = 4e4  # below, a segment is not worth the waking of other threads


@dataclass(slots=True)
class Record:
    """One step of the walk.

    Attributes:
        function: its address.
        arguments: numbers that it knows how to read.
        scratch: bytes behind the start of the arena.
        amount: how many rows, elements or stacks.
        flags: how it is taken.
    """

    function: int
    arguments: tuple[int, ...]
    scratch: int
    amount: int
    flags: Flag


@dataclass(slots=True)
class Segment:
    """Native steps between two NumPy calls.

    Attributes:
        records: what the threads walk over.
        steps: what they stand for.
        is_shared: whether it is worth more than one thread.
    """

    records: list[Record] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    is_shared: bool = False


@dataclass(slots=True)
class Script:
    """A whole program: segments, and NumPy calls between them.

    Attributes:
        parts: in order.
        libraries: the code of the kernels, which must live as long as the program.
        threads: how many there is scratch memory for.
    """

    parts: list[Segment | Call]
    libraries: list[Library]
    threads: int

    @property
    def numpy_calls(self) -> list[Call]:
        """What NumPy does."""
        return [part for part in self.parts if isinstance(part, Call)]


def write(
    steps: Sequence[Step],
    places: Places,
    planned: Mapping[Step, Work],
    scratch: Mapping[Step, int],
) -> Script:
    """Compile the kernels and write down the steps."""
    codes = _compiled(planned)
    parts: list[Segment | Call] = []
    for native, run in itertools.groupby(steps, lambda step: not isinstance(step, NumpyStep)):
        if native:
            parts.append(_segment(list(run), places, planned, codes, scratch))
        else:
            parts += [call for step in run for call in step.calls]
    return Script(parts, list(codes.values()), num_threads())


def _compiled(planned: Mapping[Step, Work]) -> dict[Step, Library]:
    fused = targets.current().has_fused_multiply_add
    units = [_unit(work, fused) for work in planned.values()]
    return dict(zip(planned, load(units, symbols()), strict=True))


def _unit(work: Work, fused: bool) -> Unit:
    def module() -> ir.Module:
        made = ir.Module("kernel")
        work.build(made, "kernel", fused=fused)
        return made

    exports = ("kernel", "kernel_finish") if work.needs_finish else ("kernel",)
    return Unit(f"kernel {fused} {work.key}", module, exports=exports)


def _segment(
    steps: list[Step],
    places: Places,
    planned: Mapping[Step, Work],
    codes: Mapping[Step, Library],
    scratch: Mapping[Step, int],
) -> Segment:
    segment = Segment(steps=steps)
    segment.is_shared = sum(map(cost, steps)) >= _TOGETHER_NS
    order = _Order()
    for step in steps:
        alone = Flag.ALONE if not segment.is_shared or cost(step) < _ALONE_NS else Flag(0)
        offset = scratch.get(step, 0)
        spans = (
            [(offset, offset + planned[step].scratch_bytes(num_threads()))]
            if step in scratch
            else []
        )
        flags = alone | order.barrier(step, bool(alone), spans)
        if isinstance(step, ProductStep):
            segment.records.append(_product(step.calls[0], places, flags | Flag.PRODUCT))
            continue
        work, addresses = planned[step], codes[step].addresses
        given = (work.arguments, offset, work.count)
        segment.records.append(Record(addresses["kernel"], *given, flags))
        if work.needs_finish:
            after = alone if alone else Flag.AFTER_ALL
            segment.records.append(Record(addresses["kernel_finish"], *given, after))
    return segment


def _product(call: Call, places: Places, flags: Flag) -> Record:
    name = call.out.phantom.dtype.name
    arguments, amount = product_arguments(call, places)
    return Record(library().addresses[f"product_{name}"], arguments, 0, amount, flags)


class _Order:
    """Which steps must wait until all threads have done what is before them."""

    def __init__(self) -> None:
        self._since: list[tuple[bool, _Touched]] = []

    def barrier(self, step: Step, alone: bool, scratch: list[tuple[int, int]]) -> Flag:
        """Whether the step needs a barrier before it, as a flag."""
        touched = _Touched(_regions(step.reads), _regions(step.writes, scratch))
        needed = any(
            not (alone and before_alone) and touched.conflicts(before)
            for before_alone, before in self._since
        )
        if needed:
            self._since.clear()
        self._since.append((alone, touched))
        return Flag.AFTER_ALL if needed else Flag(0)


# A part of the arena, or memory of its own.
_Region = tuple[int, int] | Storage


@dataclass(frozen=True, slots=True)
class _Touched:
    reads: list[_Region]
    writes: list[_Region]

    def conflicts(self, before: "_Touched") -> bool:
        return (
            _meet(self.reads, before.writes)
            or _meet(self.writes, before.reads)
            or _meet(self.writes, before.writes)
        )


def _regions(entries: Iterable[Entry], spans: Iterable[tuple[int, int]] = ()) -> list[_Region]:
    found: list[_Region] = list(spans)
    for storage in {entry.storage.place: None for entry in entries}:
        if storage.home is Home.ARENA:
            found.append((storage.offset, storage.offset + storage.spec.nbytes))
        elif storage.home is Home.RESULT:
            found.append(storage)
    return found


def _meet(xs: Iterable[_Region], ys: Sequence[_Region]) -> bool:
    return any(_overlap(x, y) for x in xs for y in ys)


def _overlap(x: _Region, y: _Region) -> bool:
    if isinstance(x, tuple) and isinstance(y, tuple):
        return x[0] < y[1] and y[0] < x[1]
    return x is y
