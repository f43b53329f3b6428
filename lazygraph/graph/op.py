"""The record that says everything the engine knows about one op."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from lazygraph.graph.spec import Spec

if TYPE_CHECKING:
    from lazygraph.graph.tensor import Tensor

Params = tuple[Hashable, ...]


class Kind(Enum):
    """How an op touches its data, which is all that passes and backends ask."""

    LEAF = "leaf"  # no inputs: a value that is given
    POINTWISE = "pointwise"  # element by element, with broadcasting
    VIEW = "view"  # the same elements under other indices: no data moves
    REDUCTION = "reduction"  # fewer elements, from a C-contiguous operand
    CONTRACTION = "contraction"  # products summed over a shared axis
    MOVE = "move"  # elements copied to computed places: gather, scatter, concat
    CREATION = "creation"  # elements computed from parameters or a counter


class Coerce(Enum):
    """How operands are brought to one dtype before `infer` sees them."""

    COMMON = "common"  # the promoted dtype of all operands
    FLOAT = "float"  # the same, and integers become float32
    NONE = "none"  # every operand keeps its own


@dataclass(frozen=True, slots=True)
class Sample:
    """One example call of an op, for the tests that follow from the table of ops."""

    inputs: tuple[np.ndarray[Any, Any], ...]
    params: Params = ()


@dataclass(frozen=True, slots=True, eq=False)
class Op:
    """One operation: its type rule, meaning, derivative and instructions to backends.

    Attributes:
        name: the name in listings, unique.
        infer: `(*specs, **params) -> Spec`, raising ShapeError or DTypeError.
        evaluate: the meaning, in NumPy. `(*arrays, out, **params)` writes into `out`, but for
            kind VIEW, where `(array, *others, **params)` returns a view of the array or raises
            ValueError if the strides of the array allow none. The others, which most views do
            not have, are only waited for: the view depends on none of their values.
        kind: how the op touches its data.
        choose: `(*arrays, **params) -> f` with `f(*arrays, out)` as quick as can be, and of the
            same bits as `evaluate`, for all arrays with these shapes and strides. It may look
            at nothing else of them. None if there is nothing to choose.
        gradient: `(g, y, *inputs, **params) -> [share of each input or None]`, in tensors;
            shares may have the broadcast shape. None means that no rule exists.
        emit: `(k, *scalars) -> scalar`, for POINTWISE ops: one element, through the protocol in
            `ops/scalars.py`.
        params: the names of the parameters, in the order in which nodes hold them.
        coerce: how operands get one dtype, from the operand `coerce_from` on.
        coerce_from: the first operand that `coerce` speaks of.
        in_place: whether `out` may be the memory of any input that has its spec.
        domain: an interval for each operand, from which tests draw values.
        samples: `(rng) -> [Sample]` for ops whose operands are not drawn from `domain`.
        commutes: whether the two operands may change places, bits included.
    """

    name: str
    infer: Callable[..., Spec]
    evaluate: Callable[..., Any]
    kind: Kind
    gradient: "Callable[..., Sequence[Tensor | None]] | None" = None
    choose: Callable[..., Callable[..., Any]] | None = None
    emit: Callable[..., Any] | None = None
    params: tuple[str, ...] = ()
    coerce: Coerce = Coerce.COMMON
    coerce_from: int = 0
    in_place: bool = False
    domain: tuple[tuple[float, float], ...] = ()
    samples: Callable[[np.random.Generator], list[Sample]] | None = None
    commutes: bool = False

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def named(self, params: Params) -> dict[str, Any]:
        """Parameters as keyword arguments."""
        return dict(zip(self.params, params, strict=True))
