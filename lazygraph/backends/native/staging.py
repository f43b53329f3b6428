"""In which pass over a row each value is made, and how later passes get at it."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from lazygraph.backends.native.keeping import cheap, kept_values
from lazygraph.backends.native.reductions import accumulator_dtype
from lazygraph.backends.native.spaces import Access, Extent, Frame, Space, extent_of
from lazygraph.backends.native.statements import Operand, Statement
from lazygraph.backends.native.weights import weight
from lazygraph.dtypes import DType
from lazygraph.errors import BackendError
from lazygraph.graph.op import Op


@dataclass(frozen=True, slots=True)
class Value:
    """What is loaded, or what a statement makes.

    Attributes:
        op: the record; None for what is loaded.
        params: of the op.
        inputs: values, as indices.
        dtype: of the elements.
        access: where it is loaded from or stored to; None if it is not stored.
        is_full: whether it differs along a row. If not, it is one number a row or for all.
        extent: what one element of it is made from.
        weight: instructions an element.
    """

    op: Op | None
    params: tuple[Hashable, ...]
    inputs: tuple[int, ...]
    dtype: DType
    access: Access | None
    is_full: bool
    extent: Extent = Extent.ELEMENT
    weight: int = 0

    @property
    def reduces(self) -> bool:
        return self.extent is not Extent.ELEMENT

    @property
    def needs_finish(self) -> bool:
        """Whether it is there only after every thread has done its part."""
        return self.extent in (Extent.COLUMN, Extent.ALL)


@dataclass(frozen=True, slots=True)
class Plan:
    """A kernel's values, in order, each in its pass.

    Attributes:
        space: what is iterated over.
        values: each after its inputs.
        stages: the pass that makes a value that is full or reduces; for other values, the pass
            from which on they are known.
        kept: full values that a later pass reads back from a buffer.
        again: full values that a later pass computes once more.
    """

    space: Space
    values: tuple[Value, ...]
    stages: tuple[int, ...]
    kept: frozenset[int]
    again: frozenset[int]

    @property
    def key(self) -> Hashable:
        """Equal for kernels with the same machine code."""
        columns = 0 if self.space.is_flat else self.space.columns
        places: dict[Access, int] = {}
        values = [
            (
                value.op and value.op.name,
                value.params,
                value.inputs,
                value.dtype.name,
                value.extent.name,
                value.is_full,
                value.access
                and (
                    places.setdefault(value.access, len(places)),
                    value.access.rows,
                    value.access.column,
                ),
            )
            for value in self.values
        ]
        return (columns, self.space.lengths[1:], len(self.space.lengths), tuple(values))

    @property
    def accesses(self) -> list[Access]:
        """Everything in memory, in order of appearance."""
        return list(dict.fromkeys(v.access for v in self.values if v.access is not None))

    def made_in(self, stage: int) -> list[int]:
        """Values that a pass over a row makes, in order."""
        return [
            i
            for i, value in enumerate(self.values)
            if self.stages[i] == stage and value.op is not None and self.is_made(value)
        ]

    def accumulated(self, value: int) -> DType:
        """The dtype in which a reduction adds up."""
        op, (x, *_) = self.values[value].op, self.values[value].inputs
        assert op is not None
        return accumulator_dtype(op.name, self.values[x].dtype)

    @staticmethod
    def is_made(value: Value) -> bool:
        """Whether a pass over the elements of a row makes it."""
        return value.is_full or value.reduces

    @property
    def last_stage(self) -> int:
        return max(self.stages[i] for i, v in enumerate(self.values) if self.is_made(v))


def arrange(statements: Sequence[Statement]) -> Plan:
    """Plan one kernel of the statements.

    Raises:
        BackendError: they do not go together.
    """
    frame = Frame(statements)
    numbering = Numbering()
    for statement, accesses in zip(statements, frame.accesses, strict=True):
        numbering.add(statement, accesses, frame.total)
    values = numbering.values
    uses = _uses(values)
    overwritten = _overwritten(values)
    stages = _stages(values, uses, overwritten)
    again = cheap(values, stages, uses, overwritten)
    kept = kept_values(values, stages, uses, overwritten, again)
    return Plan(frame.space, tuple(values), tuple(stages), frozenset(kept), frozenset(again))


class Numbering:
    """Gives each value of statements a number, and finds the value of each operand."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self.made: list[tuple[Operand, Access, int]] = []
        self.loaded: dict[Access, int] = {}
        self.leaves: list[tuple[Operand, Access]] = []

    def add(self, statement: Statement, accesses: Sequence[Access], total: int) -> None:
        """Number a statement's values, behind those of the statements before it.

        Raises:
            BackendError: it reads or overwrites what it must not; nothing has changed.
        """
        *inputs, out = accesses
        values, leaves = len(self.values), len(self.leaves)
        try:
            read = zip(statement.inputs, inputs, strict=True)
            numbers = tuple(self._value_of(operand, access) for operand, access in read)
            self._write(statement, numbers, out, statement.size == total)
        except BackendError:
            for _, access in self.leaves[leaves:]:
                del self.loaded[access]
            del self.values[values:], self.leaves[leaves:]
            raise

    def _value_of(self, operand: Operand, access: Access) -> int:
        for writer, written, number in reversed(self.made):
            if not writer.overlaps(operand):
                continue
            if written == access and not self.values[number].needs_finish:
                return number
            raise BackendError("a statement must read the elements that its own ones came from")
        if access not in self.loaded:
            self.loaded[access] = len(self.values)
            self.leaves.append((operand, access))
            self.values.append(Value(None, (), (), access.dtype, access, access.column != 0))
        return self.loaded[access]

    def _write(
        self, statement: Statement, inputs: tuple[int, ...], out: Access, is_full: bool
    ) -> None:
        extent, _ = extent_of(statement)
        if statement.stored:
            self._check_memory(statement.out, out)
        dtypes = tuple(operand.dtype for operand in statement.inputs)
        op, params = statement.op, statement.params
        value = Value(
            op,
            params,
            inputs,
            statement.out.dtype,
            out if statement.stored else None,
            is_full and extent is Extent.ELEMENT,
            extent,
            3 if statement.is_reduction else weight(op, params, dtypes),
        )
        self.made.append((statement.out, out, len(self.values)))
        self.values.append(value)

    def _check_memory(self, out: Operand, access: Access) -> None:
        """Nothing may be overwritten but what the same element has read."""
        others = [(leaf, found) for leaf, found in self.leaves if leaf.overlaps(out)]
        stored = [x for x, _, number in self.made if self.values[number].access is not None]
        if any(found != access for _, found in others) or any(x.overlaps(out) for x in stored):
            raise BackendError("a statement must not overwrite what others read or write")


def _uses(values: Sequence[Value]) -> list[list[int]]:
    uses: list[list[int]] = [[] for _ in values]
    for i, value in enumerate(values):
        for x in value.inputs:
            uses[x].append(i)
    return uses


def _stages(
    values: Sequence[Value], uses: Sequence[Sequence[int]], overwritten: set[int]
) -> list[int]:
    """As early as inputs allow; then what is not stored, as late as its uses allow.

    What reads memory that is overwritten stays early.
    """
    stages: list[int] = []
    for value in values:
        stage = 0
        for x in value.inputs:
            stage = max(stage, stages[x] + (values[x].extent is Extent.ROW))
        if value.op is not None and value.access is not None:
            stage = max(stage, _last_read(value.access, values[: len(stages)], stages, uses))
        stages.append(stage)
    for i in range(len(values) - 1, -1, -1):
        value = values[i]
        free = value.op is None or (
            value.access is None and overwritten.isdisjoint(value.inputs)
        )
        if uses[i] and value.is_full and free:
            stages[i] = min(stages[use] for use in uses[i])
    return stages


def _last_read(
    access: Access,
    values: Sequence[Value],
    stages: Sequence[int],
    uses: Sequence[Sequence[int]],
) -> int:
    """The latest pass in which an earlier statement reads what is to be overwritten."""
    reads = [
        stages[use]
        for i, value in enumerate(values)
        if value.op is None and value.access == access
        for use in uses[i]
        if use < len(stages)
    ]
    return max(reads, default=0)


def _overwritten(values: Sequence[Value]) -> set[int]:
    """Loaded values whose memory gets another one."""
    written = {value.access for value in values if value.op is not None}
    return {i for i, v in enumerate(values) if v.op is None and v.access in written}
