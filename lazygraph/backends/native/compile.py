"""From a module of LLVM's language to machine code.

LLVM works without the lock of Python, and in a context of its own it needs no other. llvmlite
holds one lock around every call all the same; the two calls that take the time go past it, so
that kernels are compiled on all cores.
"""

import ctypes
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
from llvmlite.binding import ffi

from lazygraph.backends.native.targets import Target

# How hard LLVM tries, from 0 to 3: at 2 it vectorizes, and 3 gave nothing more.
EFFORT = 2


def machine_code(text: str, target: Target, effort: int = EFFORT) -> bytes:
    """Optimized machine code, as an object file that `loading.Library` can load.

    Several Python threads can call this at once.

    Args:
        text: a module of LLVM's language. It need not name the processor.
        target: the processor that will run it.
        effort: from 0 to 3. At 0 it takes a tenth of the time; good for code that only calls.
    """
    machine = target.machine(effort)
    return _emit(machine, _optimize(text, target, machine, effort), as_object=True)


def assembly(text: str, target: Target) -> str:
    """The same code for people to read."""
    machine = target.machine(EFFORT)
    return _emit(machine, _optimize(text, target, machine, EFFORT), as_object=False).decode()


def optimized(text: str, target: Target) -> str:
    """The module as LLVM leaves it before it picks instructions."""
    return str(_optimize(text, target, target.machine(EFFORT), EFFORT))


def _optimize(
    text: str, target: Target, machine: llvm.TargetMachine, effort: int
) -> llvm.ModuleRef:
    module = llvm.parse_assembly(text, llvm.create_context())
    module.triple = target.triple
    module.data_layout = str(machine.target_data)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=effort)
    options.loop_vectorization = True
    options.slp_vectorization = True
    builder = llvm.create_pass_builder(machine, options)
    passes = builder.getModulePassManager()
    _unlocked("LLVMPY_RunNewModulePassManager")(passes, module, builder)
    return module


def _emit(machine: llvm.TargetMachine, module: llvm.ModuleRef, *, as_object: bool) -> bytes:
    emit = _unlocked("LLVMPY_TargetMachineEmitToMemory")
    with ffi.OutputString() as complaint:
        buffer = emit(machine, module, int(as_object), complaint)
        if not buffer:
            raise RuntimeError(str(complaint))
    try:
        start = ffi.lib.LLVMPY_GetBufferStart(buffer)
        return ctypes.string_at(start, ffi.lib.LLVMPY_GetBufferSize(buffer))
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


def _unlocked(name: str) -> Callable[..., Any]:
    """A function of llvmlite's library that other threads need not wait for."""
    locked = getattr(ffi.lib, name)
    function = ctypes.CDLL(ffi.lib._name)[name]
    function.argtypes, function.restype = locked.argtypes, locked.restype
    return function
