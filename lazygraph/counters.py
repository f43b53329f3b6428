"""Counters of what the engine did, so that cost can be tested by counting."""

import itertools
from dataclasses import dataclass

_ids = itertools.count()
next_id = _ids.__next__


@dataclass(slots=True)
class Counters:
    """The mutable counts; read them through `stats`."""

    realizations: int = 0
    plans_built: int = 0
    plan_hits: int = 0
    kernels_compiled: int = 0
    peak_bytes: int = 0
    ids_read: int = 0


counters = Counters()


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts since the process started.

    Attributes:
        realizations: evaluations of a graph, each for all targets that were asked for at once.
        plans_built: plans made because no cached one fitted.
        plan_hits: plans taken from the cache.
        kernels_compiled: machine-code kernels made (none by the numpy backend).
        nodes_made: graph nodes recorded, the ones of derivatives and passes included.
        peak_bytes: the most memory that one realization used for intermediates and results.
    """

    realizations: int
    plans_built: int
    plan_hits: int
    kernels_compiled: int
    nodes_made: int
    peak_bytes: int


def stats() -> Stats:
    """The engine's counters so far.

    Returns:
        A frozen snapshot; subtract the fields of two snapshots to get the cost of what ran
        between.

    Example:
        >>> before = stats()
        >>> stats().realizations - before.realizations
        0
    """
    # Reading the counter of ids uses one id up, which is then subtracted.
    nodes = next_id() - counters.ids_read
    counters.ids_read += 1
    return Stats(
        counters.realizations,
        counters.plans_built,
        counters.plan_hits,
        counters.kernels_compiled,
        nodes,
        counters.peak_bytes,
    )
