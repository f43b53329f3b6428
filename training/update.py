"""One update of an optimizer: found in one realization, then kept or dropped at once."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

import lazygraph as lg
from lazygraph.extend import (
    VARIABLE,
    Scan,
    VarIdentity,
    gradients,
    noted,
    reach,
    realize_derived,
    scan,
)
from training.recipe import WHOLE, Key, Recipe, UpdateGraph

if TYPE_CHECKING:
    from training.optimizers.base import Optimizer

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Sums:
    """Gradients of the earlier micro-batches of a window.

    Attributes:
        weight: the sum of their weights.
        arrays: the weighted sum of gradients of each parameter that one of them reached.
    """

    weight: float = 0.0
    arrays: Mapping[int, Array] = field(default_factory=dict)


NO_SUMS = Sums()


class Slots(NamedTuple):
    """What an optimizer remembers of one parameter: updates so far, and its arrays by name."""

    step: int
    arrays: dict[str, Array]


class Update:
    """Candidate parameters and state, computed in one realization.

    Args:
        optimizer: whose parameters are updated.
        found: the scan of the recorded graph.
        recorded: gives the gradient of each parameter by its number, in tensors over that
            graph; called only if no plan fits.
        reached: positions in the scan, or -1, and numbers of the parameters that may have a
            gradient.
        recipe: how gradients become updates.
        sums: gradients of earlier micro-batches.
        weight: of this micro-batch, a number or the last tensor in `remember`.
        remember: recorded tensors to compute in the same realization.
        rate: the learning rate; by default the optimizer's.

    Attributes:
        values: the candidates, and what was measured.
        updated: the numbers of the parameters that are measured and changed.
    """

    def __init__(
        self,
        optimizer: "Optimizer",
        found: Scan,
        recorded: Callable[[], dict[int, lg.Tensor]],
        reached: Sequence[tuple[int, int]],
        recipe: Recipe = WHOLE,
        sums: Sums = NO_SUMS,
        weight: float | lg.Tensor = 1.0,
        remember: Sequence[lg.Tensor] = (),
        rate: float | None = None,
    ) -> None:
        self.optimizer = optimizer
        self.recipe = recipe
        self.rate = optimizer.learning_rate if rate is None else rate
        self._recorded = recorded
        self._leaves = {i: found.leaves[at] for at, i in reached if at >= 0}
        self._slots = optimizer.state.get()
        self._weight = weight
        numbers = sorted({i for _, i in reached} | set(sums.arrays))
        # Parameters with equal counts share one input. Which do so is structure, the counts are
        # not.
        steps = [self._slots[i].step for i in numbers]
        distinct = sorted(set(steps))
        self._groups = {i: distinct.index(s) for i, s in zip(numbers, steps, strict=True)}
        inputs = self._inputs(distinct, sums)
        self._keys = tuple(inputs)
        values, note = realize_derived(
            found, self._derive, list(inputs.values()), self._key(reached), remember
        )
        keys, self.updated = note
        self.values: dict[Key, Array] = dict(zip(keys, values, strict=True))

    def _inputs(self, steps: Sequence[int], sums: Sums) -> dict[Key, Array]:
        """What is not part of the recorded graph, and comes anew with each run."""
        inputs: dict[Key, Any] = {}
        params = self.optimizer.params()
        if self.recipe.applied:
            inputs["rate",] = np.float64(self.rate)
            for group, step in enumerate(steps):
                inputs["step", group] = np.int64(step)
            for i in self._groups:
                for name, array in self._slots[i].arrays.items():
                    inputs["state", i, name] = array
                if i not in self._leaves:
                    inputs["param", i] = params[i].cell.get()[1]
        if self.recipe.weighted:
            inputs["total",] = np.float64(sums.weight)
            if not isinstance(self._weight, lg.Tensor):
                inputs["weight",] = np.float64(self._weight)
            for i in self._groups:
                if i in sums.arrays:
                    inputs["sum", i] = sums.arrays[i]
        return inputs

    def _key(self, reached: Sequence[tuple[int, int]]) -> tuple[Any, ...]:
        """All that the graph of the update depends on, besides the recorded one."""
        optimizer = self.optimizer
        params = optimizer.params()
        return (
            type(optimizer),
            tuple(optimizer.hyperparameters().items()),
            tuple(reached),
            # Formulas may go by the name. Specs of state and sums follow from the parameter's.
            tuple([(optimizer.names[i], params[i].spec) for i in self._groups]),
            tuple(self._groups.values()),
            self.recipe,
            self._keys,
        )

    def _derive(self, placeholders: Sequence[lg.Tensor]) -> tuple[list[lg.Tensor], Any]:
        """The graph of the update; not called when a plan fits."""
        given = dict(zip(self._keys, placeholders, strict=True))
        weight = None
        if self.recipe.weighted:
            recorded = isinstance(self._weight, lg.Tensor)
            weight = lg.reshape(self._weight if recorded else given["weight",], ())
        params = {
            i: lg.Tensor(self._leaves[i]) if i in self._leaves else given["param", i]
            for i in self._groups
            if i in self._leaves or ("param", i) in given
        }
        graph = UpdateGraph(
            self.recipe,
            self.optimizer,
            self._recorded(),
            params,
            self._groups,
            given,
            weight,
        )
        targets, updated = graph.targets()
        return list(targets.values()), (tuple(targets), updated)

    @property
    def norm(self) -> float | None:
        """The global norm of the gradient before clipping, if this is a whole update."""
        if not self.recipe.applied or ("norm",) not in self.values:
            return None
        return float(self.values["norm",])

    def nonfinite(self, loss: float) -> list[str]:
        """What of the loss and of the measured gradients is NaN or infinite, in words."""
        bad = [] if math.isfinite(loss) else [f"a loss of {loss}"]
        if ("norms",) in self.values:
            sizes = self.values["norms",].tolist()
            for i, size in zip(self.updated, sizes, strict=True):
                if not math.isfinite(size):
                    name = self.optimizer.names[i]
                    bad.append(f"a gradient of {name} with the norm {size}")
        return bad

    def changes(self) -> list[tuple[lg.Cell[Any], Any]]:
        """The cells to replace, and their new values."""
        params = self.optimizer.params()
        slots = list(self._slots)
        changes: list[tuple[lg.Cell[Any], Any]] = []
        for i in self.updated:
            changes.append((params[i].cell, params[i].successor(self.values["param", i])))
            arrays = {name: self.values["state", i, name] for name in slots[i].arrays}
            slots[i] = Slots(slots[i].step + 1, arrays)
        changes.append((self.optimizer.state, tuple(slots)))
        changes.append((self.optimizer.rate, self.rate))
        return changes

    def commit(self) -> None:
        """Make the candidates the parameters and state."""
        lg.replace_all(self.changes())


def leaves_of(optimizer: "Optimizer", found: Scan, loss: lg.Tensor) -> list[tuple[int, int]]:
    """Where the parameters stand in a recorded graph: pairs of a leaf's position and a number.

    Earlier versions may stand where no gradient of the loss goes: below `detach`, or in other
    results of the step.

    Raises:
        GradientError: the loss uses an outdated version of a parameter.
    """
    params = optimizer.params()
    reached = []
    outdated = []
    for position, leaf in enumerate(found.leaves):
        if leaf.op is VARIABLE:
            identity, version = leaf.params
            i = optimizer.index_of.get(cast(VarIdentity, identity))
            if i is not None:
                if version == params[i].version:
                    reached.append((position, i))
                else:
                    outdated.append((leaf, params[i]))
    if outdated:
        _check_unreached(loss, outdated)
    return reached


def _check_unreached(loss: lg.Tensor, outdated: Sequence[tuple[Any, lg.Var]]) -> None:
    order = set(reach(loss))
    for leaf, var in outdated:
        if leaf in order:
            raise lg.errors.GradientError(
                f"a loss must be built from the present parameters; {var.name} is at version "
                f"{var.version}, the loss uses version {leaf.params[1]}"
            )


def gradients_at(
    loss: lg.Tensor, found: Scan, reached: Sequence[tuple[int, int]]
) -> dict[int, lg.Tensor]:
    """The gradient of each parameter that the loss depends on, by its number.

    Raises:
        GradientError: there is none.
    """
    wanted = {found.leaves[position]: i for position, i in reached}
    total = gradients(loss, None, wanted)
    found_gradients = {i: total[leaf] for leaf, i in wanted.items() if leaf in total}
    if not found_gradients:
        message = "a loss must depend on at least one parameter of the optimizer; got none"
        raise noted(lg.errors.GradientError(message), loss.node)
    return found_gradients


def update_of_loss(optimizer: "Optimizer", loss: lg.Tensor) -> Update:
    """The update that follows from a loss."""
    found = scan([loss.node], through_remembered=True)
    reached = leaves_of(optimizer, found, loss)
    return Update(
        optimizer, found, lambda: gradients_at(loss, found, reached), reached, remember=[loss]
    )


def update_of_gradients(optimizer: "Optimizer", grads: Mapping[Any, Any]) -> Update:
    """The update that follows from given gradients, by name or as `backward` gave them."""
    given = _by_number(optimizer, grads)
    found = scan([g.node for g in given.values()], through_remembered=True)
    reached = [(-1, i) for i in given]
    return Update(optimizer, found, lambda: given, reached)


def _by_number(optimizer: "Optimizer", grads: Mapping[Any, Any]) -> dict[int, lg.Tensor]:
    params = optimizer.params()
    if isinstance(grads, lg.GradientMap):
        found = {i: grads[var] for i, var in enumerate(params) if var in grads}
    else:
        numbers = {var.name: i for i, var in enumerate(params)}
        unknown = [name for name in grads if name not in numbers]
        if unknown:
            raise KeyError(f"gradients must have the names of parameters; got {unknown}")
        found = {numbers[name]: lg.asarray(g) for name, g in grads.items()}
    for i, g in found.items():
        if (g.shape, g.dtype) != (params[i].shape, params[i].dtype):
            raise lg.errors.ShapeError(
                f"the gradient of {params[i].name} must be {params[i].spec}; got {g.node.spec}"
            )
    return found
