"""What a program of the native backend does, one step after the other."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from lazygraph.backends.layout import Call, Entry, Storage
from lazygraph.backends.native.statements import Operand, Statement
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


class Places:
    """The table of pointers: one to the arena, and one to each storage."""

    def __init__(self) -> None:
        self.of: dict[Storage, int] = {}

    @property
    def count(self) -> int:
        """The length of the table."""
        return len(self.of) + 1

    def place(self, storage: Storage) -> int:
        """The index of the pointer to a storage's memory."""
        return self.of.setdefault(storage.place, len(self.of) + 1)

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
    return floats and all(entry.phantom.ndim >= 2 for entry in entries) and call.out.phantom.size > 0


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
        return 2e-2 * out.size * a.shape[-2 if turned else -1] + 100
    sizes: Sequence[int] = [
        max(x.phantom.size for x in (*call.inputs, call.out)) for call in step.calls
    ]
    return 0.3 * math.fsum(sizes) + 20

