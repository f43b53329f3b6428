"""Python's operators, for Tensor and Var alike."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lazygraph.graph.tensor import Tensor, TensorLike


class Operators:
    """Operators that record one node each, named after the op that they apply.

    `__array_ufunc__` is None so that `ndarray + tensor` asks the tensor instead of NumPy making
    an array of objects.
    """

    __slots__ = ()
    __array_ufunc__ = None
    __hash__ = object.__hash__

    @staticmethod
    def _apply(name: str, *operands: Any) -> "Tensor":
        """Record the op of that name; NotImplemented for operands that are no tensors."""
        raise NotImplementedError

    def __add__(self, other: "TensorLike") -> "Tensor":
        return self._apply("add", self, other)

    def __radd__(self, other: "TensorLike") -> "Tensor":
        return self._apply("add", other, self)

    def __sub__(self, other: "TensorLike") -> "Tensor":
        return self._apply("subtract", self, other)

    def __rsub__(self, other: "TensorLike") -> "Tensor":
        return self._apply("subtract", other, self)

    def __mul__(self, other: "TensorLike") -> "Tensor":
        return self._apply("multiply", self, other)

    def __rmul__(self, other: "TensorLike") -> "Tensor":
        return self._apply("multiply", other, self)

    def __truediv__(self, other: "TensorLike") -> "Tensor":
        return self._apply("divide", self, other)

    def __rtruediv__(self, other: "TensorLike") -> "Tensor":
        return self._apply("divide", other, self)

    def __floordiv__(self, other: "TensorLike") -> "Tensor":
        return self._apply("floor_divide", self, other)

    def __rfloordiv__(self, other: "TensorLike") -> "Tensor":
        return self._apply("floor_divide", other, self)

    def __mod__(self, other: "TensorLike") -> "Tensor":
        return self._apply("remainder", self, other)

    def __rmod__(self, other: "TensorLike") -> "Tensor":
        return self._apply("remainder", other, self)

    def __divmod__(self, other: "TensorLike") -> "tuple[Tensor, Tensor]":
        return self // other, self % other

    def __rdivmod__(self, other: "TensorLike") -> "tuple[Tensor, Tensor]":
        return other // self, other % self

    def __pow__(self, other: "TensorLike") -> "Tensor":
        if type(other) is int and other == 2:
            return self._apply("square", self)  # as NumPy does: exact, and many times faster
        return self._apply("power", self, other)

    def __rpow__(self, other: "TensorLike") -> "Tensor":
        return self._apply("power", other, self)

    def __matmul__(self, other: "TensorLike") -> "Tensor":
        return self._apply("matmul", self, other)

    def __rmatmul__(self, other: "TensorLike") -> "Tensor":
        return self._apply("matmul", other, self)

    def __pos__(self) -> "Tensor":
        return self._apply("positive", self)

    def __neg__(self) -> "Tensor":
        return self._apply("negative", self)

    def __abs__(self) -> "Tensor":
        return self._apply("abs", self)

    def __lt__(self, other: "TensorLike") -> "Tensor":
        return self._apply("less", self, other)

    def __le__(self, other: "TensorLike") -> "Tensor":
        return self._apply("less_equal", self, other)

    def __gt__(self, other: "TensorLike") -> "Tensor":
        return self._apply("greater", self, other)

    def __ge__(self, other: "TensorLike") -> "Tensor":
        return self._apply("greater_equal", self, other)

    def __eq__(self, other: "TensorLike") -> "Tensor":  # type: ignore[override]
        return self._apply("equal", self, other)

    def __ne__(self, other: "TensorLike") -> "Tensor":  # type: ignore[override]
        return self._apply("not_equal", self, other)

    def __and__(self, other: "TensorLike") -> "Tensor":
        return self._apply("bitwise_and", self, other)

    def __rand__(self, other: "TensorLike") -> "Tensor":
        return self._apply("bitwise_and", other, self)

    def __or__(self, other: "TensorLike") -> "Tensor":
        return self._apply("bitwise_or", self, other)

    def __ror__(self, other: "TensorLike") -> "Tensor":
        return self._apply("bitwise_or", other, self)

    def __xor__(self, other: "TensorLike") -> "Tensor":
        return self._apply("bitwise_xor", self, other)

    def __rxor__(self, other: "TensorLike") -> "Tensor":
        return self._apply("bitwise_xor", other, self)

    def __invert__(self) -> "Tensor":
        return self._apply("bitwise_invert", self)

    def __lshift__(self, other: "TensorLike") -> "Tensor":
        return self._apply("bitwise_left_shift", self, other)

    def __rshift__(self, other: "TensorLike") -> "Tensor":
        return self._apply("bitwise_right_shift", self, other)
