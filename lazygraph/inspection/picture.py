"""One plain description of a graph, of which every dump is a view."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from lazygraph.dtypes import DType
from lazygraph.graph.node import Node, Value
from lazygraph.graph.op import Kind
from lazygraph.graph.spec import Spec
from lazygraph.graph.tensor import Tensor
from lazygraph.graph.var import Var, VarIdentity
from lazygraph.graph.walk import postorder
from lazygraph.source import Place, Places

_TINY = 4  # elements: a value up to this size is shown beside its node
# What nobody can see, or would end a line: controls, separators, halves of characters.
_UNSEEN = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


class Row(NamedTuple):
    """One node, in plain values.

    Attributes:
        position: its place in canonical order.
        op: the name of its op.
        role: "operation", "remembered" if its value is there, or the name of a leaf's op.
        operands: the positions of its inputs.
        params: the names of its parameters and their values, as numbers, texts and tuples; the
            Var of a leaf stands in `name` instead.
        spec: shape and dtype.
        scope: the path of scopes.
        line: the user's line.
        name: of the Var whose leaf it is, else None.
        value: text of a value that is there and tiny, else None.
    """

    position: int
    op: str
    role: str
    operands: tuple[int, ...]
    params: tuple[tuple[str, Any], ...]
    spec: Spec
    scope: str
    line: Place
    name: str | None
    value: str | None

    @property
    def arguments(self) -> list[str]:
        """The parameters as Python would write them."""
        return [f"{name}={value!r}" for name, value in self.params]


class Picture(NamedTuple):
    """A graph in plain values.

    Attributes:
        rows: one a node, operands first, in canonical order.
        targets: the positions of what was asked for, in the order in which it was.
    """

    rows: list[Row]
    targets: list[int]


def picture_of(targets: Sequence[Any]) -> Picture:
    """The plain description of the graph of some targets."""
    nodes = nodes_of(targets)
    places = Places()
    position: dict[Node, int] = {}
    rows = []
    for node in postorder(nodes):
        operands = tuple([position[x] for x in node.inputs])
        position[node] = len(position)
        rows.append(_row(node, position[node], operands, places[node.source]))
    return Picture(rows, [position[node] for node in nodes])


def nodes_of(targets: Iterable[Any]) -> list[Node]:
    """The nodes of tensors, Vars and containers of them; numbers and None are passed over.

    Sets are refused: their order is not the same in every process.
    """
    nodes: list[Node] = []
    waiting = list(targets)[::-1]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Tensor):
            nodes.append(item.node)
        elif isinstance(item, Var):
            nodes.append(item.tensor().node)
        elif isinstance(item, Node):
            nodes.append(item)
        elif isinstance(item, Mapping):
            waiting += list(item.values())[::-1]
        elif isinstance(item, list | tuple):
            waiting += item[::-1]
        elif not (item is None or isinstance(item, bool | int | float)):
            raise TypeError(
                "targets must be tensors, Vars, or lists, tuples and mappings of them; "
                f"got {item!r}"
            )
    return nodes


def _row(node: Node, position: int, operands: tuple[int, ...], line: Place) -> Row:
    op, value = node.op, node.value
    is_leaf = op.kind is Kind.LEAF
    params = list(zip(op.params, node.params, strict=True))
    names = [param.name for _, param in params if isinstance(param, VarIdentity)]
    return Row(
        position,
        op.name,
        op.name if is_leaf else "operation" if value is None else "remembered",
        operands,
        tuple([(key, plain(p)) for key, p in params if not isinstance(p, VarIdentity)]),
        node.spec,
        node.scope,
        line,
        names[0] if names else None,
        _text(value) if value is not None and 0 < value.size <= _TINY else None,
    )


def plain(param: Any) -> Any:
    """A parameter as what any program can read, the same in every process."""
    if param is None or isinstance(param, bool | int | str):
        return param
    if isinstance(param, float):
        return param if math.isfinite(param) else str(param)
    if isinstance(param, DType):
        return param.name
    if isinstance(param, list | tuple):
        return tuple([plain(x) for x in param])
    name = getattr(param, "__qualname__", None) or getattr(param, "co_name", None)
    return str(name or type(param).__qualname__)


def _text(value: Value) -> str:
    """The elements in as few digits as tell them apart, whatever NumPy's print options are."""
    if value.ndim == 0:
        return str(value[()])
    return f"[{', '.join(map(_text, value))}]"


def visible(text: str) -> str:
    """The text with escapes for what would not be seen; a line feed stays."""
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def label_of(row: Row) -> str:
    """The lines of text that stand in the node's box."""
    title = row.op if row.name is None else f"{row.op} '{row.name}'"
    spec = str(row.spec) if row.value is None else f"{row.spec} = {row.value}"
    return visible("\n".join(filter(None, [title, ", ".join(row.arguments), spec])))


def by_scope(rows: Iterable[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Rows that belong to one scope together; scopes in the order in which they come up."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.scope, []).append(row)
    yield from groups.items()
