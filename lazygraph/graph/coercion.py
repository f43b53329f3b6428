"""The dtype that operands of different dtypes are brought to, Python scalars among them."""

from collections.abc import Sequence

from lazygraph.dtypes import DEFAULT_FLOAT, FLOATING, DType, promote, scalar_dtype
from lazygraph.graph.node import Node
from lazygraph.graph.op import Coerce, Op
from lazygraph.graph.spec import Spec

SCALARS = (bool, int, float)
Scalar = bool | int | float

# Python 3.11 looks members of an Enum up slowly, and recording a node is hot.
_NONE, _FLOAT = Coerce.NONE, Coerce.FLOAT


def differ(op: Op, specs: Sequence[Spec]) -> bool:
    """Whether operands of these specs need to be converted for the op."""
    coerce = op.coerce
    if coerce is _NONE:
        return False
    dtype = specs[-1].dtype
    if len(specs) > 1:
        for spec in specs[op.coerce_from :] if op.coerce_from else specs:
            if spec.dtype is not dtype:
                return True
    return coerce is _FLOAT and dtype.category != FLOATING


def common_dtype(op: Op, operands: Sequence[Node | Scalar]) -> DType | None:
    """The promoted dtype of nodes, then of scalars beside them; None if each keeps its own."""
    if op.coerce is _NONE:
        return None
    dtype: DType | None = None
    scalars = []
    for x in operands[op.coerce_from :] if op.coerce_from else operands:
        if type(x) is not Node:
            scalars.append(x)
        elif x.spec.dtype is not dtype:
            dtype = x.spec.dtype if dtype is None else promote(dtype, x.spec.dtype)
    for scalar in scalars:
        dtype = scalar_dtype(scalar, dtype)  # type: ignore[arg-type]
    if op.coerce is _FLOAT and dtype is not None and dtype.category != FLOATING:
        return DEFAULT_FLOAT
    return dtype
