"""Data types, their promotion and the dtype that a Python scalar takes."""

from typing import Any

import numpy as np

from lazygraph.errors import DTypeError

BOOL, INTEGER, FLOATING = 0, 1, 2  # categories, in the order in which one yields to the next


class DType:
    """One of the element types that a tensor can have.

    The instances are the only ones: compare them with `is` or `==`. NumPy accepts them wherever
        it
    takes a dtype.

    Attributes:
        name: the name that NumPy and the Python array API standard give it.
        dtype: the NumPy dtype.
        itemsize: bytes an element.
    """

    __slots__ = ("category", "dtype", "itemsize", "name", "type")

    def __init__(self, name: str) -> None:
        self.name = name
        self.dtype: np.dtype[Any] = np.dtype(name)
        self.type = self.dtype.type
        self.itemsize = self.dtype.itemsize
        self.category = {"b": BOOL, "i": INTEGER, "u": INTEGER, "f": FLOATING}[self.dtype.kind]

    def __repr__(self) -> str:
        return f"lazygraph.{self.name}"

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return as_dtype, (self.name,)

    @property
    def is_floating(self) -> bool:
        """Whether values of this dtype can have gradients."""
        return self.category == FLOATING


bool_ = DType("bool")
int8, int16, int32, int64 = (DType(f"int{bits}") for bits in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (DType(f"uint{bits}") for bits in (8, 16, 32, 64))
float32, float64 = DType("float32"), DType("float64")

DTYPES = (bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64)
_BY_NAME = {dtype.name: dtype for dtype in DTYPES}
_BY_NUMPY = {dtype.dtype: dtype for dtype in DTYPES}
DEFAULT_FLOAT, DEFAULT_INTEGER = float32, int64
DTypeLike = DType | str | type | np.dtype[Any]


def as_dtype(dtype: Any) -> DType:
    """The dtype that a name, a Python type or a NumPy dtype stands for.

    Args:
        dtype: a `DType`, its name, `bool`, `int`, `float`, or anything that `numpy.dtype`
            takes. `float` means float32 and `int` means int64, the defaults.

    Returns:
        The instance.

    Raises:
        DTypeError: lazygraph has no such dtype.

    Example:
        >>> as_dtype("float32") is as_dtype(float)
        True
    """
    if isinstance(dtype, DType):
        return dtype
    if dtype is float:
        return DEFAULT_FLOAT
    try:
        found = _BY_NUMPY.get(np.dtype(dtype).newbyteorder("="))
    except TypeError:
        found = None
    if found is None:
        names = ", ".join(_BY_NAME)
        raise DTypeError(f"a dtype must be one of {names}; got {dtype!r}")
    return found


def _promoted(a: DType, b: DType) -> DType | None:
    if a.category != b.category:
        return max(a, b, key=lambda dtype: dtype.category)
    wider = max(a, b, key=lambda dtype: dtype.itemsize)
    if a.dtype.kind == b.dtype.kind:
        return wider
    # A signed and an unsigned integer: the smallest signed one that holds both, if there is
    # one.
    return _BY_NUMPY.get(np.promote_types(a.dtype, b.dtype))


_PROMOTIONS = {
    (a, b): found
    for a in DTYPES
    for b in DTYPES
    if (found := _promoted(a, b)) is not None and found.category == max(a.category, b.category)
}


def promote(a: DType, b: DType) -> DType:
    """The dtype of an element-wise result of two tensors.

    As the Python array API standard has it within bool, integers and floats. Where the standard
    says nothing, bool yields to integers, and both to the other's floating dtype: int64 with
    float32 gives float32.

    Raises:
        DTypeError: uint64 with a signed integer, which no integer dtype holds.

    Example:
        >>> promote(int8, uint8), promote(int64, float32)
        (lazygraph.int16, lazygraph.float32)
    """
    found = _PROMOTIONS.get((a, b))
    if found is None:
        raise DTypeError(f"operands must have a common dtype; got {a} and {b}")
    return found


_WEAK = {
    bool: (BOOL, bool_),
    int: (INTEGER, DEFAULT_INTEGER),
    float: (FLOATING, DEFAULT_FLOAT),
}


def scalar_dtype(scalar: bool | int | float, beside: DType | None) -> DType:
    """The dtype of a Python scalar: weak, so the tensor `beside` it decides where it can."""
    category, default = _WEAK[type(scalar)]
    return default if beside is None or beside.category < category else beside
