"""Memory that is kept between runs: blocks for intermediates, arrays for results."""

import sys
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lazygraph.graph.node import Value
from lazygraph.graph.spec import Spec
from lazygraph.locks import lock_across_forks
from lazygraph.passes.memory import ALIGNMENT

_SMALL = 1 << 13  # bytes: a fresh array is found faster than one that nobody uses
_IDLE = 16  # memory that so many requests passed over is given back to the system


class Block:
    """Memory for the intermediates of one running program."""

    __slots__ = ("__weakref__", "bindings", "last_wanted", "memory")

    def __init__(self, nbytes: int) -> None:
        whole = np.empty(nbytes + ALIGNMENT, np.uint8)
        start = -whole.ctypes.data % ALIGNMENT
        self.memory = whole[start : start + nbytes]
        self.last_wanted = 0
        # What programs have prepared for this block; one that dies takes its entry along.
        self.bindings: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


class ArenaPool:
    """Blocks that no run is using now. Each run takes one, so that threads do not meet."""

    def __init__(self) -> None:
        self._free: list[Block] = []
        self._requests = 0
        self._lock = lock_across_forks()

    @contextmanager
    def block(self, nbytes: int) -> Iterator[Block]:
        """The smallest free block of `nbytes` or more, or a new one.

        It is used again unless the run fails: then another thread may still be writing to it.
        """
        with self._lock:
            self._requests += 1
            fitting = [b for b in self._free if b.memory.nbytes >= nbytes]
            block = min(fitting, key=lambda b: b.memory.nbytes) if fitting else Block(nbytes)
            block.last_wanted = self._requests
            oldest = self._requests - _IDLE
            self._free = [b for b in self._free if b is not block and b.last_wanted > oldest]
        yield block
        with self._lock:
            self._free.append(block)


def _references(arrays: list[Value]) -> list[int]:
    return [sys.getrefcount(array) for array in arrays]


# What the count is for an array that nobody but the pool's list refers to.
_UNUSED = _references([np.empty(0)])[0]


@dataclass(slots=True)
class _Shelf:
    """Arrays of one spec that were handed out, with the request that each was handed out in."""

    arrays: list[Value] = field(default_factory=list)
    handed: list[int] = field(default_factory=list)
    requests: int = 0
    last_run: int = 0

    def unused(self) -> list[int]:
        """The places of arrays that nobody refers to. Those in use for long are let go."""
        if self.requests % _IDLE == 0:
            self._let_go()
        return [i for i, count in enumerate(_references(self.arrays)) if count == _UNUSED]

    def _let_go(self) -> None:
        kept = [
            i
            for i, count in enumerate(_references(self.arrays))
            if count == _UNUSED or self.requests - self.handed[i] < _IDLE
        ]
        self.arrays = [self.arrays[i] for i in kept]
        self.handed = [self.handed[i] for i in kept]


class ResultPool:
    """Arrays for results, used again once nobody refers to them.

    A value that was handed out never changes: an array counts as free only while the pool holds
    the only reference to it, and views refer to the array that they look into.
    """

    def __init__(self) -> None:
        self._shelves: dict[Spec, _Shelf] = {}
        self._runs = 0
        self._lock = lock_across_forks()

    def take(self, specs: Mapping[Spec, int]) -> dict[Spec, list[Value]]:
        """As many arrays of each spec as are asked for, with whatever is in them."""
        with self._lock:
            self._runs += 1
            if self._runs % _IDLE == 0:
                self._drop_idle()
            return {spec: self._arrays(spec, count) for spec, count in specs.items()}

    def _arrays(self, spec: Spec, count: int) -> list[Value]:
        if spec.nbytes <= _SMALL:
            return [np.empty(spec.shape, spec.dtype.dtype) for _ in range(count)]
        shelf = self._shelves.setdefault(spec, _Shelf())
        shelf.requests += 1
        shelf.last_run = self._runs
        places = shelf.unused()[:count]
        for _ in range(count - len(places)):
            places.append(len(shelf.arrays))
            shelf.arrays.append(np.empty(spec.shape, spec.dtype.dtype))
            shelf.handed.append(0)
        for i in places:
            shelf.handed[i] = shelf.requests
        return [shelf.arrays[i] for i in places]

    def _drop_idle(self) -> None:
        for spec, shelf in list(self._shelves.items()):
            if self._runs - shelf.last_run >= _IDLE:
                del self._shelves[spec]


arenas = ArenaPool()
results = ResultPool()
