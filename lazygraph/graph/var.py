"""Named parameters: values that are replaced, never changed."""

from collections.abc import Sequence
from typing import Any

from lazygraph.dtypes import DType, as_dtype
from lazygraph.errors import DTypeError, ShapeError
from lazygraph.graph.cell import Cell
from lazygraph.graph.engine import engine
from lazygraph.graph.leaves import VARIABLE, owned_array
from lazygraph.graph.node import Node, Value
from lazygraph.graph.operators import Operators
from lazygraph.graph.spec import Shape, Spec
from lazygraph.graph.tensor import Tensor, TensorLike, as_tensor
from lazygraph.locks import lock_across_forks
from lazygraph.source import Line, capture, place

Version = tuple[int, Value]
_lock = lock_across_forks()


class VarIdentity:
    """Whom a leaf belongs to; shared by a Var and its leaves, which need not hold the Var."""

    __slots__ = ("__weakref__", "name", "source")

    def __init__(self, name: str, source: Line) -> None:
        self.name = name
        self.source = source

    def __repr__(self) -> str:
        return f"<identity of {self.name!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return VarIdentity, (self.name, place(self.source))


class Var(Operators):
    """A named parameter whose value can be replaced.

    Within one version, `tensor()` is always the same leaf, so every use of the Var counts in
    its gradient. A graph built before `assign` keeps the value that it was built with.

    Args:
        name: the name in gradient maps, states and messages; not empty.
        data: the first value, copied: an array, nested lists, a scalar or a Tensor (realized).
        dtype: the dtype; by default that of `data`, float32 for Python floats.

    Raises:
        TypeError: the name is not a string.

    Example:
        >>> w = Var("w", [1.0, 2.0])
        >>> loss = sum(w * w)
        >>> loss.backward()[w].tolist()
        [2.0, 4.0]
    """

    __slots__ = ("__weakref__", "_identity", "_leaf", "_spec", "cell")

    def __init__(self, name: str, data: Any, dtype: Any = None) -> None:
        if not isinstance(name, str):
            raise TypeError(f"the name of a Var must be a string; got {name!r}")
        self._identity = VarIdentity(name, capture())
        value = owned_array(data, None if dtype is None else as_dtype(dtype))
        value.flags.writeable = False
        self._spec = Spec(value.shape, as_dtype(value.dtype))
        self.cell: Cell[Version] = Cell((0, value))
        self._leaf: Tensor | None = None

    @property
    def name(self) -> str:
        """The name; a module gives its Vars their path when its parameters are listed."""
        return self._identity.name

    @name.setter
    def name(self, name: str) -> None:
        self._identity.name = name

    @property
    def identity(self) -> VarIdentity:
        """What the Var and its leaves have in common."""
        return self._identity

    @property
    def source(self) -> Line:
        """The line that created the Var."""
        return self._identity.source

    @property
    def shape(self) -> Shape:
        """The length of each axis."""
        return self._spec.shape

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._spec.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._spec.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._spec.size

    @property
    def spec(self) -> Spec:
        """Shape and dtype."""
        return self._spec

    @property
    def version(self) -> int:
        """How often the value was replaced."""
        return self.cell.get()[0]

    @property
    def last_node(self) -> Node | None:
        """The leaf that `tensor` made last, or None."""
        return None if self._leaf is None else self._leaf.node

    def tensor(self) -> Tensor:
        """The leaf for the current version."""
        version, value = self.cell.get()
        leaf = self._leaf
        if leaf is None or leaf.node.value is not value or leaf.node.params[1] != version:
            with _lock:  # so that threads that ask at once get one leaf
                return self._renewed()
        return leaf

    def _renewed(self) -> Tensor:
        version, value = self.cell.get()
        leaf = self._leaf
        if leaf is None or leaf.node.value is not value or leaf.node.params[1] != version:
            leaf = Tensor(Node(VARIABLE, (), (self._identity, version), self._spec, value))
            self._leaf = leaf
        return leaf

    def numpy(self) -> Value:
        """The current value as a read-only array; `.copy()` gives one to write to."""
        view = self.cell.get()[1].view()
        view.flags.writeable = False
        return view

    def item(self) -> bool | int | float:
        """The single element as a Python scalar."""
        return self.tensor().item()

    def assign(self, value: TensorLike | Sequence[Any]) -> None:
        """Replace the value and start a new version; a Tensor is realized, its history dropped.

        Args:
            value: a tensor, array, number or nested lists, of the Var's shape and of a dtype
                that converts to the Var's without changing category: a floating Var takes
                integers, an integer Var takes no floats.

        Raises:
            ShapeError, DTypeError: naming the Var, what it needs and what it got.
        """
        self.replace(self.accepted(value))

    def accepted(self, value: TensorLike | Sequence[Any]) -> Value:
        """`value` as an array of the Var's spec that nobody else writes to."""
        if isinstance(value, Tensor | Var):
            array: Value = as_tensor(value).numpy()
        else:
            array = owned_array(value)
        if array.shape != self.shape:
            raise ShapeError(
                f"{self.name}: a new value must have the shape {self.shape}; got {array.shape}"
            )
        given = as_dtype(array.dtype)
        if given.category > self.dtype.category:
            raise DTypeError(f"{self.name}: a new value must be {self.dtype}; got {given}")
        if given is not self.dtype and not hasattr(value, "dtype"):
            return owned_array(value, self.dtype)  # Python floats, without a detour by float32
        if given is not self.dtype or not array.flags.c_contiguous:
            array = array.astype(self.dtype.dtype, order="C")
        return array

    def replace(self, array: Value) -> None:
        """Make `array`, which has the Var's spec and no other writer, the next version."""
        self.cell.advance(lambda version: (version[0] + 1, array))

    def successor(self, array: Value) -> Version:
        """The content of `cell` that makes `array` the next version."""
        return self.version + 1, array

    def __repr__(self) -> str:
        return f"Var({self.name!r}, {self._spec}, version {self.version})"

    def __len__(self) -> int:
        return len(self.tensor())

    def __getitem__(self, key: Any) -> Tensor:
        return engine().index(self.tensor(), key)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Value:
        return self.tensor().__array__(dtype, copy)

    def __bool__(self) -> bool:
        return bool(self.tensor())

    def __float__(self) -> float:
        return float(self.tensor())

    def __deepcopy__(self, memo: Any) -> "Var":
        return self._restored(self.name, self.numpy())

    def __reduce__(self) -> tuple[Any, ...]:
        return Var._restored, (self.name, self.numpy())

    @staticmethod
    def _restored(name: str, value: Value) -> "Var":
        return Var(name, value)

    _apply = staticmethod(Tensor._apply)
