"""What the floor above asks of a backend."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from lazygraph.graph.node import Node, Value
from lazygraph.graph.spec import Spec

# Where in the recorded graph a step stems from; -1 if nowhere.
Origin = Callable[[Node], int]


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a program, for explanations.

    Attributes:
        name: the op, or "copy" where an operand had to be made contiguous.
        spec: what it computes.
        origin: the canonical position of the recorded node that it stems from, or -1.
        where: what it is written to: "arena" or "result"; what it read, "in place"; the memory
            of one "block" of rows; or none, a "register".
    """

    name: str
    spec: Spec
    origin: int
    where: str

    def note(self, locate: Callable[[int], str]) -> str:
        """What an error in this step is told: `locate` gives the text for a recorded node."""
        where = locate(self.origin) if self.origin >= 0 else "a node of the derivative"
        return f"  in {self.name} {self.spec}, recorded at {where}"


class Program(Protocol):
    """Compiled steps. It owns no memory and may run in several threads at once."""

    steps: tuple[Step, ...]
    arena_bytes: int
    result_bytes: int

    def run(self, values: Sequence[Value], locate: Callable[[int], str]) -> list[Value]:
        """Compute the roots from the values of the slots.

        Args:
            values: one for each slot, of its spec.
            locate: text for a node of the graph that is running, by its canonical position; an
                error in a step gets it as a note.

        Returns:
            The value of each root, which nobody will change.
        """


class Backend(Protocol):
    """One way to run plans."""

    name: str

    def missing(self) -> str | None:
        """What to install before the backend can run, or None."""

    def evaluate(self, node: Node) -> Value:
        """The value of one node whose inputs have values, as a run would compute it."""

    def compile(self, roots: Sequence[Node], slots: dict[Node, int], origin: Origin) -> Program:
        """A program that computes the roots.

        Args:
            roots: the nodes whose values are wanted.
            slots: the leaves whose values come with each run, and their positions.
            origin: where each node stems from.
        """
