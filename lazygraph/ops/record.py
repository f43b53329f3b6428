"""Entering an op into the table."""

from typing import Any

from lazygraph.graph.engine import register
from lazygraph.graph.op import Op


def define(name: str, **fields: Any) -> Op:
    """Make the record of an op and enter it into the table.

    Args:
        name: the op's name, unique.
        **fields: the fields of `Op`.

    Returns:
        The record, to be given to `apply`.

    Raises:
        InternalError: the name is taken.
    """
    return register(Op(name, **fields))
