"""The backend that compiles plans to machine code."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lazygraph.backends.base import Origin, Program
from lazygraph.backends.native.extra import missing
from lazygraph.backends.numpy import NumpyBackend
from lazygraph.dtypes import FLOATING
from lazygraph.graph.node import Node, Value
from lazygraph.graph.op import Kind

if TYPE_CHECKING:
    from lazygraph.backends.native.compiler import NativeCompiler


class NativeBackend:
    """Compiles a plan to a program of machine code; what is refused, NumPy does between."""

    name = "native"

    def missing(self) -> str | None:
        """What to install before the backend can run, or None."""
        return missing()

    def _compiler(self) -> "NativeCompiler":
        from lazygraph.backends.native.compiler import NativeCompiler  # LLVM comes with it

        return NativeCompiler()

    def evaluate(self, node: Node) -> Value:
        """The value of one node whose inputs have values."""
        if _is_exact(node):  # no reason to write a kernel that may run but once
            return NumpyBackend().evaluate(node)
        program = self.compile([node], {}, lambda _: -1)
        return program.run((), str)[0].copy(order="K")

    def compile(self, roots: Sequence[Node], slots: dict[Node, int], origin: Origin) -> Program:
        """A program for the roots; see `Backend.compile`."""
        return self._compiler().compile(roots, slots, origin)


def clear_cache() -> None:
    """Delete the machine code on disk. What is loaded stays; nothing else is touched.

    Example:
        >>> from lazygraph import using
        >>> with using(cache_folder="/nowhere/at/all"):
        ...     clear_cache()  # there is none
    """
    from lazygraph.backends.native import cache  # what it needs takes long to import

    cache.clear()


def _is_exact(node: Node) -> bool:
    """Whether every backend gives it the same bits: it rounds nothing."""
    specs = (node.spec, *(x.spec for x in node.inputs))
    return node.op.kind is Kind.VIEW or all(s.dtype.category != FLOATING for s in specs)
