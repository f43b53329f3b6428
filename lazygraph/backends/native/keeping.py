"""Which values a later pass over a row computes again, and which are kept for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lazygraph.backends.native.staging import Value

_CHEAP = 6  # instructions: less than what it costs to keep a value


def later(i: int, stages: Sequence[int], uses: Sequence[Sequence[int]]) -> bool:
    return any(stages[use] > stages[i] for use in uses[i])


def cheap(
    values: Sequence[Value],
    stages: Sequence[int],
    uses: Sequence[Sequence[int]],
    overwritten: set[int],
) -> set[int]:
    """Values that a later pass had better compute again from what lies in memory."""
    found: set[int] = set()
    for i, value in enumerate(values):
        if value.op is None or not value.is_full or value.weight > _CHEAP:
            continue
        if not later(i, stages, uses):
            continue
        sources = [x for x in value.inputs if values[x].is_full]
        at_hand = all(values[x].op is None and x not in overwritten for x in sources)
        if at_hand and len(sources) <= 1:
            found.add(i)
    return found


def kept_values(
    values: Sequence[Value],
    stages: Sequence[int],
    uses: Sequence[Sequence[int]],
    overwritten: set[int],
    again: set[int],
) -> set[int]:
    """Values that a later pass reads and that are neither stored nor computed again."""
    kept: set[int] = set()
    for i, value in enumerate(values):
        if not value.is_full or i in again or not later(i, stages, uses):
            continue
        if i in overwritten or (value.op is not None and value.access is None):
            kept.add(i)
    return kept
