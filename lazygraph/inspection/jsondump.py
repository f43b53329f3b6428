"""A graph as JSON, for other programs."""

import json
import os
from typing import Any

from lazygraph.inspection.picture import Row, picture_of

VERSION = 1


def to_json(*targets: Any, indent: int | None = None) -> str:
    """The graph of some targets as JSON.

    Nothing is computed, and the bytes are the same in every process.

    - `version`: 1.
    - `nodes`, in canonical order: `id`, which is the node's number in `listing`; `op`; `role`,
      which is "operation", "remembered" or the kind of a leaf; `params`; `shape`; `dtype`;
      `scope`; `line`, with `file`, `line` and `function`; `name`, of the Var whose leaf it is,
      or null; `value`, the text of a value that is known and tiny, or null.
    - `edges`, one an operand: `from`, `to` and `operand`, its place among the operands.
    - `targets`: ids, in the order in which they were asked for.

    Args:
        *targets: as for `listing`.
        indent: spaces a level; None puts all into one line.

    Returns:
        The text, in ASCII.

    Raises:
        TypeError: a target is something else.

    Example:
        >>> import json
        >>> import lazygraph as lg
        >>> graph = json.loads(lg.to_json(lg.Var("w", 2.0) ** 2))
        >>> [node["op"] for node in graph["nodes"]], graph["edges"], graph["targets"]
        (['variable', 'square'], [{'from': 0, 'to': 1, 'operand': 0}], [1])
    """
    picture = picture_of(targets)
    edges = [
        {"from": x, "to": row.position, "operand": operand}
        for row in picture.rows
        for operand, x in enumerate(row.operands)
    ]
    graph = {
        "version": VERSION,
        "nodes": [_node(row) for row in picture.rows],
        "edges": edges,
        "targets": picture.targets,
    }
    return json.dumps(graph, indent=indent, allow_nan=False)


def _node(row: Row) -> dict[str, Any]:
    return {
        "id": row.position,
        "op": row.op,
        "role": row.role,
        "params": dict(row.params),
        "shape": row.spec.shape,
        "dtype": row.spec.dtype.name,
        "scope": row.scope,
        "line": {
            "file": os.path.basename(row.line.filename),
            "line": row.line.lineno,
            "function": row.line.function,
        },
        "name": row.name,
        "value": row.value,
    }
