"""Memory that is kept between runs: blocks for intermediates, arrays for results."""

import sys
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from lazygraph.graph.node import Value
from lazygraph.graph.spec import Spec
from lazygraph.passes.memory import ALIGNMENT

_IDLE_RUNS = 16  # a free array that so many runs did not want is given back to the system


class Block:
    """Memory for the intermediates of one running program."""

    __slots__ = ("__weakref__", "bindings", "memory")

    def __init__(self, nbytes: int) -> None:
        whole = np.empty(nbytes + ALIGNMENT, np.uint8)
        start = -whole.ctypes.data % ALIGNMENT
        self.memory = whole[start : start + nbytes]
        # What programs have prepared for this block; a program that dies takes its entry along.
        self.bindings: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


class ArenaPool:
    """Blocks that no run is using now. Each run takes one, so that threads do not meet."""

    def __init__(self) -> None:
        self._free: list[Block] = []
        self._lock = threading.Lock()

    @contextmanager
    def block(self, nbytes: int) -> Iterator[Block]:
        """The smallest free block of `nbytes` or more; a new one replaces the largest."""
        with self._lock:
            fitting = [b for b in self._free if b.memory.nbytes >= nbytes]
            if fitting:
                block = min(fitting, key=lambda b: b.memory.nbytes)
                self._free.remove(block)
            else:
                if self._free:
                    self._free.remove(max(self._free, key=lambda b: b.memory.nbytes))
                block = Block(nbytes)
        try:
            yield block
        finally:
            with self._lock:
                self._free.append(block)


def _references(arrays: list[Value]) -> list[int]:
    return [sys.getrefcount(array) for array in arrays]


# What the count is for an array that nobody but the pool's list refers to.
_UNUSED = _references([np.empty(0)])[0]


class ResultPool:
    """Arrays for results, used again once nobody refers to them.

    A value that was handed out never changes: an array counts as free only while the pool holds
        the
    only reference to it, and views refer to the array that they look into.
    """

    def __init__(self) -> None:
        self._arrays: dict[Spec, list[Value]] = {}
        self._last_wanted: dict[Spec, int] = {}
        self._runs = 0
        self._lock = threading.Lock()

    def take(self, specs: Sequence[Spec]) -> list[Value]:
        """One array for each spec, with whatever is in it."""
        with self._lock:
            self._runs += 1
            free: dict[Spec, list[Value]] = {}
            result = []
            for spec in specs:
                if spec not in free:
                    free[spec] = self._unused(spec)
                spare = free[spec]
                if spare:
                    result.append(spare.pop())
                else:
                    result.append(np.empty(spec.shape, spec.dtype.dtype))
                    self._arrays[spec].append(result[-1])
            self._trim()
            return result

    def _unused(self, spec: Spec) -> list[Value]:
        arrays = self._arrays.setdefault(spec, [])
        self._last_wanted[spec] = self._runs
        counts = _references(arrays)
        return [a for a, count in zip(arrays, counts, strict=True) if count == _UNUSED]

    def _trim(self) -> None:
        if self._runs % _IDLE_RUNS:
            return
        for spec, last in list(self._last_wanted.items()):
            if self._runs - last >= _IDLE_RUNS:
                del self._arrays[spec], self._last_wanted[spec]


arenas = ArenaPool()
results = ResultPool()
