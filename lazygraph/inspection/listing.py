"""A graph as text, a line a node."""

from typing import Any

from lazygraph.inspection.picture import Row, picture_of, visible
from lazygraph.source import describe


def listing(*targets: Any) -> str:
    """The graph of some targets as text, a line a node, operands before what reads them.

    A line gives the node's number, op, operands and parameters; its spec, and its value if that
    is known and tiny; behind `#` the scope, the line that recorded it and whether it is
    remembered. Nothing is computed, and the text is the same in every process.

    Args:
        *targets: Tensors, Vars, Nodes, and lists, tuples, dicts or gradient maps of them,
            nested as you like; numbers and None are passed over.

    Returns:
        Lines joined by line feeds; of two hundred thousand nodes too.

    Raises:
        TypeError: a target is something else.

    Example:
        >>> import lazygraph as lg
        >>> print(lg.listing(lg.asarray([1.0, 2.0]) + 1))
        %0 = data()  float32[2] = [1.0, 2.0]  # <doctest ...
        %1 = scalar()  float32[] = 1.0  # <doctest ...
        %2 = add(%0, %1)  float32[2]  # <doctest ...
    """
    return "\n".join([_line(row) for row in picture_of(targets).rows])


def _line(row: Row) -> str:
    names = [] if row.name is None else [repr(row.name)]
    arguments = ", ".join([*(f"%{i}" for i in row.operands), *names, *row.arguments])
    value = "" if row.value is None else f" = {row.value}"
    remembered = row.role if row.role == "remembered" else ""
    notes = filter(None, [row.scope, describe(row.line, with_text=False), remembered])
    comment = visible("  ".join(notes)).replace("\n", "\\n")
    return f"%{row.position} = {row.op}({arguments})  {row.spec}{value}  # {comment}"
