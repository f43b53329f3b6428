"""Kernels of `emit` rules, many in one module, compiled for a target and called with arrays."""

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir

from lazygraph.backends.native.loops import counted_loop
from lazygraph.backends.native.register import Register, load, store
from lazygraph.backends.native.scalars import LlvmScalars
from lazygraph.backends.native.types import INT64, POINTER, memory_type
from lazygraph.dtypes import DType, as_dtype
from tests.lazygraph.exactness import Array


class Rule(NamedTuple):
    """An `emit` rule and the dtypes of its operands."""

    emit: Callable[..., Register]
    inputs: Sequence[Any]


@dataclass(frozen=True)
class Target:
    """What kernels are compiled for.

    Attributes:
        features: as LLVM spells them; None means those of this machine.
        lanes: how many elements are handled side by side.
    """

    features: str | None
    lanes: int

    def __str__(self) -> str:
        return f"{'host' if self.features is None else 'baseline'}-{self.lanes}"

    @property
    def fused(self) -> bool:
        return self.features is None and bool(llvm.get_host_cpu_features().get("fma", False))


ONE, EIGHT, SIXTEEN = (Target(None, lanes) for lanes in (1, 8, 16))
BASELINE = Target("", 8)  # every machine of this architecture: no AVX, no fused multiply-add
TARGETS = (ONE, EIGHT, SIXTEEN, BASELINE)


def machine_for(features: str | None) -> llvm.TargetMachine:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    # A new one each time: it belongs to the engine that is made with it.
    target = llvm.Target.from_triple(llvm.get_process_triple())
    cpu = ""
    if features is None:
        cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    return target.create_target_machine(cpu=cpu, features=features, opt=2, jit=True)


class Library:
    """Compiled rules, by name."""

    def __init__(self, rules: Mapping[str, Rule], target: Target) -> None:
        self.lanes = target.lanes
        module = ir.Module()
        self.results = {name: _build(module, name, rules[name], target) for name in rules}
        machine = machine_for(target.features)
        compiled = llvm.parse_assembly(str(module))
        compiled.verify()
        passes = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(2))
        passes.getModulePassManager().run(compiled, passes)
        self.engine = llvm.create_mcjit_compiler(compiled, machine)
        self.engine.finalize_object()

    def address(self, name: str) -> int:
        return int(self.engine.get_function_address(_symbol(name)))

    def run(self, name: str, *arrays: Array) -> Array:
        """What a rule makes of arrays of any one shape."""
        shape, size = arrays[0].shape, arrays[0].size
        padded = -(-size // self.lanes) * self.lanes
        operands = [np.resize(x, padded) for x in arrays]
        out = np.empty(padded, self.results[name].dtype)
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*operands, out)]
        kind = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * len(pointers))
        kind(self.address(name))(padded, *pointers)
        return out[:size].reshape(shape)


def _build(module: ir.Module, name: str, rule: Rule, target: Target) -> DType:
    inputs = [as_dtype(dtype) for dtype in rule.inputs]
    kind = ir.FunctionType(ir.VoidType(), [INT64, *[POINTER] * (len(inputs) + 1)])
    function = ir.Function(module, kind, _symbol(name))
    b = ir.IRBuilder(function.append_basic_block())
    count, *sources, result = function.args
    k = LlvmScalars(b, fused=target.fused)
    with counted_loop(b, count, target.lanes) as i:
        operands = []
        for source, dtype in zip(sources, inputs, strict=True):
            place = b.gep(source, [i], source_etype=memory_type(dtype))
            operands.append(load(k.site, place, dtype, target.lanes))
        y = rule.emit(k, *operands)
        store(y, b.gep(result, [i], source_etype=memory_type(y.dtype)))
    b.ret_void()
    return y.dtype


def _symbol(name: str) -> str:
    """A name that the C library does not have, as it has `floor`."""
    return f"kernel_{name}"
