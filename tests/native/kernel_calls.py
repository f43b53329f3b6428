"""Statements about arrays, run as NumPy calls and as compiled kernels."""

import ctypes
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir

from lazygraph.backends.native import kernels
from lazygraph.backends.native.kernels import Kernel
from lazygraph.backends.native.statements import Operand, Statement
from lazygraph.dtypes import as_dtype
from lazygraph.extend import OPS, Spec
from tests.lazygraph.exactness import Array, assert_same_bits

_CODE: dict[Hashable, "Code"] = {}
_SIGNATURE = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 3)
THREADS = (1, 2, 3, 4)
_FILL = 0x5B  # what is in memory before anything is written to it


class Code:
    """Machine code of the kernels with one key."""

    def __init__(self, kernel: Kernel) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        features = llvm.get_host_cpu_features()
        module = ir.Module()
        kernels.build(module, "kernel", kernel, fused=bool(features.get("fma", False)))
        target = llvm.Target.from_triple(llvm.get_process_triple())
        self.machine = target.create_target_machine(
            cpu=llvm.get_host_cpu_name(), features=features.flatten(), opt=3, jit=True
        )
        self.module = llvm.parse_assembly(str(module))
        self.module.verify()
        options = llvm.create_pipeline_tuning_options(3)
        options.loop_unrolling = False  # kernels have the rounds that they want
        options.loop_vectorization = options.slp_vectorization = False
        passes = llvm.create_pass_builder(self.machine, options)
        passes.getModulePassManager().run(self.module, passes)
        self.text = str(self.module)
        self.engine = llvm.create_mcjit_compiler(self.module, self.machine)
        self.engine.finalize_object()
        self.main = _SIGNATURE(self.engine.get_function_address("kernel"))
        self.finish = (
            _SIGNATURE(self.engine.get_function_address("kernel_finish"))
            if kernel.needs_finish
            else None
        )


def code_of(kernel: Kernel) -> Code:
    if kernel.key not in _CODE:
        _CODE[kernel.key] = Code(kernel)
    return _CODE[kernel.key]


class Call:
    """A kernel with its arguments, ready to run again and again."""

    def __init__(
        self, kernel: Kernel, memory: Sequence[Array], count: int | None = None
    ) -> None:
        self.code, self.memory = code_of(kernel), memory
        table = [x.__array_interface__["data"][0] for x in memory]
        self.table = np.array(table, np.int64)
        self.places = np.array(kernel.arguments, np.int64)
        self.scratch = np.full(kernel.scratch_bytes(max(THREADS)) + 64, _FILL, np.uint8)
        pointers = [x.ctypes.data for x in (self.table, self.places, self.scratch)]
        self.arguments = (*pointers, kernel.count if count is None else count)

    def __call__(self, threads: int = 1) -> None:
        for phase in (self.code.main, self.code.finish):
            if phase is not None:
                for thread in range(threads):
                    phase(*self.arguments, thread, threads)


@dataclass
class Tape:
    """Arrays in memory of their own, and calls of them in order."""

    memory: list[Array] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)

    def array(self, x: Any) -> Operand:
        """A copy of an array; what it is a view of is copied with it."""
        x = np.asarray(x)
        base = x
        while isinstance(base.base, np.ndarray):
            base = base.base
        starts = [each.__array_interface__["data"][0] for each in (x, base)]
        self.memory.append(np.array(base, order="K"))
        place, offset = len(self.memory) - 1, starts[0] - starts[1]
        return Operand(place, offset, x.shape, x.strides, as_dtype(x.dtype))

    def call(
        self,
        name: str,
        *inputs: Operand,
        params: tuple[Hashable, ...] = (),
        stored: bool = True,
        out: Operand | None = None,
    ) -> Operand:
        """Append `out = op(*inputs)`; `out` gets memory of its own if none is given."""
        op = OPS[name]
        specs = [Spec(operand.shape, operand.dtype) for operand in inputs]
        spec = op.infer(*specs, **op.named(params))
        if out is None:
            fresh = np.empty(spec.shape, spec.dtype.dtype)
            fresh.view(np.uint8).fill(_FILL) if fresh.ndim else None
            out = self.array(fresh)
        self.statements.append(Statement(op, params, inputs, out, stored))
        return out

    def evaluated(self) -> list[Array]:
        """The memory after NumPy's calls, one after the other."""
        memory = [x.copy(order="K") for x in self.memory]
        with np.errstate(all="ignore"):
            for statement in self.statements:
                inputs = [view(memory, operand) for operand in statement.inputs]
                out = view(memory, statement.out)
                result = np.empty(out.shape, out.dtype)
                op = statement.op
                op.evaluate(*inputs, out=result, **op.named(statement.params))
                out[...] = result
        return memory

    def run(self, threads: int = 1, groups: Sequence[Sequence[Statement]] = ()) -> list[Array]:
        """The memory after kernels of groups of statements; one of them all by default."""
        memory = [x.copy(order="K") for x in self.memory]
        for group in groups or [self.statements]:
            Call(kernels.plan(group), memory)(threads)
        return memory


def view(memory: Sequence[Array], operand: Operand) -> Array:
    flat = memory[operand.place]
    return np.ndarray(
        operand.shape,
        operand.dtype.dtype,
        flat.data if flat.flags.c_contiguous else flat.T.data,
        operand.offset,
        operand.strides,
    )


def alone(tape: Tape) -> list[list[Statement]]:
    return [[replace(statement, stored=True)] for statement in tape.statements]


def results(tape: Tape, memory: Sequence[Array]) -> list[Array]:
    return [view(memory, s.out) for s in tape.statements if s.stored]


def assert_fused_as_alone(tape: Tape) -> list[Array]:
    """One kernel of everything, on any number of threads, has the bits of many kernels."""
    wanted = results(tape, tape.run(groups=alone(tape)))
    for threads in THREADS:
        found = results(tape, tape.run(threads))
        for x, y in zip(found, wanted, strict=True):
            assert_same_bits(x, y)
    return wanted


def assert_exact(tape: Tape) -> None:
    found = assert_fused_as_alone(tape)
    for x, y in zip(found, results(tape, tape.evaluated()), strict=True):
        assert_same_bits(x, y)


def assert_close(tape: Tape, ulps: float) -> None:
    """Within so many units in the last place of each result's largest element."""
    found = assert_fused_as_alone(tape)
    for x, y in zip(found, results(tape, tape.evaluated()), strict=True):
        unit = np.spacing(np.abs(y).max().astype(x.dtype)) if x.dtype.kind == "f" else 0
        error = np.abs(x.astype(np.float64) - y).max()
        assert error <= ulps * unit, error / unit


def softmax(tape: Tape, x: Operand) -> None:
    highest = tape.call("max", x, params=((1,),), stored=False)
    e = tape.call("exp", tape.call("subtract", x, highest, stored=False), stored=False)
    tape.call("divide", e, tape.call("sum", e, params=((1,),), stored=False))


def layer_norm(tape: Tape, x: Operand) -> None:
    columns = x.shape[-1]
    dtype = x.dtype.type
    share, floor = tape.array(dtype(1 / columns)), tape.array(dtype(1e-5))
    scale, shift = (tape.array(np.linspace(low, 2, columns, dtype=dtype)) for low in (1, 0))

    def call(op: str, *inputs: Operand, **options: Any) -> Operand:
        return tape.call(op, *inputs, **({"stored": False} | options))

    mean = call("multiply", call("sum", x, params=((1,),)), share)
    distance = call("subtract", x, mean)
    square = call("multiply", distance, distance)
    var = call("multiply", call("sum", square, params=((1,),)), share)
    deviation = call("sqrt", call("add", var, floor), stored=True)
    normal = call("divide", distance, deviation, stored=True)
    y = call("add", call("multiply", normal, scale), shift, stored=True)
    # Gradients of scale and shift, were `y` the upstream.
    call("sum", call("multiply", y, normal), params=((0,),), stored=True)
    call("sum", y, params=((0,),), stored=True)
