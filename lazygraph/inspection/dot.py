"""A graph in the language of Graphviz."""

import re
from collections.abc import Iterator
from typing import Any

from lazygraph.inspection.excerpt import HIDDEN, excerpt
from lazygraph.inspection.picture import Row, by_scope, label_of, picture_of, visible
from lazygraph.source import describe

_SHAPES = {
    "variable": 'shape="ellipse", style="filled", fillcolor="#d5e8d4"',
    "data": 'shape="cylinder", style="filled", fillcolor="#dae8fc"',
    "scalar": 'shape="plaintext"',
    "placeholder": 'shape="ellipse", style="dashed"',
    "remembered": 'shape="box", style="filled", fillcolor="#fff2cc"',
}
_OPERATION = 'shape="box"'
# `&amp;` in a label would be drawn as `&`; an ampersand of other kinds is one already.
_ENTITY = re.compile(r"&(?=#?\w+;)")


def to_dot(*targets: Any, limit: int | None = None) -> str:
    r"""The graph of some targets in DOT, the language of Graphviz.

    An arrow goes from each operand to what reads it, twice in `a + a`; a cluster holds a scope;
    Vars, data, scalars, remembered nodes and targets look different. Tooltips give the line
    that recorded the node. Nothing is computed, and no layout is made.

    Args:
        *targets: as for `listing`.
        limit: the most nodes to draw, nearest to the targets first; one more node then says
            how many were left out. None draws all: a layout of thousands may take minutes.

    Returns:
        The text of one digraph. An identifier is `n` and the node's number in `listing`; labels
        are quoted, whatever is in them.

    Raises:
        TypeError: a target is something else.
        ValueError: `limit` is not positive.

    Example:
        >>> import lazygraph as lg
        >>> print(lg.to_dot(lg.Var("w", 2.0) ** 2))
        digraph lazygraph {
          n0 [label="variable 'w'\nversion=0\nfloat32[] = 2.0", ...];
          n1 [label="square\nfloat32[]", ...];
          n0 -> n1;
        }
    """
    picture = picture_of(targets)
    part = excerpt(picture, limit)
    wanted = set(picture.targets)
    lines = ["digraph lazygraph {"]
    for number, (scope, rows) in enumerate(by_scope(part.rows)):
        nodes = [_node(row, row.position in wanted) for row in rows]
        lines += _cluster(number, scope, nodes) if scope else nodes
    if part.hidden:
        lines.append(f'  more [label="+{part.hidden} more nodes", shape="plaintext"];')
    lines += [f"  n{x} -> n{y};" for x, y in part.edges]
    lines += [f'  {_id(x)} -> {_id(y)} [style="dashed"];' for x, y in part.crossing]
    return "\n".join([*lines, "}"])


def _cluster(number: int, scope: str, nodes: list[str]) -> Iterator[str]:
    yield f"  subgraph cluster_{number} {{"
    yield f"    label={_quoted(visible(scope))};"
    for node in nodes:
        yield f"  {node}"
    yield "  }"


def _node(row: Row, is_target: bool) -> str:
    look = _SHAPES.get(row.role, _OPERATION) + (', peripheries="2"' if is_target else "")
    place = _quoted(visible(describe(row.line, with_text=False)))
    return f"  n{row.position} [label={_quoted(label_of(row))}, tooltip={place}, {look}];"


def _id(position: int) -> str:
    return "more" if position == HIDDEN else f"n{position}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{_ENTITY.sub("&amp;", escaped)}"'
