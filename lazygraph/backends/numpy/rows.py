"""Runs of calls that can be done a few rows at a time, to keep what they compute in the cache.

    t = x - mean;  s = t * t;  v = sum(s, axes=(1,))      over arrays of 8192 rows

Each of the three calls reads and writes 24 MB if it is done for all rows before the next one.
Done for 40 rows, one call after the other, and then for the next 40, they find their operands
in the cache; and `s`, which nothing else reads, needs the memory of 40 rows only. Where there
is much to do, each thread does a share of the rows. No bit changes: every call computes each
row from the same operands in the same order.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from lazygraph.backends.layout import Call, Entry, Storage
from lazygraph.graph.op import Kind
from lazygraph.graph.spec import Shape
from lazygraph.passes.memory import Interval, aligned, place
from lazygraph.settings import num_threads

BLOCK_BYTES = 1 << 18  # of one array: several of them fit into a second-level cache
_TINY_BYTES = 1 << 15  # of an array that is left out of blocks, unless it is made in one
_MOST_DEFERRED_BYTES = 1 << 16
# From this size of an array on, threads share the rows: of shorter calls Python's lock, which
# passes from thread to thread at every call, takes more than the second thread gives.
SHARED_BYTES = 1 << 23


@dataclass(slots=True, eq=False)
class RowGroup:
    """Calls that are separable along common leading axes.

    Attributes:
        calls: in order.
        axes: the lengths of the leading axes, which together count the rows.
        made: the storages that the calls write.
        widest: the bytes of the largest of them.
        first: the number of the first call.
        threads: among how many the rows are shared.
        offsets: places of values that live within a block only, in a thread's scratch.
        scratch_bytes: the size of that scratch.
    """

    calls: list[Call]
    axes: Shape
    made: set[Storage] = field(default_factory=set)
    widest: int = 0
    first: int = 0
    threads: int = 1
    offsets: dict[Storage, int] = field(default_factory=dict)
    scratch_bytes: int = 0

    @property
    def last(self) -> int:
        """The number of the last call."""
        return self.first + len(self.calls) - 1

    @property
    def rows(self) -> int:
        """How many rows there are in all."""
        return math.prod(self.axes)

    @property
    def rows_a_block(self) -> int:
        """How many rows are done at a time: the threads get equally many such blocks."""
        nbytes = BLOCK_BYTES if self.threads == 1 else 2 * BLOCK_BYTES
        most = max(1, nbytes // max(1, self.widest // self.rows))
        rounds = math.ceil(self.rows / (most * self.threads))
        return math.ceil(self.rows / (rounds * self.threads))

    def add(self, call: Call, axes: Shape) -> None:
        """Append a call; rows are counted by these axes from now on."""
        self.calls.append(call)
        self.axes = axes
        self.made.add(call.out.storage)
        self.widest = max(self.widest, call.out.phantom.nbytes)

    def settle(self, local: Sequence[Storage]) -> None:
        """Place the storages that live within a block in the scratch."""
        ordered = sorted(local, key=lambda storage: storage.first)
        intervals = [
            Interval(s.spec.nbytes // self.rows * self.rows_a_block, s.first, s.last)
            for s in ordered
        ]
        offsets, nbytes = place(intervals)
        self.scratch_bytes = aligned(nbytes)
        self.offsets = dict(zip(ordered, offsets, strict=True))
        for call in self.calls:
            if call.out.storage.place in self.offsets:
                call.step = replace(call.step, where="block")

    def read_otherwise(self) -> set[Storage]:
        """What some call reads in another way than row by row: it must not be overwritten."""
        return {
            entry.storage.place
            for call in self.calls
            for entry in call.inputs
            if not shows_rows(entry, self.axes, call)
        }

    def is_worth_it(self) -> bool:
        """Whether blocks save time: threads share them, or they stay in the cache."""
        return max(len(self.calls), self.threads) > 1 and self.rows_a_block < self.rows

    def share(self) -> None:
        """Decide among how many threads to share the rows."""
        self.threads = min(num_threads(), self.rows) if self.widest >= SHARED_BYTES else 1


def separable_axes(call: Call) -> Shape:
    """The lengths of the leading axes along which a call does the same for each index alone."""
    shape: Shape = call.out.phantom.shape
    count = _own_axes(call, len(shape))
    for entry in call.inputs:
        count = min(count, _shared_axes(entry, shape, count))
    return shape[:count]


def _own_axes(call: Call, rank: int) -> int:
    if call.kind is Kind.POINTWISE:
        return rank
    if call.kind is Kind.REDUCTION:
        axes: Shape = call.named.get("axes", (call.named.get("axis", 0),))
        return min([rank, *axes])
    return 0


def _shared_axes(entry: Entry, shape: Shape, most: int) -> int:
    """Along how many leading axes an operand has a part for each index, or one for all."""
    given = (1,) * (len(shape) - entry.phantom.ndim) + entry.phantom.shape
    if all(n == 1 for n in given[:most]):
        return most
    same = 0
    while same < most and given[same] == shape[same]:
        same += 1
    if not entry.is_dense:
        same = min(same, 1)  # rows of a view can be counted along one axis only
    # An operand that is stretched along the first axes already is one for all, further in.
    return same if same else _leading_ones(given, most)


def _leading_ones(given: Shape, most: int) -> int:
    count = 0
    while count < most and given[count] == 1:
        count += 1
    return count


def grouped(calls: Sequence[Call]) -> tuple[list[Call], list[RowGroup]]:
    """The calls in an order in which groups are as long as can be, and the groups.

    A small call that would break a run is done before it, if it needs nothing of the run, such
    as a power of Adam's, or else after it, such as the gradient of a bias. Large ones end it:
    their operands would have to be kept.
    """
    order: list[Call] = []
    groups: list[RowGroup] = []
    current: RowGroup | None = None
    put_off: set[Storage] = set()  # by calls that were put off
    deferred: list[Call] = []
    for call in calls:
        reads = {entry.storage for entry in call.inputs}
        axes = separable_axes(call)
        if current is not None:
            apart = _is_tiny(call) and not reads & current.made
            if not apart and not reads & put_off and _joins(current, call, axes):
                continue
            if _is_small(call):
                if reads & current.made or reads & put_off:
                    deferred.append(call)
                    put_off.add(call.out.storage)
                else:
                    order.append(call)
                continue
        order += _closed(current, deferred, groups, len(order))
        current, deferred, put_off = None, [], set()
        if math.prod(axes) > 1:
            current = RowGroup([], axes)
            current.add(call, axes)
        else:
            order.append(call)
    order += _closed(current, deferred, groups, len(order))
    return order, groups


def _joins(group: RowGroup, call: Call, axes: Shape) -> bool:
    common: list[int] = []
    for n, m in zip(group.axes, axes, strict=False):
        if n != m:
            break
        common.append(n)
    if math.prod(common) < 2:
        return False
    if max(group.widest, call.out.phantom.nbytes) // math.prod(common) > BLOCK_BYTES:
        return False
    axes = tuple(common)
    if not all(x.storage not in group.made or shows_rows(x, axes, call) for x in call.inputs):
        return False
    group.add(call, axes)
    return True


def shows_rows(entry: Entry, axes: Shape, call: Call) -> bool:
    """Whether an operand of a call shows all of its storage, in order, under leading axes."""
    whole = entry.phantom.nbytes == entry.storage.spec.nbytes
    if not (entry.is_dense and whole and entry.phantom.shape[: len(axes)] == axes):
        return False
    return entry.phantom.ndim == call.out.phantom.ndim  # a row beside rows has none of its own


def _is_tiny(call: Call) -> bool:
    """Whether done in blocks, it would be little but the overhead of calls."""
    return call.out.phantom.nbytes <= _TINY_BYTES


def _is_small(call: Call) -> bool:
    if call.kind in (Kind.CONTRACTION, Kind.MOVE):
        return False
    return call.out.phantom.nbytes <= _MOST_DEFERRED_BYTES


def _closed(
    group: RowGroup | None, deferred: list[Call], groups: list[RowGroup], number: int
) -> list[Call]:
    if group is None:
        return deferred
    group.first = number
    group.share()
    if group.is_worth_it():
        groups.append(group)
    return [*group.calls, *deferred]
