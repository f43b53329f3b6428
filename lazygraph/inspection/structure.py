"""What a scan wrote into a key, read back, and in words how two such structures differ."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from lazygraph.graph.op import Op, Params
from lazygraph.graph.spec import Spec
from lazygraph.inspection.picture import plain
from lazygraph.plan import REMEMBERED

_MOST_DIFFERENCES = 3

# How to name a node of the graph at hand, by its position in the key.
Named = Callable[[int], str]


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
    def kind(self) -> str:
        """What it is, in a word or two."""
        if self.op is not None:
            return self.op.name
        return f"{self.layout.name if isinstance(self.layout, Op) else 'data'} {self.spec}"


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


def differences(now: tuple[Any, ...], then: tuple[Any, ...], named: Named) -> list[str]:
    """In words, what a key has instead of another one.

    The first few nodes that differ, if both have equally many; else the first, since behind it all
    nodes may have moved.
    """
    ours, theirs = read_key(now), read_key(then)
    found = [
        f"{'leaf' if new.op is None else 'node'} {named(i)}: {_instead(new, old, named)}"
        for i, (new, old) in enumerate(zip(ours, theirs, strict=False))
        if new != old
    ]
    if len(ours) != len(theirs):
        return [*found[:1], f"{len(ours)} nodes instead of {len(theirs)}"]
    if not found:
        return [f"targets: {_list(now[-1], named)} instead of {_list(then[-1], named)}"]
    more = len(found) - _MOST_DIFFERENCES
    return found[:_MOST_DIFFERENCES] + ([f"{more} more nodes"] if more > 0 else [])


def _instead(new: Entry, old: Entry, named: Named) -> str:
    if new.op is not None and new.op is old.op:
        if new.params != old.params:
            return f"{_arguments(new)} instead of {_arguments(old)}"
        if new.operands != old.operands:
            what = f"{new.op.name} of {_list(new.operands, named)}"
            return f"{what} instead of {_list(old.operands, named)}"
    if new.op is None and old.op is None:
        if new.kind.split()[0] == old.kind.split()[0] and new.spec != old.spec:
            return f"{new.spec} instead of {old.spec}"
        if new.kind == old.kind:
            return f"strides {new.layout} instead of {old.layout}"
    return f"{new.kind} instead of {old.kind}"


def _arguments(entry: Entry) -> str:
    assert entry.op is not None
    pairs = zip(entry.op.params, entry.params, strict=True)
    return f"{entry.op.name}({', '.join(f'{name}={plain(param)!r}' for name, param in pairs)})"


def _list(positions: Sequence[int], named: Named) -> str:
    return ", ".join(map(named, positions))
