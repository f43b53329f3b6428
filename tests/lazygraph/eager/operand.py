"""Operators and keys of eager values and Vars, which call functions that are defined later."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.lazygraph.eager.values import Value

FUNCTIONS: dict[str, Callable[..., Any]] = {}


def call(name: str, *operands: Any) -> "Value":
    """Call the function of that name."""
    found: Value = FUNCTIONS[name](*operands)
    return found


class Operand:
    """What takes operators: values and Vars."""

    __array_ufunc__ = None

    def __add__(self, other: Any) -> "Value":
        return call("add", self, other)

    def __radd__(self, other: Any) -> "Value":
        return call("add", other, self)

    def __sub__(self, other: Any) -> "Value":
        return call("subtract", self, other)

    def __rsub__(self, other: Any) -> "Value":
        return call("subtract", other, self)

    def __mul__(self, other: Any) -> "Value":
        return call("multiply", self, other)

    def __rmul__(self, other: Any) -> "Value":
        return call("multiply", other, self)

    def __truediv__(self, other: Any) -> "Value":
        return call("divide", self, other)

    def __rtruediv__(self, other: Any) -> "Value":
        return call("divide", other, self)

    def __pow__(self, other: Any) -> "Value":
        return call("power", self, other)

    def __matmul__(self, other: Any) -> "Value":
        return call("matmul", self, other)

    def __neg__(self) -> "Value":
        return call("negative", self)

    def __gt__(self, other: Any) -> "Value":
        return call("greater", self, other)

    def __getitem__(self, key: Any) -> "Value":
        return call("getitem", self, key)

    @property
    def at(self) -> "_Keyed":
        """`x.at[key]`, whose methods give changed values."""
        return _Keyed(self)


class _Keyed:
    """What takes the key of an update."""

    def __init__(self, x: Operand) -> None:
        self._x = x

    def __getitem__(self, key: Any) -> Any:
        return FUNCTIONS["at"](self._x, key)
