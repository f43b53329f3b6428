"""A graph as a Mermaid flowchart, which code forges and notebooks draw."""

import re
from collections.abc import Iterator
from typing import Any

from lazygraph.inspection.excerpt import HIDDEN, excerpt
from lazygraph.inspection.picture import Row, by_scope, label_of, picture_of, visible

# The looks, by role. No line ends in a semicolon: Mermaid takes `#82b366;` for a character.
_CLASSES = {
    "variable": "fill:#d5e8d4,stroke:#82b366,color:#000",
    "data": "fill:#dae8fc,stroke:#6c8ebf,color:#000",
    "scalar": "fill:#fff,stroke:#bbb,color:#000",
    "placeholder": "fill:#fff,stroke:#bbb,color:#000,stroke-dasharray:4",
    "remembered": "fill:#fff2cc,stroke:#d6b656,color:#000",
    "target": "stroke-width:3px",
}
# All but letters, digits and harmless signs: the rest may mean HTML or Markdown to Mermaid, as
# an underscore does at the edge of a word.
_SPECIAL = re.compile(r"[^\w .,=+\[\]-]|(?<![^\W_])_|_(?![^\W_])")


def to_mermaid(*targets: Any, limit: int | None = 200) -> str:
    """The graph of some targets as a Mermaid flowchart.

    An arrow goes from each operand to what reads it, twice in `a + a`; a box holds a scope;
    Vars, data, scalars, remembered nodes and targets look different. Nothing is computed.

    Args:
        *targets: as for `listing`.
        limit: the most nodes to draw, nearest to the targets first; one more node then says
            how many were left out. None draws all, but Mermaid refuses more than 500 arrows or
            50,000 characters unless it is configured otherwise.

    Returns:
        The text of one flowchart. An identifier is `n` and the node's number in `listing`;
        labels are quoted, and special characters in them are written as `#`, code point, `;`.

    Raises:
        TypeError: a target is something else.
        ValueError: `limit` is not positive.

    Example:
        >>> import lazygraph as lg
        >>> print(lg.to_mermaid(lg.Var("w", 2.0) ** 2))
        flowchart TD
          n0["variable #39;w#39;<br/>version=0<br/>float32[] = 2.0"]:::variable
          n1["square<br/>float32[]"]
          n0 --> n1
          class n1 target
          classDef variable fill:#d5e8d4,stroke:#82b366,color:#000
          classDef target stroke-width:3px
    """
    picture = picture_of(targets)
    part = excerpt(picture, limit)
    lines = ["flowchart TD"]
    for number, (scope, rows) in enumerate(by_scope(part.rows)):
        nodes = [_node(row) for row in rows]
        lines += _box(number, scope, nodes) if scope else nodes
    if part.hidden:
        lines.append(f'  more["+{part.hidden} more nodes"]')
    lines += [f"  n{x} --> n{y}" for x, y in part.edges]
    lines += [f"  {_id(x)} -.-> {_id(y)}" for x, y in part.crossing]
    drawn = {row.position for row in part.rows}
    shown = [i for i in dict.fromkeys(picture.targets) if i in drawn]
    lines += [f"  class {','.join(map(_id, shown))} target"] if shown else []
    used = {row.role for row in part.rows} | ({"target"} if shown else set())
    lines += [f"  classDef {role} {look}" for role, look in _CLASSES.items() if role in used]
    return "\n".join(lines)


def _box(number: int, scope: str, nodes: list[str]) -> Iterator[str]:
    yield f"  subgraph s{number}[{_quoted(visible(scope))}]"
    for node in nodes:
        yield f"  {node}"
    yield "  end"


def _node(row: Row) -> str:
    look = f":::{row.role}" if row.role in _CLASSES else ""
    return f"  n{row.position}[{_quoted(label_of(row))}]{look}"


def _id(position: int) -> str:
    return "more" if position == HIDDEN else f"n{position}"


def _quoted(text: str) -> str:
    lines = [_SPECIAL.sub(lambda c: f"#{ord(c[0])};", line) for line in text.split("\n")]
    return f'"{"<br/>".join(lines)}"'
