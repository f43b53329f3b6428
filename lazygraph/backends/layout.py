"""Where every value of a program lives, and how it lies there, decided before it runs."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any

import numpy as np

from lazygraph.backends.base import Step
from lazygraph.graph.node import Value
from lazygraph.graph.op import Kind, Op, Params
from lazygraph.graph.spec import Spec


class Home(Enum):
    """Who owns the memory of a value."""

    SLOT = "slot"  # comes with each run
    CONSTANT = "constant"  # lies in the program
    ARENA = "arena"  # an intermediate, in the block of the run
    RESULT = "result"  # handed out at the end


@dataclass(slots=True, eq=False)
class Storage:
    """Memory that one value, or several one after the other, are written to.

    Attributes:
        home: who owns it.
        spec: of the first value in it.
        first: the step that writes it first.
        last: the last step that reads it.
        offset: its place in the arena.
        merged: the storage whose memory it takes over, if any.
    """

    home: Home
    spec: Spec
    first: int = 0
    last: int = 0
    offset: int = 0
    merged: "Storage | None" = None

    @property
    def place(self) -> "Storage":
        """The storage whose memory this is."""
        return self.merged or self


@dataclass(slots=True, eq=False)
class Entry:
    """One array that steps see: a whole storage, or a view into one.

    Attributes:
        index: its place in the table of arrays.
        storage: the memory that it looks at.
        phantom: an array of its shape, dtype and strides, without its data.
        view: how to make it from the entry `base`, if it is not the whole storage.
        base: what `view` is applied to.
    """

    index: int
    storage: Storage
    phantom: Value
    view: Any = None
    base: "Entry | None" = None

    @property
    def is_dense(self) -> bool:
        """Whether its elements lie in row-major order without gaps."""
        return self.phantom.flags.c_contiguous

    @property
    def is_whole(self) -> bool:
        """Whether it is its storage and no view of it."""
        return self.base is None


class Phantoms:
    """Arrays that have strides but no memory of their own: all look at one scratch buffer."""

    def __init__(self) -> None:
        self._scratch = np.empty(64, np.uint8)

    def dense(self, spec: Spec) -> Value:
        """An array of that spec in row-major order."""
        if self._scratch.nbytes < spec.nbytes:
            self._scratch = np.empty(
                spec.nbytes, np.uint8
            )  # pages that nobody touches cost nothing
        return np.ndarray(spec.shape, spec.dtype.dtype, buffer=self._scratch.data)

    def like(self, value: Value) -> Value:
        """An array with the strides of a value, which it does not keep alive."""
        point = np.empty((), value.dtype)
        return np.lib.stride_tricks.as_strided(point, value.shape, value.strides)


def lies_by_rows(phantom: Value) -> bool:
    """Whether BLAS takes the matrices as they lie: a row without gaps, then the next one."""
    down, across = phantom.strides[-2:]
    size = phantom.itemsize
    return across == size and down % size == 0 and down >= phantom.shape[-1] * size


@dataclass(slots=True, eq=False)
class Call:
    """One op at work: `op.evaluate(*inputs, out, **params)`.

    Attributes:
        op: the record.
        params: in the order of `op.params`.
        inputs: what it reads.
        out: what it writes.
        step: what it is, for explanations.
    """

    op: Op
    params: Params
    inputs: list[Entry]
    out: Entry
    step: Step

    @property
    def kind(self) -> Kind:
        """How it touches its data."""
        return self.op.kind

    @property
    def named(self) -> dict[str, Any]:
        """The parameters as keyword arguments."""
        return self.op.named(self.params)

    def function(self) -> Callable[..., Any]:
        """What NumPy is to call for the whole operands."""
        if self.op.choose is not None:
            return self.op.choose(*[entry.phantom for entry in self.inputs], **self.named)
        return self.function_of_rows(0)

    def function_of_rows(self, fewer_axes: int) -> Callable[..., Any]:
        """What to call, if the operands have so many leading axes fewer than when compiled."""
        named = self.named
        if fewer_axes and self.kind is Kind.REDUCTION:
            if "axis" in named:
                named["axis"] -= fewer_axes
            if "axes" in named:
                named["axes"] = tuple(axis - fewer_axes for axis in named["axes"])
        return partial(self.op.evaluate, **named) if named else self.op.evaluate
