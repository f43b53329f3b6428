"""A window: the micro-batches that make one update together."""

from dataclasses import dataclass, field, replace
from typing import Any

from training.update import Sums, Update


@dataclass(frozen=True, slots=True)
class Window:
    """What is kept of the micro-batches since the last update.

    Attributes:
        optimizer: the one that began the window.
        batches: how many there were.
        sums: their gradients and weights.
        loss: the weighted sum of their losses.
        reached: the numbers of the parameters that one of them reached.
        poisoned: one of them was not finite and must be skipped, and with it the window.
    """

    optimizer: Any = None
    batches: int = 0
    sums: Sums = field(default_factory=Sums)
    loss: float = 0.0
    reached: frozenset[int] = frozenset()
    poisoned: bool = False

    def check(self, opt: Any) -> None:
        """Refuse another optimizer than the one that began the window."""
        if self.batches and self.optimizer is not opt:
            raise ValueError("a window must be ended with the optimizer that began it")

    def joined(
        self, opt: Any, update: Update | None, loss: float, weight: float, bad: bool
    ) -> "Window":
        """The window with one more micro-batch, whose sums are not yet taken over."""
        return replace(
            self,
            optimizer=opt,
            batches=self.batches + 1,
            sums=replace(self.sums, weight=self.sums.weight + weight),
            loss=self.loss + weight * loss,
            reached=self.reached | set(update.updated if update is not None else ()),
            poisoned=self.poisoned or bad,
        )

    def summed(self, update: Update) -> "Window":
        """The window with the sums of gradients that the last micro-batch led to."""
        if self.poisoned:
            return self
        arrays = dict(self.sums.arrays)
        arrays.update({i: update.values["sum", i] for i in update.updated})
        return replace(self, sums=replace(self.sums, arrays=arrays))

    def mean_loss(self) -> float:
        """The weighted mean of the losses."""
        return self.loss / self.sums.weight
