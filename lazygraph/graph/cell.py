"""Cells: mutable state, replaced one by one or many at once, all or nothing."""

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from lazygraph.locks import lock_across_forks

T = TypeVar("T")
_lock = lock_across_forks()


class _Commit:
    """The moment at which the candidates of one `replace_all` become current."""

    __slots__ = ("done",)

    def __init__(self) -> None:
        self.done = False


class Cell(Generic[T]):
    """One replaceable value.

    A Var, an optimizer and a training loop keep all that a step changes in cells. `replace_all`
    first puts a candidate beside each value and then sets one flag, which every cell reads
    through: the one store that makes the step done. An interrupt before it changes nothing, one
    after it undoes nothing.

    Args:
        value: the first value; treat values as immutable.

    Example:
        >>> step, rate = Cell(0), Cell(0.1)
        >>> replace_all([(step, 1), (rate, 0.05)])
        >>> step.get(), rate.get()
        (1, 0.05)
    """

    __slots__ = ("_state",)

    def __init__(self, value: T) -> None:
        self._state: tuple[T, T | None, _Commit | None] = (value, None, None)

    def get(self) -> T:
        """The current value."""
        value, candidate, commit = self._state
        return candidate if commit is not None and commit.done else value  # type: ignore[return-value]

    def advance(self, following: Callable[[T], T]) -> None:
        """Replace the value by one that follows from it; no other change comes between."""
        with _lock:
            replace_all([(self, following(self.get()))])

    def __repr__(self) -> str:
        return f"Cell({self.get()!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Cell, (self.get(),)


def replace_all(changes: Iterable[tuple[Cell[Any], Any]]) -> None:
    """Replace the values of several cells in one indivisible step.

    Args:
        changes: pairs of a cell and its new value; a cell named twice gets the last one.
    """
    pairs = list(changes)
    with _lock:
        commit = _Commit()
        for cell, candidate in pairs:
            cell._state = (cell.get(), candidate, commit)
        commit.done = True
        for cell, _ in pairs:
            cell._state = (cell.get(), None, None)  # lets go of what was replaced
