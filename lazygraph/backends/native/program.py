"""A compiled script, and the running of it."""

import ctypes
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from lazygraph.backends.layout import Call, Entry, Home
from lazygraph.backends.lowering import Lowering
from lazygraph.backends.native import threads
from lazygraph.backends.native.driver import (
    ARENA,
    FAULT,
    FAULT_SIZE,
    SEGMENT_SIZE,
    STEP_SIZE,
    filler,
    library,
)
from lazygraph.backends.native.picking import refuse
from lazygraph.backends.native.script import Script, Segment
from lazygraph.backends.native.steps import Places
from lazygraph.backends.pool import Block, arenas, results
from lazygraph.graph.node import Value
from lazygraph.graph.spec import Spec
from lazygraph.settings import num_threads

_NUMBER = np.dtype(np.int64)


@dataclass(slots=True)
class _Bound:
    """A program over one block of memory.

    Attributes:
        numbers: the table of pointers, the steps and their arguments, one after the other.
        table: the address of the table.
        parts: addresses of segments, and NumPy calls.
        arrays: of the entries that NumPy calls see, those that are fixed for this memory.
    """

    numbers: Value
    table: int
    parts: list[int | Call]
    arrays: dict[Entry, Value]


class NativeProgram:
    """Machine code and NumPy calls over planned memory."""

    def __init__(
        self, lowered: Lowering, script: Script, places: Places, arena_bytes: int
    ) -> None:
        self.steps = tuple(call.step for call in lowered.calls)
        self.arena_bytes = arena_bytes
        self._script = script
        self._places = places
        self._constants = {i: np.asarray(x) for i, x in lowered.constants.items()}
        by_index = {entry.index: entry for entry in lowered.table}
        self._roots = [by_index[index] for index in lowered.results]
        self._calls = lowered.calls
        owned = [e for e in lowered.table if e.storage.home is Home.RESULT and e.is_whole]
        self._results: dict[Spec, list[Entry]] = {}
        for entry in owned:
            self._results.setdefault(entry.storage.spec, []).append(entry)
        self._wanted = {spec: len(entries) for spec, entries in self._results.items()}
        self.result_bytes = sum(spec.nbytes * n for spec, n in self._wanted.items())
        self._slots = [(by_index[index], slot) for index, slot in lowered.slots]
        self._whole = {e.storage: e for e in lowered.table if e.is_whole}
        seen = [e for call in script.numpy_calls for e in (*call.inputs, call.out)]
        self._seen = list(dict.fromkeys(self._with_bases([*seen, *self._roots])))
        moving = [entry for entry, _ in self._slots]
        moving += [entry for entries in self._results.values() for entry in entries]
        self._moving = [entry for entry in moving if entry.storage in places.of]
        indices = [places.of[entry.storage] for entry in self._moving]
        self._moving_places = np.array(indices, _NUMBER)
        self._functions = {call: call.function() for call in script.numpy_calls}

    @staticmethod
    def _with_bases(entries: Iterable[Entry]) -> list[Entry]:
        """Each entry behind the one that it is a view of."""
        found: list[Entry] = []
        for entry in entries:
            chain = [entry]
            while chain[-1].base is not None:
                chain.append(chain[-1].base)
            found += reversed(chain)
        return found

    def run(self, values: Sequence[Value], locate: Callable[[int], str]) -> list[Value]:
        """Compute the roots; see `Program.run`."""
        with arenas.block(self.arena_bytes) as block, np.errstate(all="ignore"):
            bound = block.bindings.get(self)
            if bound is None:
                bound = block.bindings[self] = self._bind(block)
            arrays = dict(bound.arrays)
            for entry, slot in self._slots:
                arrays[entry] = np.asarray(values[slot])  # a number of NumPy's may come as one
            fresh = results.take(self._wanted)
            for spec, entries in self._results.items():
                arrays.update(zip(entries, fresh[spec], strict=True))
            del fresh
            self._fill(bound, arrays)
            self._view(arrays)
            self._run_parts(bound, arrays, locate)
            return [arrays[root] for root in self._roots]

    def _fill(self, bound: _Bound, arrays: dict[Entry, Value]) -> None:
        """Write down where the arrays of this run lie."""
        count = len(self._moving)
        ids = (ctypes.c_void_p * count)(*[id(arrays[entry]) for entry in self._moving])
        filler()(bound.table, self._moving_places.ctypes.data, ids, count)

    def _view(self, arrays: dict[Entry, Value]) -> None:
        """Make the views of slots and results that NumPy calls see."""
        for entry in self._seen:
            if entry not in arrays and entry.base is not None:
                arrays[entry] = entry.view(arrays[entry.base])

    def _run_parts(
        self, bound: _Bound, arrays: dict[Entry, Value], locate: Callable[[int], str]
    ) -> None:
        walk = library().addresses["walk"]
        count = min(num_threads(), self._script.threads)  # cores may have come since
        for part, given in zip(bound.parts, self._script.parts, strict=True):
            if isinstance(part, Call):
                self._call(part, arrays, locate)
            else:
                assert isinstance(given, Segment)
                threads.run(walk, part, count if given.is_shared else 1)
                if bound.numbers[-FAULT_SIZE]:
                    self._refuse(bound.numbers[-FAULT_SIZE:], locate)

    def _call(
        self, call: Call, arrays: dict[Entry, Value], locate: Callable[[int], str]
    ) -> None:
        try:
            self._functions[call](*[arrays[entry] for entry in (*call.inputs, call.out)])
        except Exception as error:
            error.add_note(call.step.note(locate))
            raise

    def _refuse(self, fault: Value, locate: Callable[[int], str]) -> None:
        """Raise the error of an index that machine code found outside."""
        place, index = fault.tolist()
        fault.fill(0)
        outs = {self._places.of.get(call.out.storage): call for call in self._calls}
        call = outs[place]
        try:
            refuse(call, index)
        except Exception as error:
            error.add_note(call.step.note(locate))
            raise

    # What is done once for each block of memory.

    def _bind(self, block: Block) -> _Bound:
        segments = [part for part in self._script.parts if isinstance(part, Segment)]
        size = self._places.count + sum(map(_size, segments)) + FAULT_SIZE
        numbers = np.zeros(size, _NUMBER)
        start = numbers.ctypes.data
        self._point(numbers, block)
        parts: list[int | Call] = []
        at = self._places.count
        for part in self._script.parts:
            if isinstance(part, Call):
                parts.append(part)
            else:
                parts.append(start + at * _NUMBER.itemsize)
                at = _write(numbers, at, part)
        return _Bound(numbers, start, parts, self._fixed(block))

    def _point(self, numbers: Value, block: Block) -> None:
        memory = block.memory.ctypes.data
        numbers[ARENA] = memory
        numbers[FAULT] = numbers[-FAULT_SIZE:].ctypes.data
        for storage, place in self._places.of.items():
            if storage.home is Home.ARENA:
                numbers[place] = memory + storage.offset
            elif storage.home is Home.CONSTANT:
                numbers[place] = self._constants[self._whole[storage].index].ctypes.data

    def _fixed(self, block: Block) -> dict[Entry, Value]:
        arrays: dict[Entry, Value] = {}
        for entry in self._seen:
            storage = entry.storage
            if storage.home not in (Home.ARENA, Home.CONSTANT):
                continue
            if entry.base is not None:
                arrays[entry] = entry.view(arrays[entry.base])
            elif storage.home is Home.CONSTANT:
                arrays[entry] = self._constants[entry.index]
            else:
                arrays[entry] = np.ndarray(
                    entry.phantom.shape,
                    entry.phantom.dtype,
                    block.memory.data,
                    storage.place.offset,
                )
        return arrays


def _size(segment: Segment) -> int:
    arguments = sum(len(record.arguments) for record in segment.records)
    return SEGMENT_SIZE + STEP_SIZE * len(segment.records) + arguments


def _write(numbers: Value, at: int, segment: Segment) -> int:
    """Write a segment down from a place on; returns the place behind it."""
    start = numbers.ctypes.data
    width = _NUMBER.itemsize
    steps = at + SEGMENT_SIZE
    numbers[at:steps] = start, start + steps * width, len(segment.records)
    behind = steps + STEP_SIZE * len(segment.records)
    for i, record in enumerate(segment.records):
        arguments = start + behind * width
        numbers[steps + STEP_SIZE * i : steps + STEP_SIZE * (i + 1)] = (
            record.function,
            arguments,
            record.scratch,
            record.amount,
            int(record.flags),
        )
        numbers[behind : behind + len(record.arguments)] = record.arguments
        behind += len(record.arguments)
    return behind
