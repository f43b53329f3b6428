"""What a scan wrote into a key, read back, and in words how two such structures differ."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from lazygraph.graph.node import Node
from lazygraph.graph.op import Op, Params
from lazygraph.graph.spec import Spec
from lazygraph.inspection.picture import plain
from lazygraph.plan import REMEMBERED, Scan
from lazygraph.source import describe

_MOST_DIFFERENCES = 3


class Entry(NamedTuple):
    """One node of a key.

    Attributes:
        op: its op, or None for a leaf.
        params: of the op.
        operands: positions of the inputs.
        spec: of a leaf's value, or of a remembered one that was walked through; else None.
        layout: the strides of that value, or the leaf's op if there is but one layout.
    """

    op: Op | None
    params: Params = ()
    operands: tuple[int, ...] = ()
    spec: Spec | None = None
    layout: Any = None

    @property
    def source(self) -> str:
        """Where the value of a leaf comes from."""
        return self.layout.name if isinstance(self.layout, Op) else "data"

    @property
    def kind(self) -> str:
        """What it is, in a word or two."""
        return f"{self.source} {self.spec}" if self.op is None else self.op.name


def read_key(key: tuple[Any, ...]) -> list[Entry]:
    """The nodes of a key in canonical order; the last element, the roots, is not among them."""
    entries = []
    i = 0
    while i < len(key) - 1:
        entry = Entry(None)
        if isinstance(key[i], Op):
            first = last = i + 2
            while isinstance(key[last], int):
                last += 1
            entry = Entry(key[i], key[i + 1], key[first:last])
            i = last
        if isinstance(key[i], Spec) and entry.op is None:
            entry = entry._replace(spec=key[i], layout=key[i + 1])
            i += 2
        elif key[i] is REMEMBERED:
            entry = entry._replace(spec=key[i + 1], layout=key[i + 2])
            i += 3
        entries.append(entry)
    return entries


def differences(found: Scan, other: tuple[Any, ...], number: Mapping[Node, int]) -> list[str]:
    """In words, what the scanned graph has instead of what another key describes.

    The first few nodes that differ, if both have equally many; else the first, since behind it
    all nodes may have moved.

    Args:
        found: the scan of the graph.
        other: the other key.
        number: how to call the nodes of the graph.
    """
    ours, theirs = read_key(found.key), read_key(other)
    nodes = list(found.order)
    names = [f"%{number[node]}" for node in nodes]
    pairs = enumerate(zip(ours, theirs, strict=False))
    at = [i for i, (new, old) in pairs if new != old]
    words = [
        f"{'node' if ours[i].op else 'leaf'} {names[i]}: {_instead(ours[i], theirs[i], names)} "
        f"({describe(nodes[i].source, with_text=False)})"
        for i in at[:_MOST_DIFFERENCES]
    ]
    if len(ours) != len(theirs):
        return [*words[:1], f"{len(ours)} nodes instead of {len(theirs)}"]
    if not words:
        now, then = (_list(key[-1], names) for key in (found.key, other))
        return [f"targets {now} instead of {then}"]
    more = len(at) - len(words)
    return words + ([f"{more} more nodes"] if more else [])


def _instead(new: Entry, old: Entry, names: Sequence[str]) -> str:
    if new.op is not None and new.op is old.op:
        if new.params != old.params:
            return f"{_arguments(new)} instead of {_arguments(old)}"
        if new.operands != old.operands:
            return (
                f"{new.op.name} of {_list(new.operands, names)} "
                f"instead of {_list(old.operands, names)}"
            )
    if new.op is None and old.op is None:
        if new.source == old.source and new.spec != old.spec:
            return f"{new.spec} instead of {old.spec}"
        if new.source == old.source:
            return f"strides {new.layout} instead of {old.layout}"
    return f"{new.kind} instead of {old.kind}"


def _arguments(entry: Entry) -> str:
    assert entry.op is not None
    pairs = zip(entry.op.params, entry.params, strict=True)
    return f"{entry.op.name}({', '.join(f'{name}={plain(param)!r}' for name, param in pairs)})"


def _list(positions: Sequence[int], names: Sequence[str]) -> str:
    return ", ".join([names[i] for i in positions])
