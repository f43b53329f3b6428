"""Python functions as hashable descriptions and tensors, from which they can be made again."""

import dataclasses
import dis
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from lazygraph.dtypes import DType
from lazygraph.graph.op import Op
from lazygraph.graph.tensor import Tensor
from lazygraph.graph.var import Var

# Each of these is itself wherever it is met, and does not change what it means.
_FIXED = (ModuleType, type, BuiltinFunctionType, np.ufunc, DType, Op)


class Recipe:
    """What a function depends on, but for the tensors that it closes over.

    Two are equal if their functions differ in nothing but tensors. It keeps no tensor alive.

    Attributes:
        name: the name of the function.
        tensors: how many tensors it closes over.
        unsure: names of variables whose contents may change unnoticed. A recipe with such names
            equals only itself.
    """

    __slots__ = ("_hash", "_part", "name", "tensors", "unsure")

    def __init__(self, name: str, part: "_Part", tensors: int, unsure: tuple[str, ...]) -> None:
        self.name, self.tensors, self.unsure = name, tensors, unsure
        self._part, self._hash = part, hash(part)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Recipe) and self._part == other._part

    def __hash__(self) -> int:
        return self._hash

    @property
    def co_name(self) -> str:
        """What dumps call it, as they do with code."""
        return self.name

    def __reduce__(self) -> Any:
        raise TypeError(
            f"a graph to be pickled must have no gradient in Python; got that of {self.name} "
            "(realize the tensor and detach it)"
        )

    def build(self, tensors: Sequence[Tensor]) -> Callable[..., Any]:
        """The function, closing over these tensors."""
        function: Callable[..., Any] = self._part.build(tensors)
        return function


def recipe_of(function: Callable[..., Any]) -> tuple[Recipe, list[Tensor]]:
    """The recipe of a function, and the tensors that it closes over.

    Everything else that it closes over is compared by value if that cannot change: numbers,
    texts, dtypes, tuples, frozen dataclasses, functions. A Var counts as its present leaf.
    Names of its module that it uses count as what it closes over.

    Example:
        >>> import lazygraph as lg
        >>> def scaling(x, factor):
        ...     return lambda g: g * x * factor
        >>> one, tensors = recipe_of(scaling(lg.asarray(2.0), 3))
        >>> other, _ = recipe_of(scaling(lg.asarray(5.0), 3))
        >>> one == other, one.build(tensors)(1.0).item()
        (True, 6.0)
    """
    name = getattr(function, "__qualname__", type(function).__qualname__)
    reader = _Reader(getattr(function, "__globals__", None))
    part = reader.read(function, name)
    return Recipe(name, part, len(reader.tensors), tuple(reader.unsure)), reader.tensors


class _Reader:
    """Takes functions apart, and collects what is not part of a recipe."""

    def __init__(self, scope: Any) -> None:
        self.tensors: list[Tensor] = []
        self.unsure: list[str] = []
        self._scope = scope
        self._open: list[FunctionType] = []

    def read(self, value: Any, name: str) -> "_Part":
        """The part for a value that is known by this name."""
        part: _Part | None
        if isinstance(value, Tensor | Var):
            return self._slot(value.tensor() if isinstance(value, Var) else value)
        if isinstance(value, FunctionType):
            part = self._function(value, name)
        elif isinstance(value, MethodType):
            owner = self.read(value.__self__, name)
            part = _Method(self.read(value.__func__, name), owner)
        elif type(value) is tuple:
            part = _Tuple(tuple([self.read(item, name) for item in value]))
        else:
            part = _given(value)
        if part is None:
            self.unsure.append(name)
            return _Unsure(value)
        return part

    def _slot(self, tensor: Tensor) -> "_Slot":
        for number, known in enumerate(self.tensors):
            if known.node is tensor.node:
                return _Slot(number)
        self.tensors.append(tensor)
        return _Slot(len(self.tensors) - 1)

    def _function(self, value: FunctionType, name: str) -> "_Part | None":
        if value.__closure__ is None and value.__globals__ is not self._scope:
            return _Given(FunctionType, value, value)  # a library's
        if value in self._open:
            return None
        self._open.append(value)
        code, scope = value.__code__, value.__globals__
        cells = zip(code.co_freevars, value.__closure__ or (), strict=True)
        keywords = (value.__kwdefaults__ or {}).items()
        names = _global_names(code) if scope is self._scope else ()
        part = _Function(
            code,
            tuple([self._cell(cell, free) for free, cell in cells]),
            self.read(value.__defaults__, name),
            tuple([(key, self.read(default, key)) for key, default in keywords]),
            tuple([(n, self.read(scope[n], n)) for n in names if n in scope]),
            scope,
        )
        self._open.pop()
        return part

    def _cell(self, cell: CellType, name: str) -> "_Part | None":
        try:
            contents = cell.cell_contents
        except ValueError:  # a variable that has no value yet
            return None
        return self.read(contents, name)


@lru_cache(maxsize=1024)
def _global_names(code: CodeType) -> tuple[str, ...]:
    """The names that code looks up outside of functions; that of functions inside as well."""
    names = {i.argval for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL"}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names.update(_global_names(constant))
    return tuple(sorted(names))


@dataclass(frozen=True, slots=True)
class _Slot:
    """A tensor, by its number."""

    number: int

    has_tensors = True

    def build(self, tensors: Sequence[Tensor]) -> Any:
        return tensors[self.number]


@dataclass(frozen=True, slots=True)
class _Given:
    """A value that cannot change, compared by its type and a key."""

    kind: type
    key: Hashable
    value: Any = field(compare=False)
    has_tensors = False

    def build(self, tensors: Sequence[Tensor]) -> Any:
        return self.value


@dataclass(frozen=True, slots=True, eq=False)
class _Unsure:
    """A value that may change, equal to nothing else."""

    value: Any
    has_tensors = False

    def build(self, tensors: Sequence[Tensor]) -> Any:
        return self.value


@dataclass(frozen=True, slots=True)
class _Tuple:
    """A tuple of parts."""

    items: "tuple[_Part, ...]"

    @property
    def has_tensors(self) -> bool:
        return any(item.has_tensors for item in self.items)

    def build(self, tensors: Sequence[Tensor]) -> Any:
        return tuple([item.build(tensors) for item in self.items])


@dataclass(frozen=True, slots=True)
class _Method:
    """A function bound to an object."""

    function: "_Part"
    owner: "_Part"

    @property
    def has_tensors(self) -> bool:
        return self.function.has_tensors or self.owner.has_tensors

    def build(self, tensors: Sequence[Tensor]) -> Any:
        return MethodType(self.function.build(tensors), self.owner.build(tensors))


@dataclass(frozen=True, slots=True)
class _Function:
    """A function: code, closure, defaults, and what its names mean in the module."""

    code: CodeType
    cells: "tuple[_Part | None, ...]"
    defaults: "_Part"
    keywords: "tuple[tuple[str, _Part], ...]"
    names: "tuple[tuple[str, _Part], ...]"
    scope: dict[str, Any] = field(compare=False)

    @property
    def has_tensors(self) -> bool:
        named = [part for _, part in (*self.keywords, *self.names)]
        parts = (*self.cells, self.defaults, *named)
        return any(part is not None and part.has_tensors for part in parts)

    def build(self, tensors: Sequence[Tensor]) -> Any:
        cells = [CellType() if x is None else CellType(x.build(tensors)) for x in self.cells]
        defaults = self.defaults.build(tensors)
        # A tensor of the module may have been replaced since.
        own = {name: part.build(tensors) for name, part in self.names if part.has_tensors}
        scope = {**self.scope, **own} if own else self.scope
        name = self.code.co_name
        function = FunctionType(self.code, scope, name, defaults, tuple(cells))
        function.__kwdefaults__ = {key: part.build(tensors) for key, part in self.keywords}
        return function


_Part = _Slot | _Given | _Unsure | _Tuple | _Method | _Function


def _given(value: Any) -> _Given | None:
    """The part of a value that cannot change, or None."""
    kind = type(value)
    if isinstance(value, float):
        return _Given(kind, value.hex(), value)  # NaN equals NaN, and -0.0 not 0.0
    if isinstance(value, np.generic):
        return _Given(kind, value.tobytes(), value)
    if isinstance(value, _FIXED) or value is None:
        return _Given(kind, value, value)
    inside: list[Any] | None = None
    if isinstance(value, tuple):
        inside = list(value)
    elif dataclasses.is_dataclass(value):
        inside = [getattr(value, each.name) for each in dataclasses.fields(value)]
    elif isinstance(value, slice):
        inside = [value.start, value.stop, value.step]
    if inside is not None:
        parts = tuple(map(_given, inside))
        frozen = not dataclasses.is_dataclass(kind) or _is_frozen(kind)
        return _Given(kind, parts, value) if frozen and None not in parts else None
    hashed_by: Any = kind.__hash__
    if hashed_by is object.__hash__:  # by identity, which says nothing of the contents
        return None
    try:
        hash(value)
    except TypeError:
        return None
    return _Given(kind, value, value)


def _is_frozen(kind: Any) -> bool:
    return bool(kind.__dataclass_params__.frozen)
