"""Drives optimizers that have a `step` and no pure `update`."""

from typing import Any

import lazygraph as lg
from training.optimizers.base import Optimizer, State
from training.update import Array, Update


class _Harvest(Optimizer):
    """Stands for an optimizer that has `step` alone: its new parameters are the gradients."""

    def __init__(self, optimizer: Any) -> None:
        super().__init__(optimizer.params(), optimizer.learning_rate)

    def hyperparameters(self) -> dict[str, Any]:
        return {}

    def initial(self, var: lg.Var) -> dict[str, Array]:
        return {}

    def rule(
        self, name: str, g: lg.Tensor, state: State, p: lg.Tensor, lr: lg.Tensor
    ) -> tuple[lg.Tensor, State]:
        return g, {}


def driven(opt: Any) -> Optimizer:
    """The optimizer, or what harvests gradients for it."""
    return opt if isinstance(opt, Optimizer) else _Harvest(opt)


def changes_of(update: Update, opt: Any) -> list[tuple[lg.Cell[Any], Any]]:
    """The changes of an update; an optimizer that has only `step` makes its own, here."""
    if isinstance(opt, Optimizer):
        return update.changes()
    opt.set_learning_rate(update.rate)
    names = update.optimizer.names
    opt.step(
        {names[i]: lg.asarray(update.values["param", i], copy=False) for i in update.updated}
    )
    return []
