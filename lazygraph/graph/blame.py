"""Errors that say where each operand was built."""

from typing import TypeVar

from lazygraph.graph.node import Node
from lazygraph.source import describe

Error = TypeVar("Error", bound=Exception)


def noted(error: Error, *operands: Node) -> Error:
    """The same error, with a note for each operand: its spec and the user's line that built it.

    Raise what this returns without giving it a name: a frame that holds the exception which it
    raises is a cycle, and keeps the graph alive until the collector comes by.

    Args:
        error: the error.
        *operands: the nodes concerned.

    Example:
        >>> import lazygraph as lg
        >>> noted(ValueError("no"), lg.zeros((2,)).node).__notes__[0].split(" at ")[0]
        '  float32[2] built'
    """
    for node in operands:
        error.add_note(f"  {node.spec} built at {describe(node.source)}")
    return error
