"""Eager Vars, and what may stand in an eager expression."""

from typing import Any

import numpy as np

from tests.lazygraph.eager.operand import FUNCTIONS, Operand
from tests.lazygraph.eager.tape import copied, curvature, gradients, history
from tests.lazygraph.eager.values import (
    Value,
    always,
    coarsest,
    disturbed,
    leaf,
    record,
    tolerance,
)
from tests.lazygraph.exactness import Array

_NUMBERS = {bool: "bool", int: "int64", float: "float32"}
_RANKS = {"b": 0, "i": 1, "u": 1, "f": 2}


class Var(Operand):
    """A named parameter: a value for each version."""

    def __init__(self, name: str, data: Any, dtype: str | None = None) -> None:
        self.name = name
        self.version = -1
        given = data if isinstance(data, Value) else leaf(data)
        self._become(given, dtype or given.dtype)

    def _become(self, given: Value, dtype: str) -> None:
        exact = given.is_exact and _is_kept(given.clean, dtype)
        noisy = given.clean if exact else disturbed(given.noisy, dtype)
        self.value = Value(given.clean, noisy, dtype, grain=coarsest(dtype, [given]))
        tolerance(self.value)
        self.value.owner = self
        self.version += 1
        self.dtype, self.shape = dtype, given.shape

    def assign(self, given: Any) -> None:
        """Start a new version, of the same dtype."""
        self._become(lift(given, self.dtype).realize(), self.dtype)

    def replace(self, value: Value) -> None:
        """Start a new version, as an optimizer does."""
        self._become(value, self.dtype)

    def tensor(self) -> Value:
        return self.value

    def numpy(self) -> Value:
        return self.value


def lift(x: Any, beside: str | None = None) -> Value:
    """A value for what may stand in an expression.

    A Python number takes the dtype `beside` it, if that can hold numbers of its kind.
    """
    if isinstance(x, Value):
        return x
    if isinstance(x, Var):
        return x.value
    if type(x) not in _NUMBERS:
        return leaf(x)
    dtype = _NUMBERS[type(x)]
    if beside is not None and _rank(beside) >= _rank(dtype):
        dtype = beside
    return leaf(np.asarray(x, dtype), dtype)


def _rank(dtype: str) -> int:
    return _RANKS[np.dtype(dtype).kind]


def promoted(a: str, b: str) -> str:
    """The dtype of two tensors together."""
    if _rank(a) != _rank(b):
        return max(a, b, key=_rank)
    found = np.promote_types(a, b)
    if found.kind == "f" and _rank(a) < 2:
        raise ValueError("uint64 goes with no signed integer")
    return found.name


def common(*xs: Any, floating: bool = False) -> list[Value]:
    """Values of one dtype: numbers yield to tensors, and integers to the floats wanted."""
    dtype: str | None = None
    for x in xs:
        if type(x) not in _NUMBERS:
            dtype = lift(x).dtype if dtype is None else promoted(dtype, lift(x).dtype)
    for x in xs:
        if type(x) in _NUMBERS:
            dtype = lift(x, dtype).dtype
    assert dtype is not None
    if floating and _rank(dtype) < 2:
        dtype = "float32"
    return [astype(lift(x, dtype), dtype) for x in xs]


def astype(x: Any, dtype: str) -> Value:
    """The value as another dtype; gradients go back between floats."""
    given: Value = lift(x)
    if given.dtype == dtype:
        return given
    x = given
    kind = "float64" if _rank(dtype) == 2 else dtype

    def convert(a: Array) -> Array:
        return np.asarray(a).astype(kind)

    came_from_float = x.is_floating
    return record(
        convert,
        lambda g, y, a: [g if came_from_float else None],
        x,
        dtype=dtype,
        exact=(lambda y, a: _is_kept(y, dtype)) if _rank(dtype) == 2 else always,
    )


def _is_kept(x: Array, dtype: str) -> bool:
    """Whether a conversion to that dtype keeps the numbers."""
    return dtype != "float32" or bool(np.all(x.astype(np.float32) == x))


def grad(y: Value, xs: Any, *, upstream: Any = None, missing: str = "raise") -> Any:
    """Gradients by the tape, as values without a history."""
    found = gradients(y, None if upstream is None else lift(upstream))
    wanted = [_in_graph(x, y) for x in (xs if isinstance(xs, list) else [xs])]
    if missing == "raise" and not all(x in found for x in wanted):
        raise KeyError("the loss does not depend on it")
    result = [found[x] if x in found else leaf(np.zeros(x.shape), x.dtype) for x in wanted]
    return result if isinstance(xs, list) else result[0]


def _in_graph(x: Any, y: Value) -> Value:
    """A Var means its version in the graph of `y`."""
    if isinstance(x, Var):
        return next((leaf for leaf in history([y], stopping=True) if leaf.owner is x), x.value)
    return lift(x)


class _Gradients:
    """What `backward` gives."""

    def __init__(self, y: Value, upstream: Any) -> None:
        self._y, self._upstream = y, upstream
        gradients(y, None if upstream is None else lift(upstream))

    def __getitem__(self, x: Any) -> Value:
        found: Value = grad(self._y, x, upstream=self._upstream)
        return found

    def __contains__(self, x: Any) -> bool:
        return _in_graph(x, self._y) in gradients(self._y, None)


FUNCTIONS.update(backward=_Gradients)

# What programs call by these names, here and for tensors.


def pickled(x: Value) -> Value:
    """The value that a pickle of it gives."""
    return copied(x)


def cloned(x: Any) -> Any:
    """A deep copy: a Var of its own, or the very same value."""
    return Var(x.name, x.value, x.dtype) if isinstance(x, Var) else x


def bend(y: Value, x: Value, v: Array) -> Array:
    """The gradient of the gradient of `y` for `x` along `v`."""
    if x not in gradients(y, None):
        raise KeyError("the loss does not depend on it")
    return curvature(y, x, v)
