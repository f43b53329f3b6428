"""The one knot of the house: what a Tensor reaches on floors above its own."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from lazygraph.errors import InternalError
from lazygraph.graph.op import Op

if TYPE_CHECKING:
    from lazygraph.graph.node import Node
    from lazygraph.graph.tensor import Tensor

OPS: dict[str, Op] = {}


def register(op: Op) -> Op:
    """Enter an op into the table; its name must be free."""
    if op.name in OPS:
        raise InternalError(f"the name of an op must be unique; got {op.name!r} twice")
    OPS[op.name] = op
    return op


class Engine(Protocol):
    """What Tensor methods need from the floors above."""

    def realize(self, nodes: Sequence["Node"]) -> None:
        """Compute and remember the values of `nodes`, in one evaluation."""

    def backward(self, loss: "Tensor", upstream: "Tensor | None") -> Any:
        """The map from node to gradient."""

    def render(self, tensor: "Tensor") -> str:
        """Text for `repr`, which realizes nothing."""

    def index(self, tensor: "Tensor", key: Any) -> "Tensor":
        """`tensor[key]`."""

    def at(self, tensor: "Tensor") -> Any:
        """`tensor.at`, to be indexed."""


class _Socket:
    """Where the package plugs the engine in, once."""

    def __init__(self) -> None:
        self._engine: Engine | None = None

    def install(self, engine: Engine) -> None:
        """Plug the engine in."""
        self._engine = engine

    def __call__(self) -> Engine:
        if self._engine is None:
            raise InternalError("the engine must be installed before tensors are used")
        return self._engine


engine = _Socket()
