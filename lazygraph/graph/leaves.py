"""Nodes without inputs, whose value is given: data, Python scalars, versions of a Var."""

from typing import Any

import numpy as np

from lazygraph.dtypes import DTYPES, FLOATING, DType, as_dtype
from lazygraph.errors import DTypeError, InternalError, ShapeError
from lazygraph.graph.engine import register
from lazygraph.graph.node import Node, Value
from lazygraph.graph.op import Coerce, Kind, Op
from lazygraph.graph.spec import Spec


def _given(*_: Any, **__: Any) -> Any:
    raise InternalError("a leaf must have a value: it cannot be inferred or evaluated")


def _leaf(name: str, params: tuple[str, ...] = ()) -> Op:
    return register(
        Op(name, _given, _given, Kind.LEAF, gradient=None, params=params, coerce=Coerce.NONE)
    )


DATA = _leaf("data")
SCALAR = _leaf("scalar")
VARIABLE = _leaf("variable", params=("identity", "version"))
# An input that a plan gets from the caller at each run; it never has a value of its own.
PLACEHOLDER = _leaf("placeholder")


_LARGEST = float(np.finfo(np.float32).max)
_SCALAR_SPECS = {dtype: Spec((), dtype) for dtype in DTYPES}


def scalar_node(scalar: bool | int | float, dtype: DType) -> Node:
    """A leaf of shape () for a Python scalar: a slot of the plan, never part of its key."""
    try:
        if -_LARGEST <= scalar <= _LARGEST:
            value: Any = dtype.type(scalar)
        else:
            with np.errstate(over="ignore"):  # infinity, as in a run
                value = dtype.type(scalar)
        if dtype.category != FLOATING and int(value) != scalar:
            raise OverflowError
    except (OverflowError, ValueError):  # NaN is no integer
        raise DTypeError(
            f"a Python scalar must fit the tensor's dtype, {dtype}; got {scalar!r}"
        ) from None
    return Node(SCALAR, (), (), _SCALAR_SPECS[dtype], value)


def data_node(array: Value) -> Node:
    """A leaf for an array that nobody else will write to."""
    array.flags.writeable = False
    return Node(DATA, (), (), Spec(array.shape, as_dtype(array.dtype)), array)


def owned_array(obj: Any, dtype: DType | None = None, copy: bool | None = None) -> Value:
    """A C-contiguous native array of a supported dtype; a private copy unless `copy` is False.

    Python floats become float32; NumPy arrays and scalars keep their dtype.
    """
    try:
        given = np.asarray(obj)
    except ValueError as error:
        raise ShapeError(f"nested lists must have rows of equal length: {error}") from None
    if dtype is None:
        dtype = as_dtype(given.dtype) if given.dtype.kind in "biuf" else None
        if dtype is None:
            raise DTypeError(
                f"data must be numbers or booleans; got {given.dtype} from {obj!r}"
            )
        if given.dtype == np.float64 and not hasattr(obj, "dtype"):
            dtype = as_dtype(float)
    array: Value
    if copy is False:
        array = given
        if given.dtype != dtype.dtype or not given.flags.c_contiguous:
            raise ValueError(
                "copy=False needs a C-contiguous array of the wanted dtype; "
                f"got {given.dtype} with strides {given.strides} for {dtype}"
            )
        array = given.view()
    else:
        with np.errstate(all="ignore"):
            array = np.array(given, dtype=dtype.dtype, order="C", copy=True, subok=False)
    return array
