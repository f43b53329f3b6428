"""Calls done by machine code of their own, outside of any program."""

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir

from lazygraph.backends.base import Step
from lazygraph.backends.layout import Call, Entry, Home, Storage
from lazygraph.backends.native import targets
from lazygraph.backends.native.building import Unit, load
from lazygraph.backends.native.driver import ARENA, FAULT, FAULT_SIZE
from lazygraph.backends.native.recipe import Special
from lazygraph.backends.native.special import special
from lazygraph.backends.native.steps import Places
from lazygraph.backends.native.symbols import symbols
from lazygraph.dtypes import as_dtype
from lazygraph.extend import Op
from lazygraph.graph.op import Params
from lazygraph.graph.spec import Spec

Array = np.ndarray[Any, np.dtype[Any]]

_KIND = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 3)
MOST_THREADS = 4
_GUARD = 256  # bytes around a result that nobody may touch
_UNTOUCHED = 0xA5


class Outcome:
    """What threads that go one after the other make of a call.

    Attributes:
        out: the result.
        fault: what was told of an index outside: the place of the result, and the index.
        places: of the table.
    """

    def __init__(self, work: Special, call: Call, places: Places, arrays: list[Array]) -> None:
        entries = [*call.inputs, call.out]
        memory = np.full(arrays[-1].nbytes + 2 * _GUARD, _UNTOUCHED, np.uint8)
        inside = memory[_GUARD : _GUARD + arrays[-1].nbytes]
        self.out: Array = inside.view(arrays[-1].dtype).reshape(arrays[-1].shape)
        self.fault = np.zeros(FAULT_SIZE, np.int64)
        self.places = places
        self._memory = memory
        table = np.zeros(places.count, np.int64)
        scratch = np.full(work.scratch_bytes(MOST_THREADS) + _GUARD, _UNTOUCHED, np.uint8)
        table[ARENA], table[FAULT] = scratch.ctypes.data, self.fault.ctypes.data
        for entry, array in zip(entries, [*arrays[:-1], self.out], strict=True):
            table[places.of[entry.storage]] = array.ctypes.data
        self._table, self._scratch = table, scratch
        self._arguments = np.array(work.arguments, np.int64)

    def run(self, address: int, count: int, threads: int) -> None:
        """Call a function as each of the threads."""
        for thread in range(threads):
            pointers = (x.ctypes.data for x in (self._table, self._arguments, self._scratch))
            _KIND(address)(*pointers, count, thread, threads)
        assert np.all(self._memory[:_GUARD] == _UNTOUCHED)
        assert np.all(self._memory[-_GUARD:] == _UNTOUCHED)
        assert np.all(self._scratch[-_GUARD:] == _UNTOUCHED)


def call_of(op: Op, params: Params, arrays: Sequence[Array]) -> Call:
    """A call whose operands are arrays, the last of which it writes."""
    entries = []
    for i, array in enumerate(arrays):
        spec = Spec(array.shape, as_dtype(array.dtype))
        home = Home.RESULT if i == len(arrays) - 1 else Home.SLOT
        entries.append(Entry(i, Storage(home, spec), array))
    step = Step(op.name, entries[-1].storage.spec, -1, "result")
    return Call(op, params, entries[:-1], entries[-1], step)


def expected(op: Op, params: Params, inputs: Sequence[Array]) -> Array:
    """What NumPy makes of it."""
    named = op.named(params)
    specs = [Spec(x.shape, as_dtype(x.dtype)) for x in inputs]
    spec = op.infer(*specs, **named)
    out = np.empty(spec.shape, spec.dtype.dtype)
    with np.errstate(all="ignore"):
        op.evaluate(*inputs, out, **named)
    return out


def planned(op: Op, params: Params, inputs: Sequence[Array], out: Array) -> Special | None:
    """How the call is done, if it is not by NumPy."""
    return special(call_of(op, params, [*inputs, out]), Places())


def outcome(
    op: Op, params: Params, inputs: Sequence[Array], out: Array, threads: int
) -> Outcome:
    """The call, done by so many threads.

    Args:
        op: the record.
        params: of the call.
        inputs: its operands.
        out: an array of the result's shape and dtype, which is not touched.
        threads: how many.
    """
    call, places = call_of(op, params, [*inputs, out]), Places()
    work = special(call, places)
    assert work is not None
    exports = ("kernel", "kernel_finish") if work.needs_finish else ("kernel",)
    fused = targets.current().has_fused_multiply_add

    def module() -> ir.Module:
        made = ir.Module("special")
        work.build(made, "kernel", fused=fused)
        return made

    code = load([Unit(f"special {fused} {work.key}", module, exports=exports)], symbols())[0]
    result = Outcome(work, call, places, [*inputs, out])
    for name in exports:
        result.run(code.addresses[name], work.count, threads)
    return result
