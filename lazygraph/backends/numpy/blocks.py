"""The running of a row group: its calls for some rows, then for the next ones."""

import math
import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from lazygraph.backends.layout import Entry, Home
from lazygraph.backends.numpy.crew import Work, crew
from lazygraph.backends.numpy.rows import RowGroup
from lazygraph.graph.node import Value
from lazygraph.graph.spec import Shape

Pick = Callable[[list[Any]], tuple[Any, ...]]


class BoundRows:
    """A row group over one block of memory: a table of arrays for every block of rows.

    Args:
        group: the calls.
        table: the arrays of the program that are fixed for this memory.
        scratch: memory for what lives within a block of rows, one after the other for each of
            the threads that share the rows.
    """

    def __init__(self, group: RowGroup, table: list[Any], scratch: memoryview) -> None:
        self._group = group
        step = group.rows_a_block
        starts = range(0, group.rows, step)
        self._ranges = [slice(start, min(start + step, group.rows)) for start in starts]
        self._tables: list[list[Any]] = [[] for _ in self._ranges]
        self._places: dict[tuple[Entry, Shape, bool], int] = {}
        # (place, where the array stands in the program's table, its shape, whether it has rows)
        self._moving: list[tuple[int, int, Shape, bool]] = []
        self._calls: list[tuple[Callable[..., Any], Pick]] = []
        fewer = len(group.axes) - 1
        for call in group.calls:
            rank = call.out.phantom.ndim
            entries = (*call.inputs, call.out)
            places = [self._place(entry, rank, table, scratch) for entry in entries]
            self._calls.append((call.function_of_rows(fewer), picker(places)))
        self.failed = 0

    def _place(self, entry: Entry, rank: int, table: list[Any], scratch: memoryview) -> int:
        """The place of an operand in the tables of the blocks."""
        count = len(self._group.axes)
        given = (1,) * (rank - entry.phantom.ndim) + entry.phantom.shape
        has_rows = math.prod(given[:count]) > 1
        shape = (self._group.rows, *given[count:]) if has_rows else given[count:]
        found = self._places.get((entry, shape, has_rows))
        if found is not None:
            return found
        place = self._places[entry, shape, has_rows] = len(self._places)
        storage = entry.storage.place
        if storage in self._group.offsets:
            dtype, offset = entry.phantom.dtype, self._group.offsets[storage]
            arrays = [
                np.ndarray(
                    (r.stop - r.start, *shape[1:]),
                    dtype,
                    scratch,
                    offset + self._thread_of(i) * self._group.scratch_bytes,
                )
                for i, r in enumerate(self._ranges)
            ]
        elif storage.home in (Home.SLOT, Home.RESULT):
            self._moving.append((place, entry.index, shape, has_rows))
            arrays = [None] * len(self._ranges)  # type: ignore[list-item]
        else:
            arrays = self._parts(table[entry.index], shape, has_rows)
        for part, array in zip(self._tables, arrays, strict=True):
            part.append(array)
        return place

    def _thread_of(self, block: int) -> int:
        return block * self._group.threads // len(self._ranges)

    def _parts(self, array: Value, shape: Shape, has_rows: bool) -> list[Value]:
        whole = array.reshape(shape)
        return [whole[rows] if has_rows else whole for rows in self._ranges]

    def run(self, table: list[Any]) -> None:
        """Do all calls for each block of rows in turn."""
        try:
            for place, index, shape, has_rows in self._moving:
                for part, array in zip(
                    self._tables, self._parts(table[index], shape, has_rows), strict=True
                ):
                    part[place] = array
            works = self._works()
            if len(works) > 1:
                crew.do(works)
            else:
                works[0]()
        finally:
            for place, *_ in self._moving:
                for part in self._tables:
                    part[place] = None

    def _works(self) -> list[Work]:
        """What each thread does: all calls for each of its blocks in turn."""
        shares: list[list[list[Any]]] = [[] for _ in range(self._group.threads)]
        for i, part in enumerate(self._tables):
            shares[self._thread_of(i)].append(part)
        return [partial(self._do, share) for share in shares if share]

    def _do(self, parts: list[list[Any]]) -> None:
        try:
            for part in parts:
                calls = iter(self._calls)
                for function, operands in calls:
                    function(*operands(part))
        except Exception:
            self.failed = len(self._calls) - operator.length_hint(calls) - 1
            raise


def picker(places: Sequence[int]) -> Pick:
    """What takes the arrays at these places out of a table."""
    if len(places) == 1:
        only = places[0]
        return lambda table: (table[only],)
    return operator.itemgetter(*places)
