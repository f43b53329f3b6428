"""What a program of the native backend does, one step after the other."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from lazygraph.backends.layout import Call, Entry, Storage
from lazygraph.backends.native.driver import FIRST
from lazygraph.backends.native.statements import Operand, Statement
from lazygraph.backends.native.types import ir
from lazygraph.dtypes import as_dtype
from lazygraph.graph.op import Kind


@dataclass(slots=True, eq=False)
class Step:
    """Calls that are done together: by a kernel, by BLAS, or by NumPy.

    Attributes:
        calls: in order.
    """

    calls: list[Call] = field(default_factory=list)

    @property
    def reads(self) -> list[Entry]:
        """What it reads, also what it wrote itself before."""
        return [entry for call in self.calls for entry in call.inputs]

    @property
    def writes(self) -> list[Entry]:
        """What it computes, also what never gets memory."""
        return [call.out for call in self.calls]


@dataclass(slots=True, eq=False)
class NumpyStep(Step):
    """One call that NumPy does between two native segments."""


@dataclass(slots=True, eq=False)
class ProductStep(Step):
    """A product of matrices."""


@dataclass(slots=True, eq=False)
class KernelStep(Step):
    """Calls over one iteration space."""


class Work(Protocol):
    """What machine code is made for: a kernel, or one call that is none."""

    @property
    def key(self) -> Hashable:
        """Works with equal keys have equal machine code."""

    @property
    def count(self) -> int:
        """How much there is to deal out to threads."""

    @property
    def arguments(self) -> tuple[int, ...]:
        """The numbers that the code reads."""

    def scratch_bytes(self, threads: int) -> int:
        """The memory that so many threads together work in."""

    @property
    def needs_finish(self) -> bool:
        """Whether `{name}_finish` is to be called by all threads after a barrier."""

    def build(self, module: ir.Module, name: str, *, fused: bool) -> None:
        """Emit its functions."""


class Priced(Work, Protocol):
    """Work that says what it costs."""

    @property
    def nanoseconds(self) -> float:
        """About how long one core takes."""


@dataclass(slots=True, eq=False)
class SpecialStep(Step):
    """One call with machine code of its own, such as a convolution."""

    work: Priced = field(kw_only=True)


class Places:
    """The table of pointers: to the arena, to where faults are told, and to each storage."""

    def __init__(self) -> None:
        self.of: dict[Storage, int] = {}

    @property
    def count(self) -> int:
        """The length of the table."""
        return len(self.of) + FIRST

    def place(self, storage: Storage) -> int:
        """The index of the pointer to a storage's memory."""
        return self.of.setdefault(storage.place, len(self.of) + FIRST)

    def operand(self, entry: Entry) -> Operand:
        """How kernels see an entry."""
        phantom = entry.phantom
        return Operand(
            self.place(entry.storage),
            offset(entry),
            phantom.shape,
            phantom.strides,
            as_dtype(phantom.dtype),
        )

    def operands(self, call: Call) -> tuple[Operand, ...]:
        """What a call reads, and what it writes."""
        return tuple(self.operand(entry) for entry in (*call.inputs, call.out))


def offset(entry: Entry) -> int:
    """Bytes from the first element of the storage to the first of the entry."""
    base = entry
    while base.base is not None:
        base = base.base
    return int(_address(entry) - _address(base))


def _address(entry: Entry) -> int:
    address: int = entry.phantom.__array_interface__["data"][0]
    return address


def is_product(call: Call) -> bool:
    """Whether BLAS can do the call: matrices of real numbers, row after row."""
    if call.kind is not Kind.CONTRACTION or call.op.name not in ("matmul", "turned_matmul"):
        return False
    entries = (*call.inputs, call.out)
    floats = all(entry.phantom.dtype.char in "fd" for entry in entries)
    return (
        floats
        and all(entry.phantom.ndim >= 2 for entry in entries)
        and call.out.phantom.size > 0
    )


def statement(call: Call, places: Places, stored: bool) -> Statement:
    """The call as kernels see it."""
    inputs = tuple(places.operand(entry) for entry in call.inputs)
    return Statement(call.op, call.params, inputs, places.operand(call.out), stored)


def cost(step: Step) -> float:
    """About how many nanoseconds one core takes."""
    if isinstance(step, ProductStep):
        (call,) = step.calls
        a, out = call.inputs[0].phantom, call.out.phantom
        turned = bool(call.params and call.params[0][0])  # type: ignore[index]
        inner: int = a.shape[-2 if turned else -1]
        return 2e-2 * out.size * inner + 100
    if isinstance(step, SpecialStep):
        return step.work.nanoseconds
    sizes: Sequence[int] = [
        max(x.phantom.size for x in (*call.inputs, call.out)) for call in step.calls
    ]
    return 0.3 * math.fsum(sizes) + 20
