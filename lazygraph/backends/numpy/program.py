"""A compiled list of calls, and the running of it."""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazygraph.backends.layout import Call, Entry, Home
from lazygraph.backends.numpy.blocks import BoundRows, Pick, picker
from lazygraph.backends.numpy.rows import RowGroup
from lazygraph.backends.pool import Block, arenas, results
from lazygraph.graph.node import Value
from lazygraph.graph.spec import Spec
from lazygraph.passes.memory import aligned

_FIXED = (Home.ARENA, Home.CONSTANT)

# (function, how to pick its operands from the table, where its result goes or None)
Bound = tuple[Callable[..., Any], Pick, int | None]


class NumpyProgram:
    """Calls over a table of arrays.

    Most of the table is fixed for a block of memory: constants, intermediates and views of
    them. A run fills in the slots and fresh results, and the views that look at them.
    """

    def __init__(
        self,
        table: list[Entry],
        calls: list[Call],
        groups: list[RowGroup],
        constants: dict[int, Value],
        slots: list[tuple[int, int]],
        roots: list[int],
        arena_bytes: int,
    ) -> None:
        self.steps = tuple(call.step for call in calls)
        self._scratch_at = aligned(arena_bytes)
        scratch = max((group.threads * group.scratch_bytes for group in groups), default=0)
        self.arena_bytes = self._scratch_at + scratch
        self._slots = slots
        self._roots = roots
        local = {storage for group in groups for storage in group.offsets}
        self._static = [
            e for e in table if e.storage.home in _FIXED and e.storage.place not in local
        ]
        self._constants = constants
        owned = [e for e in table if e.storage.home is Home.RESULT and e.is_whole]
        self._results: dict[Spec, list[int]] = {}
        for entry in owned:
            self._results.setdefault(entry.storage.spec, []).append(entry.index)
        self._wanted = {spec: len(places) for spec, places in self._results.items()}
        self.result_bytes = sum(spec.nbytes * n for spec, n in self._wanted.items())
        self._groups = {len(table) + i: group for i, group in enumerate(groups)}
        self._size = len(table) + len(groups)
        self._bound, self._call_numbers = self._bind_calls(table, calls)
        moving = [e.index for e in table if e.storage.home in (Home.SLOT, Home.RESULT)]
        self._moving = moving

    def _bind_calls(
        self, table: list[Entry], calls: list[Call]
    ) -> tuple[list[Bound], list[int]]:
        """The calls, each after the views of slots and results that it is first to need."""
        bound: list[Bound] = []
        numbers: list[int] = []
        ready = {e.index for e in table if e.is_whole or e.storage.home in _FIXED}

        def prepare(entry: Entry, number: int) -> None:
            chain = []
            while entry.index not in ready and entry.base is not None:
                chain.append(entry)
                entry = entry.base
            for view in reversed(chain):
                assert view.base is not None
                bound.append((view.view, picker([view.base.index]), view.index))
                numbers.append(number)
                ready.add(view.index)

        grouped = {call: place for place, group in self._groups.items() for call in group.calls}
        for number, call in enumerate(calls):
            for entry in (*call.inputs, call.out):
                prepare(entry, number)
            if call not in grouped:
                places = [e.index for e in (*call.inputs, call.out)]
                bound.append((call.function(), picker(places), None))
                numbers.append(number)
            elif call is self._groups[grouped[call]].calls[-1]:
                bound.append((BoundRows.run, self._of_group(grouped[call]), None))
                numbers.append(self._groups[grouped[call]].first)
        by_index = {e.index: e for e in table}
        for root in self._roots:
            prepare(by_index[root], len(calls) - 1)
        return bound, numbers

    def _of_group(self, place: int) -> Pick:
        return lambda table: (table[place], table)

    def _table(self, block: Block) -> list[Any]:
        """The table with all that is fixed for this block; made once a block."""
        table: list[Any] | None = block.bindings.get(self)
        if table is None:
            table = [None] * self._size
            for entry in self._static:
                if entry.base is not None:
                    table[entry.index] = entry.view(table[entry.base.index])
                elif entry.index in self._constants:
                    table[entry.index] = self._constants[entry.index]
                else:
                    table[entry.index] = np.ndarray(
                        entry.phantom.shape,
                        entry.phantom.dtype,
                        block.memory.data,
                        entry.storage.place.offset,
                    )
            scratch = block.memory[self._scratch_at :].data
            for place, group in self._groups.items():
                table[place] = BoundRows(group, table, scratch)
            block.bindings[self] = table
        return table

    def run(self, values: Sequence[Value], locate: Callable[[int], str]) -> list[Value]:
        """Compute the roots; see `Program.run`."""
        with arenas.block(self.arena_bytes) as block, np.errstate(all="ignore"):
            table = self._table(block)
            try:
                for index, slot in self._slots:
                    table[index] = values[slot]
                fresh = results.take(self._wanted)
                for spec, places in self._results.items():
                    for index, array in zip(places, fresh[spec], strict=True):
                        table[index] = array
                del fresh
                self._run_calls(table, locate)
                return [table[root] for root in self._roots]
            finally:
                for index in self._moving:
                    table[index] = None

    def _run_calls(self, table: list[Any], locate: Callable[[int], str]) -> None:
        calls = iter(self._bound)
        try:
            for function, operands, store in calls:
                if store is None:
                    function(*operands(table))
                else:
                    table[store] = function(*operands(table))
        except Exception as error:
            done = len(self._bound) - operator.length_hint(calls)
            function, operands, _ = self._bound[done - 1]
            inside = operands(table)[0].failed if function is BoundRows.run else 0
            step = self.steps[self._call_numbers[done - 1] + inside]
            error.add_note(step.note(locate))
            raise
