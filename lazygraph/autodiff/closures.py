"""Python functions as hashable descriptions and tensors, from which they can be made again."""

import builtins
import dis
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from lazygraph.graph.node import Node
from lazygraph.graph.tensor import Tensor
from lazygraph.graph.var import Var

# What is itself wherever it is met, and does not change what it means.
_CONSTANT_KINDS = (ModuleType, type, BuiltinFunctionType, np.ufunc, Tensor)


class Recipe:
    """What a function depends on: code and constants in a key, tensors apart.

    Two recipes are equal if the functions differ in nothing but the tensors that they close
    over. Tensors are not part of a recipe, so that it keeps no data alive.

    Attributes:
        name: the name of the function.
        count: how many tensors it closes over.
        changing: the names of variables whose contents may change unnoticed; a recipe that has
            some equals only itself.
    """

    __slots__ = ("_hash", "_part", "changing", "count", "name")

    def __init__(self, name: str, part: "_Part", count: int, changing: tuple[str, ...]) -> None:
        self.name, self._part, self.count, self.changing = name, part, count, changing
        self._hash = hash(part)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Recipe) and self._part == other._part

    def __hash__(self) -> int:
        return self._hash

    def build(self, tensors: Sequence[Tensor]) -> Callable[..., Any]:
        """The function, closing over these tensors."""
        function: Callable[..., Any] = self._part.build(tensors)
        return function


def describe_function(function: Callable[..., Any]) -> tuple[Recipe, list[Tensor]]:
    """The recipe of a function, and the tensors that it closes over.

    Constants are what compares by value and cannot change: numbers, texts, tuples of them,
    functions, modules, classes. A Var counts as its present leaf. Names of the function's
    module that it uses count as if it closed over them, except that they are looked up anew.

    Example:
        >>> import lazygraph as lg
        >>> def scaled(x, by):
        ...     return lambda g: g * x * by
        >>> one, tensors = describe_function(scaled(lg.asarray(2.0), 3))
        >>> other, _ = describe_function(scaled(lg.asarray(5.0), 3))
        >>> one == other, one.build(tensors)(1.0).item()
        (True, 6.0)
    """
    reader = _Reader()
    name = getattr(function, "__qualname__", type(function).__qualname__)
    part = reader.read(function, name)
    return Recipe(name, part, len(reader.tensors), tuple(reader.changing)), reader.tensors
