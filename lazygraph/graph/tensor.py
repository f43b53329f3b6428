"""An immutable handle on a node, with operators that record new nodes."""

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from lazygraph.dtypes import DType, scalar_dtype
from lazygraph.errors import LazyGraphError, ShapeError
from lazygraph.graph.blame import noted
from lazygraph.graph.coercion import SCALARS, common_dtype, differ
from lazygraph.graph.engine import OPS, engine
from lazygraph.graph.leaves import data_node, owned_array, scalar_node
from lazygraph.graph.node import Node, Value
from lazygraph.graph.op import Op, Params
from lazygraph.graph.operators import Operators
from lazygraph.graph.pickling import flatten, unflatten
from lazygraph.graph.spec import Shape


class Tensor(Operators):
    """A value that is recorded now and computed when it is asked for.

    Operators and functions record nodes and return new tensors; nothing runs until `realize`,
    `numpy`, `item` or another request for a value. A tensor never changes. `==` compares
    element by element and is lazy; tensors are hashed by identity.

    Attributes:
        node: the graph node that this is a handle on.
    """

    __slots__ = ("__weakref__", "node")

    def __init__(self, node: Node) -> None:
        self.node = node

    # What is known without computing anything.

    @property
    def shape(self) -> Shape:
        """The length of each axis."""
        return self.node.spec.shape

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self.node.spec.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.node.spec.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.node.spec.size

    @property
    def T(self) -> "Tensor":  # noqa: N802
        """The transpose of a matrix.

        Raises:
            ShapeError: the tensor does not have two axes.
        """
        if self.ndim != 2:
            raise ShapeError(f"T needs a matrix, of two axes; got {self.node.spec}")
        return self.mT

    @property
    def mT(self) -> "Tensor":  # noqa: N802
        """The tensor with its last two axes exchanged.

        Raises:
            ShapeError: the tensor has fewer than two axes.
        """
        if self.ndim < 2:
            raise ShapeError(f"mT needs at least two axes; got {self.node.spec}")
        leading = tuple(range(self.ndim - 2))
        axes = (*leading, self.ndim - 1, self.ndim - 2)
        return apply(OPS["permute_dims"], self, params=(axes,))

    # Asking for values.

    def realize(self) -> "Tensor":
        """Compute the value, remember it, and return this same tensor."""
        engine().realize((self.node,))
        return self

    def numpy(self) -> Value:
        """The value as a read-only NumPy array; `.copy()` gives one to write to."""
        value = self.node.value
        if value is None:
            engine().realize((self.node,))
            value = self.node.value
        view = np.asarray(value).view()
        view.flags.writeable = False
        return view

    def item(self) -> bool | int | float:
        """The single element as a Python scalar.

        Raises:
            ShapeError: the tensor does not hold exactly one element.
        """
        if self.size != 1:
            raise ShapeError(f"item needs a tensor of one element; got {self.node.spec}")
        return self.numpy().item()  # type: ignore[no-any-return]

    def tolist(self) -> Any:
        """The value as nested lists of Python scalars."""
        return self.numpy().tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Value:
        return np.array(self.numpy(), dtype=dtype, copy=copy)

    def __dlpack__(self, **options: Any) -> Any:
        # DLPack cannot say "read-only" to every consumer, so it gets memory of its own.
        return self.numpy().copy().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)  # kDLCPU

    def __bool__(self) -> bool:
        return bool(self._only("bool"))

    def __float__(self) -> float:
        return float(self._only("float"))

    def __int__(self) -> int:
        return int(self._only("int"))

    def __index__(self) -> int:
        value = self._only("index")
        if not isinstance(value, int):
            raise TypeError(f"an index must be an integer tensor; got {self.node.spec}")
        return value

    def _only(self, wanted: str) -> bool | int | float:
        if self.size != 1:
            raise ShapeError(f"{wanted}() needs a tensor of one element; got {self.node.spec}")
        return self.item()

    def __repr__(self) -> str:
        return engine().render(self)

    def __str__(self) -> str:
        return str(self.numpy())

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else str(self)

    # Gradients.

    def backward(self, upstream: "TensorLike | None" = None) -> Any:
        """The gradient of this tensor with respect to everything it depends on.

        Args:
            upstream: the gradient with respect to this tensor, of its shape; needed unless the
                tensor holds one element, and 1 by default.

        Returns:
            A `GradientMap` from node to lazy gradient; look it up by `Node`, `Tensor` or `Var`.

        Raises:
            GradientError: not a floating tensor, no `upstream` where one is needed, or an op
                without a gradient rule on the way.
        """
        given = None if upstream is None else as_tensor(upstream, self.dtype)
        return engine().backward(self, given)

    def detach(self) -> "Tensor":
        """The same value without a history: no gradient flows through it."""
        value = self.node.value
        if value is not None and self.node.inputs:
            # By rows: whether a matrix lies by columns is part of the history.
            return Tensor(data_node(value.reshape(-1).reshape(value.shape)))
        return apply(OPS["stop_gradient"], self)

    # Structure.

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("a tensor of shape () has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator["Tensor"]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> "Tensor":
        return engine().index(self, key)

    @property
    def at(self) -> Any:
        """A changed copy: `x.at[key].set(values)`, and `add`, `multiply`, `min`, `max`."""
        return engine().at(self)

    def __copy__(self) -> "Tensor":
        return self

    def __deepcopy__(self, memo: Any) -> "Tensor":
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (flatten(self.node),)

    @staticmethod
    def _apply(name: str, *operands: Any) -> "Tensor":
        try:
            return apply(OPS[name], *operands)
        except OperandError:
            return NotImplemented  # type: ignore[no-any-return]


class OperandError(TypeError):
    """An operand that cannot become a tensor; Python then asks the other operand."""


class TensorSource(Protocol):
    """What stands for a tensor in an expression: a Var."""

    def tensor(self) -> Tensor:
        """The tensor it stands for."""


TensorLike = Tensor | TensorSource | np.ndarray[Any, Any] | np.generic | bool | int | float
_ARRAYS = (np.ndarray, np.generic)


def _restored(flat: Any) -> Tensor:
    return Tensor(unflatten(flat))


def apply(op: Op, *operands: TensorLike, params: Params = ()) -> Tensor:
    """Record one node: bring the operands to one dtype, infer the spec, note the user's line.

    Args:
        op: the record of the operation.
        operands: tensors, Vars, NumPy arrays (copied) and Python scalars (weakly typed).
        params: the parameters, in the order of `op.params`.

    Returns:
        The handle on the new node.

    Raises:
        ShapeError, DTypeError: with a note for each operand that names its line.
    """
    inputs = []
    specs = []
    for x in operands:
        if type(x) is not Tensor:
            break
        node = x.node
        inputs.append(node)
        specs.append(node.spec)
    try:
        if len(specs) != len(operands) or (specs and differ(op, specs)):
            inputs = _coerced(op, operands)
            specs = [node.spec for node in inputs]
        spec = op.infer(*specs, **op.named(params)) if params else op.infer(*specs)
    except LazyGraphError as error:
        error.args = (f"{op.name}: {error.args[0]}", *error.args[1:])
        if len(inputs) != len(operands):
            inputs = [x.node for x in operands if type(x) is Tensor]
        noted(error, *inputs)
        raise
    return Tensor(Node(op, tuple(inputs), params, spec))


def _coerced(op: Op, operands: tuple[TensorLike, ...]) -> list[Node]:
    given: list[Any] = []
    for x in operands:
        given.append(x if type(x) in SCALARS else as_tensor(x).node)
    dtype = common_dtype(op, given)
    for i, x in enumerate(given):
        wanted = dtype if i >= op.coerce_from else None
        if type(x) is not Node:
            given[i] = scalar_node(x, wanted or scalar_dtype(x, None))
        elif wanted is not None and x.spec.dtype is not wanted:
            given[i] = apply(OPS["astype"], Tensor(x), params=(wanted,)).node
    return given


def as_tensor(x: Any, beside: DType | None = None) -> Tensor:
    """A tensor for what may stand in an expression; a scalar takes its dtype from `beside`."""
    if type(x) is Tensor:
        return x
    if type(x) in SCALARS:
        return Tensor(scalar_node(x, scalar_dtype(x, beside)))
    if isinstance(x, _ARRAYS):
        return Tensor(data_node(owned_array(x)))
    if hasattr(type(x), "tensor"):
        return x.tensor()  # type: ignore[no-any-return]
    raise OperandError(
        f"an operand must be a Tensor, a Var, a NumPy array or a Python number; got {x!r}"
    )
