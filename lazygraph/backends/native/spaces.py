"""The iteration space that statements share: rows, each of the same number of columns."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from lazygraph.backends.native.statements import Operand, Statement
from lazygraph.dtypes import DType
from lazygraph.errors import BackendError
from lazygraph.graph.spec import Shape

_SPLIT = 4096  # columns; longer rows, if there are few of them, are cut for several threads
_FEW = 32


class Extent(Enum):
    """What one result of a statement is made from."""

    ELEMENT = "element"
    ROW = "row"
    COLUMN = "column"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Access:
    """How an operand follows the iteration: the address moves by a stride on each axis."""

    place: int
    offset: int
    rows: tuple[int, ...]
    column: int
    dtype: DType

    @property
    def is_one(self) -> bool:
        return not self.column and not any(self.rows)


@dataclass(frozen=True, slots=True)
class Space:
    """Rows and columns.

    Attributes:
        lengths: of the axes that make the rows, the first of which may change between runs; a
            flat space has none, and one long row of any length.
        columns: how many.
    """

    lengths: tuple[int, ...]
    columns: int

    @property
    def is_flat(self) -> bool:
        return not self.lengths

    @property
    def count(self) -> int:
        """What may change between runs: rows, or the elements of a flat space."""
        return math.prod(self.lengths) if self.lengths else self.columns


def extent_of(statement: Statement) -> tuple[Extent, int]:
    """What one result is made from, and how many columns that asks for; 0 if any will do."""
    if not statement.is_reduction:
        return Extent.ELEMENT, 0
    shape = statement.shape
    kept = (1,) * (len(shape) - len(statement.out.shape)) + statement.out.shape
    axes = [(n, m == 1) for n, m in zip(shape, kept, strict=True) if n != 1]
    flags = [reduced for _, reduced in axes]
    if not any(flags):
        return Extent.ELEMENT, 0
    if all(flags):
        return Extent.ALL, 0
    if flags != sorted(flags) and flags != sorted(flags, reverse=True):
        raise BackendError(
            f"{statement.op.name} must reduce leading or trailing axes; "
            f"got {shape} to {statement.out.shape}"
        )
    extent = Extent.ROW if flags[-1] else Extent.COLUMN
    return extent, math.prod(n for n, reduced in axes if reduced == flags[-1])


class Frame:
    """The space of statements, and what says how an operand moves along its axes.

    Attributes:
        total: the number of elements that are iterated over.
        space: the rows and columns.
        accesses: for each statement those of its inputs and its `out`.

    Raises:
        BackendError: the statements have no space in common.
    """

    def __init__(self, statements: Sequence[Statement]) -> None:
        self.total = total = max(statement.size for statement in statements)
        self._columns = columns = _columns(statements, total)
        self._products = {columns or 1}.union(*(_products(x, total) for x in statements))
        self._lengths = lengths = _lengths(self._products)
        moves = [self._moves(statement) for statement in statements]
        self._is_free = not columns and not any(x.is_reduction for x in statements)
        self._order = self._order_after(moves[-1])
        if self._order is not None:
            lengths = [lengths[i] for i in self._order]
            moves = [self._ordered(ways) for ways in moves]
        self._ways = {way for ways in moves for way in ways}
        self._axes = list(_merged(lengths, list(self._ways), columns))
        edges = {i + 1 for i in self._axes}
        # Axes that are one with the axis before them, and how long they are.
        self._joints = [(i, lengths[i]) for i in range(1, len(lengths)) if i not in edges]
        space = _space(statements, lengths, self._axes, columns)
        self._split = split = _split(space, columns)
        self.space = Space((*space.lengths, space.columns // split), split) if split else space
        each = zip(statements, moves, strict=True)
        self.accesses = [self._accesses(statement, ways) for statement, ways in each]

    def followed_by(self, statement: Statement) -> list[Access] | None:
        """The accesses of one more statement, if the frame of all is surely this one."""
        extent, columns = extent_of(statement)
        if statement.size != self.total or columns not in (0, self._columns):
            return None
        if extent is Extent.ALL or (self._is_free and statement.is_reduction):
            return None
        if not _products(statement, self.total) <= self._products:
            return None
        moves = self._moves(statement)
        if self._order_after(moves) != self._order:
            return None
        moves = self._ordered(moves)
        fresh = set(moves) - self._ways
        if any(_parts(way, i, n) for way in fresh for i, n in self._joints):
            return None
        self._ways |= fresh
        return self._accesses(statement, moves)

    def _moves(self, statement: Statement) -> list[Shape]:
        """The strides of each operand."""
        return [
            _strides(operand, statement, self._lengths, self.total)
            for operand in statement.operands
        ]

    def _order_after(self, moves: Sequence[Shape]) -> list[int] | None:
        """The order of axes, if it is up to the last statement to choose one."""
        return _memory_order(moves[-1]) if self._is_free else None

    def _ordered(self, moves: list[Shape]) -> list[Shape]:
        order = self._order
        return moves if order is None else [tuple([way[i] for i in order]) for way in moves]

    def _accesses(self, statement: Statement, moves: Sequence[Shape]) -> list[Access]:
        return [
            _access(operand, way, self._axes, self._split, self.total)
            for operand, way in zip(statement.operands, moves, strict=True)
        ]


def _columns(statements: Sequence[Statement], total: int) -> int:
    """The number of columns that reductions and results of rows ask for; 0 if none does."""
    asked = set()
    every = False
    for statement in statements:
        extent, columns = extent_of(statement)
        every |= extent is Extent.ALL
        if statement.size != total:
            fits = statement.size > 1 and total % statement.size == 0
            if extent is not Extent.ELEMENT or not fits:
                raise BackendError(
                    f"statements of a kernel must have {total} elements or one a row; "
                    f"got {statement.op.name} over {statement.shape}"
                )
            columns = total // statement.size
        asked.add(columns)
    asked.discard(0)
    if len(asked) > 1 or (every and asked):
        raise BackendError("statements of a kernel must agree on what a row is")
    return asked.pop() if asked else 0


def _products(statement: Statement, total: int) -> set[int]:
    """The number of elements behind each axis, and with it."""
    product = total // statement.size
    products = {total}
    for n in reversed(statement.shape):
        product *= n
        products.add(product)
    return products


def _lengths(products: Iterable[int]) -> list[int]:
    """Axes so fine that each statement's own are products of neighbours."""
    lengths: list[int] = []
    before = 1
    for product in sorted({*products} - {1}):
        if product % before:
            raise BackendError("statements of a kernel must have axes that fit each other")
        lengths.insert(0, product // before)
        before = product
    return lengths


def _strides(
    operand: Operand, statement: Statement, lengths: Sequence[int], total: int
) -> tuple[int, ...]:
    """The operand's strides along the fine axes, 0 where it is stretched."""
    shape = statement.shape
    found = [0] * len(lengths)
    beyond = total // statement.size
    i = len(lengths) - 1
    while beyond > 1:  # a statement of one element a row says nothing of columns
        beyond //= lengths[i]
        i -= 1
    padding = len(shape) - len(operand.shape)
    for axis in range(len(shape) - 1, -1, -1):
        n = shape[axis]
        own = axis >= padding and operand.shape[axis - padding] != 1
        stride = operand.strides[axis - padding] if own else 0
        while n > 1:
            found[i] = stride
            stride *= lengths[i]
            n //= lengths[i]
            i -= 1
    return tuple(found)


def _memory_order(strides: Shape) -> list[int]:
    """Axes sorted so that the last is the one on which the address moves least."""
    return sorted(range(len(strides)), key=lambda i: -abs(strides[i]))


def _merged(lengths: Sequence[int], ways: Sequence[Shape], columns: int) -> Iterator[int]:
    """The last of each run of axes along which all operands move as along one."""
    inner = 1
    edges = []
    for i in range(len(lengths) - 1, 0, -1):
        inner *= lengths[i]
        if inner == columns or any(_parts(way, i, lengths[i]) for way in ways):
            edges.append(i - 1)
    yield from reversed(edges)
    if lengths:
        yield len(lengths) - 1


def _parts(way: Shape, i: int, n: int) -> bool:
    """Whether an operand moves otherwise along axis `i`, of length `n`, than before it."""
    return way[i - 1] != way[i] * n


def _space(
    statements: Sequence[Statement], lengths: Sequence[int], axes: Sequence[int], columns: int
) -> Space:
    starts = [0, *(axis + 1 for axis in axes)]
    merged = [
        math.prod(lengths[i : j + 1]) for i, j in zip(starts[: len(axes)], axes, strict=True)
    ]
    space = Space(tuple(merged[:-1]), merged[-1]) if merged else Space((), 1)
    if columns and space.columns != columns:
        raise BackendError("operands must move evenly along the columns of a row")
    if not space.is_flat and any(extent_of(s)[0] is Extent.ALL for s in statements):
        raise BackendError("a reduction of everything must have operands that lie evenly")
    return space


def _split(space: Space, columns: int) -> int:
    """How many columns to leave to a row that several threads should share; 0 for all."""
    if columns or space.is_flat or space.count >= _FEW or space.columns <= _SPLIT:
        return 0
    sizes = range(_SPLIT, _SPLIT // 8, -64)
    return next((size for size in sizes if space.columns % size == 0), 0)


def _access(
    operand: Operand, strides: Shape, axes: Sequence[int], split: int, total: int
) -> Access:
    merged = tuple(strides[axis] for axis in axes)
    if total == 1:
        merged = (operand.dtype.itemsize,)
    if split:
        merged = (*merged[:-1], merged[-1] * split, merged[-1])
    return Access(operand.place, operand.offset, merged[:-1], merged[-1], operand.dtype)
