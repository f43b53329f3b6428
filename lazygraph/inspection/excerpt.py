"""The part of a big graph that still makes a picture: what is nearest to the targets."""

from collections import deque
from typing import NamedTuple

from lazygraph.inspection.picture import Picture, Row

HIDDEN = -1  # the position of the one node that stands for all that are left out


class Excerpt(NamedTuple):
    """Rows to draw, and what connects them.

    Attributes:
        rows: in canonical order.
        edges: pairs of positions, operand first; one for each operand.
        crossing: pairs of which one is HIDDEN: what is read from, or by, nodes left out.
        hidden: how many nodes are left out.
    """

    rows: list[Row]
    edges: list[tuple[int, int]]
    crossing: list[tuple[int, int]]
    hidden: int


def excerpt(picture: Picture, limit: int | None) -> Excerpt:
    """The nodes nearest to the targets, at most `limit` of them; None means all.

    Raises:
        ValueError: `limit` is not a positive number.
    """
    if limit is not None and limit < 1:
        raise ValueError(f"limit must be None or at least 1; got {limit}")
    kept = _nearest(picture, limit)
    edges: list[tuple[int, int]] = []
    crossing: dict[tuple[int, int], None] = {}
    for row in picture.rows:
        for operand in row.operands:
            ends = (
                operand if operand in kept else HIDDEN,
                row.position if row.position in kept else HIDDEN,
            )
            if HIDDEN not in ends:
                edges.append(ends)
            elif ends != (HIDDEN, HIDDEN):
                crossing[ends] = None
    rows = [row for row in picture.rows if row.position in kept]
    return Excerpt(rows, edges, list(crossing), len(picture.rows) - len(rows))


def _nearest(picture: Picture, limit: int | None) -> set[int]:
    rows = picture.rows
    if limit is None or len(rows) <= limit:
        return set(range(len(rows)))
    kept: set[int] = set()
    waiting = deque(picture.targets)
    while len(kept) < limit:  # every row can be reached, so that this comes to an end
        position = waiting.popleft()
        if position not in kept:
            kept.add(position)
            waiting += rows[position].operands
    return kept
