"""Passes over a run of elements, vector by vector."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from lazygraph.backends.native.loops import counted_loop, if_
from lazygraph.backends.native.memory import Part
from lazygraph.backends.native.types import INT64, ir

BLOCK = 1024  # elements that are accumulated before their sums are added to others


class Here(NamedTuple):
    """One vector of a pass.

    Attributes:
        column: the number of its first element.
        part: which of its lanes stand for elements.
        slot: which of the vectors that one round handles it is.
        number: its place in the row, if that is known when code is made, else -1.
    """

    column: ir.Value
    part: Part
    slot: int
    number: int = -1


class Sweep(NamedTuple):
    """How a pass is emitted.

    Attributes:
        lanes: of a vector.
        unroll: vectors a round.
        body: emits what is to be done with one vector.
        turn: emits what is to be done after so many vectors of a round.
    """

    lanes: int
    unroll: int
    body: Callable[[Here], None]
    turn: Callable[[int], None]


def unrolled(columns: int, sweep: Sweep) -> None:
    """A pass over few columns without any loop; there are no turns."""
    for index, column in enumerate(range(0, columns, sweep.lanes)):
        part = Part(sweep.lanes, min(sweep.lanes, columns - column))
        sweep.body(Here(INT64(column), part, index, index))


def looped(b: ir.IRBuilder, first: ir.Value, count: int | ir.Value, sweep: Sweep) -> None:
    """A pass over `count` columns from the first on."""
    lanes, step = sweep.lanes, sweep.lanes * sweep.unroll
    if isinstance(count, int):
        rounds: int | ir.Value = count // step * step
        whole: int | ir.Value = count // lanes * lanes
    else:
        rounds = b.and_(count, INT64(-step))
        whole = b.and_(count, INT64(-lanes))
    _rounds(b, first, INT64(0), rounds, sweep, sweep.unroll)
    if sweep.unroll > 1:
        _rounds(b, first, rounds, whole, sweep, 1)
    if isinstance(count, int) and isinstance(whole, int):
        if count > whole:
            part = Part(lanes, count - whole)
            sweep.body(Here(b.add(first, INT64(whole)), part, 0))
            sweep.turn(1)
        return
    with if_(b, b.icmp_signed("<", whole, count), likely=False):
        part = Part(lanes, b.sub(count, whole))
        sweep.body(Here(b.add(first, whole), part, 0))
        sweep.turn(1)


def _rounds(
    b: ir.IRBuilder,
    first: ir.Value,
    start: int | ir.Value,
    stop: int | ir.Value,
    sweep: Sweep,
    unroll: int,
) -> None:
    if isinstance(start, int):
        start = INT64(start)
    if isinstance(stop, int):
        stop = INT64(stop)
    with counted_loop(b, b.sub(stop, start), sweep.lanes * unroll) as i:
        column = b.add(first, b.add(start, i))
        for slot in range(unroll):
            at = b.add(column, INT64(slot * sweep.lanes))
            sweep.body(Here(at, Part(sweep.lanes, sweep.lanes), slot))
        sweep.turn(unroll)


@contextmanager
def blocks(b: ir.IRBuilder, count: int | ir.Value) -> Iterator[tuple[ir.Value, int | ir.Value]]:
    """Cut a run into blocks, of which the last may be shorter: yields start and length."""
    if isinstance(count, int) and count <= BLOCK:
        yield INT64(0), count
        return
    total = INT64(count) if isinstance(count, int) else count
    with counted_loop(b, total, BLOCK) as start:
        rest = b.sub(total, start)
        yield start, b.select(b.icmp_signed("<", rest, INT64(BLOCK)), rest, INT64(BLOCK))
