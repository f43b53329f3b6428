"""One recorded operation."""

from typing import TYPE_CHECKING, Any

import numpy as np

from lazygraph.counters import next_id
from lazygraph.source import Line, capture, recording

if TYPE_CHECKING:
    from lazygraph.graph.op import Op, Params
    from lazygraph.graph.spec import Spec

Value = np.ndarray[Any, Any]


class Node:
    """An op, its inputs and parameters, and the spec of its result.

    Frozen but for `value`, which the realization sets once; compared and hashed by identity.
    Inputs are older than the node, so sorting by `id` is a topological order.

    Attributes:
        op: the record of the operation.
        inputs: the nodes it reads.
        params: its parameters, hashable, in the order of `op.params`.
        spec: shape and dtype of its value.
        id: a number that grows over the life of the process.
        source: the user's line that recorded it.
        scope: the path of scopes around that line.
        value: the remembered value, read-only, or None.
    """

    __slots__ = (
        "__weakref__",
        "id",
        "inputs",
        "op",
        "params",
        "scope",
        "source",
        "spec",
        "value",
    )

    def __init__(
        self,
        op: "Op",
        inputs: "tuple[Node, ...]",
        params: "Params",
        spec: "Spec",
        value: Value | None = None,
    ) -> None:
        scope, line = recording.get()
        self.op = op
        self.inputs = inputs
        self.params = params
        self.spec = spec
        self.id: int = next_id()
        self.source: Line = capture(3) if line is None else line
        self.scope = scope
        self.value = value

    def __repr__(self) -> str:
        return f"<node {self.id}: {self.op.name} {self.spec}>"
