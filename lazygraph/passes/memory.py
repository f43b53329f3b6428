"""Places in one block of memory for buffers that live at different times."""

import bisect
import heapq
from collections.abc import Sequence
from dataclasses import dataclass

ALIGNMENT = 64  # bytes: a cache line, and the widest vector


@dataclass(frozen=True, slots=True)
class Interval:
    """A buffer of `nbytes`, written first at step `start` and read last at step `end`."""

    nbytes: int
    start: int
    end: int


def aligned(nbytes: int) -> int:
    """The next multiple of the alignment."""
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


def place(intervals: Sequence[Interval]) -> tuple[list[int], int]:
    """Offsets such that buffers alive at the same time do not overlap.

    Buffers are placed in the order in which they are written, each into the smallest gap that
    holds it, and at the end if none does; gaps that touch become one.

    Args:
        intervals: the buffers, ordered by `start`.

    Returns:
        An offset for each, and the size of the block.

    Example:
        >>> place([Interval(64, 0, 1), Interval(64, 1, 2), Interval(64, 2, 3)])
        ([0, 64, 0], 128)
    """
    offsets = []
    gaps: list[tuple[int, int]] = []  # (first byte, byte behind the last), ascending
    ending: list[tuple[int, int, int]] = []  # heap of (end, first byte, byte behind the last)
    size = 0
    for x in intervals:
        while ending and ending[0][0] < x.start:
            _, low, high = heapq.heappop(ending)
            _release(gaps, low, high)
        wanted = aligned(x.nbytes)
        fitting = [(high - low, low) for low, high in gaps if high - low >= wanted]
        if fitting:
            _, at = min(fitting)
            _occupy(gaps, at, at + wanted)
        else:
            at = gaps.pop()[0] if gaps and gaps[-1][1] == size else size
            size = at + wanted
        offsets.append(at)
        heapq.heappush(ending, (x.end, at, at + wanted))
    return offsets, size


def _release(gaps: list[tuple[int, int]], low: int, high: int) -> None:
    if low == high:
        return
    i = bisect.bisect(gaps, (low, high))
    if i < len(gaps) and gaps[i][0] == high:
        high = gaps.pop(i)[1]
    if i and gaps[i - 1][1] == low:
        low = gaps.pop(i - 1)[0]
        i -= 1
    gaps.insert(i, (low, high))


def _occupy(gaps: list[tuple[int, int]], low: int, high: int) -> None:
    if low == high:
        return
    i = bisect.bisect_left(gaps, (low, low))
    _, behind = gaps.pop(i)
    if behind > high:
        gaps.insert(i, (high, behind))
