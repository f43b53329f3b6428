"""A graph for the algorithms of networkx."""

from typing import TYPE_CHECKING, Any

from lazygraph.graph.view import as_networkx
from lazygraph.inspection.picture import nodes_of

if TYPE_CHECKING:
    import networkx as nx


def to_networkx(*targets: Any) -> "nx.MultiDiGraph":
    """The graph of some targets as a networkx graph.

    Nothing is computed. The result is a copy: to change it changes nothing else.

    Args:
        *targets: as for `listing`.

    Returns:
        A `MultiDiGraph`. Its nodes are the numbers in `listing`, in topological order, with the
        attributes `op`, `shape`, `dtype`, `scope` and `node`, the graph node itself; its edges,
        one an operand, go to what reads it and have the attribute `operand`, from 0 on.

    Raises:
        TypeError: a target is something else.

    Example:
        >>> import lazygraph as lg
        >>> a = lg.asarray([1.0])
        >>> lg.to_networkx(a + a).edges(data="operand")
        OutMultiEdgeDataView([(0, 1, 0), (0, 1, 1)])
    """
    return as_networkx(nodes_of(targets))
