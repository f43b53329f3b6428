"""One update of an optimizer, as a function of a recorded graph: computed at once, then kept or
dropped at once.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import lazygraph as lg
from lazygraph.extend import VARIABLE, Scan, gradients, realize_derived, scan
from training.clipping import clip_factor, clip_grad_value, combined, norm, scaled

if TYPE_CHECKING:
    from training.optimizers.base import Optimizer, Slots

Array = NDArray[Any]
Key = tuple[Any, ...]  # what a value is: ("param", 3), ("state", 3, "exp_avg"), ("norm",) ...


@dataclass(frozen=True, slots=True)
class Recipe:
    """All that the graph of an update depends on besides the recorded one: part of a plan's key.

    Attributes:
        max_norm: clip the global norm to this, or None.
        max_value: clip elements to this, or None.
        measured: compute the norms, also if nothing is clipped.
        weighted: gradients are summed with weights over a window of micro-batches.
        applied: the window ends here: divide, clip and update.
    """

    max_norm: float | None = None
    max_value: float | None = None
    measured: bool = False
    weighted: bool = False
    applied: bool = True


@dataclass(frozen=True, slots=True)
class Sums:
    """Gradients of the earlier micro-batches of a window.

    Attributes:
        weight: the sum of their weights.
        arrays: the weighted sum of gradients of each parameter that one of them reached.
    """

    weight: float = 0.0
    arrays: Mapping[int, Array] = field(default_factory=dict)


class Update:
    """Candidate parameters and state, computed in one realization.

    Args:
        optimizer: whose parameters are updated.
        found: the scan of the recorded graph.
        recorded: gives the gradient of each parameter by its number, in tensors over that graph;
            called only if no plan fits.
        reached: the numbers of the parameters that may have a gradient, and the positions of
            their leaves in the scan, or -1.
        recipe: how gradients become updates.
        sums: gradients of earlier micro-batches.
        weight: of this micro-batch; None if `weight_tensor` says it.
        weight_tensor: the weight as a tensor of the recorded graph.
        remember: recorded tensors to compute in the same realization.
        rate: the learning rate; by default the optimizer's.

    Raises:
        GradientError: no parameter has a gradient.
    """

    def __init__(
        self,
        optimizer: "Optimizer",
        found: Scan,
        recorded: Callable[[], dict[int, lg.Tensor]],
        reached: Sequence[tuple[int, int]],
        recipe: Recipe = Recipe(),
        sums: Sums = Sums(),
        weight: float | None = 1.0,
        weight_tensor: lg.Tensor | None = None,
        remember: Sequence[lg.Tensor] = (),
        rate: float | None = None,
    ) -> None:
        self.optimizer = optimizer
        self.rate = optimizer.learning_rate if rate is None else rate
        self._recipe = recipe
        self._recorded = recorded
        self._leaves = {i: found.leaves[at] for at, i in reached if at >= 0}
        self._weight_tensor = weight_tensor
        self._slots = optimizer.state.get()
        numbers = sorted({i for _, i in reached} | set(sums.arrays))
        steps = tuple(self._slots[i].step for i in numbers)
        self._distinct_steps = tuple(sorted(set(steps)))
        inputs = self._inputs(numbers, sums, weight)
        # Parameters with equal counts share one input; which do so is structure, the counts not.
        groups = tuple(self._distinct_steps.index(step) for step in steps)
        key = (
            type(optimizer),
            tuple(optimizer.hyperparameters().items()),
            tuple(reached),
            groups,
            recipe,
            tuple(inputs),
        )
        self._group = dict(zip(numbers, groups, strict=True))
        self._keys = list(inputs)
        values, note = realize_derived(
            found, self._derive, list(inputs.values()), key, remember
        )
        keys, self.updated = note  # the numbers of parameters that are measured and changed
        self.values: dict[Key, Array] = dict(zip(keys, values, strict=True))

    def _inputs(self, numbers: list[int], sums: Sums, weight: float | None) -> dict[Key, Array]:
        inputs: dict[Key, Any] = {}
        params = self.optimizer.params()
        if self._recipe.applied:
            inputs["rate",] = np.float64(self.rate)
            for group, step in enumerate(self._distinct_steps):
                inputs["step", group] = np.int64(step)
            for i in numbers:
                for name, array in self._slots[i].arrays.items():
                    inputs["state", i, name] = array
                if i not in self._leaves:
                    inputs["param", i] = params[i].cell.get()[1]
        if self._recipe.weighted:
            inputs["total",] = np.float64(sums.weight)
            if weight is not None:
                inputs["weight",] = np.float64(weight)
            for i in numbers:
                if i in sums.arrays:
                    inputs["sum", i] = sums.arrays[i]
        return inputs

    # The graph of the update. From here to `commit` nothing runs when a plan fits.

    def _derive(self, placeholders: Sequence[lg.Tensor]) -> tuple[list[lg.Tensor], Any]:
        given = dict(zip(self._keys, placeholders, strict=True))
        fresh = self._recorded()
        if not fresh and not any(key[0] == "sum" for key in given):
            raise lg.errors.GradientError(
                "a loss must depend on at least one parameter of the optimizer; got none"
            )
        targets: dict[Key, lg.Tensor] = {}
        grads = self._summed(fresh, given) if self._recipe.weighted else fresh
        if not self._recipe.applied:
            self._measure(fresh, targets)
            targets.update({("sum", i): g for i, g in grads.items()})
            return list(targets.values()), (tuple(targets), tuple(sorted(fresh)))
        total = self._measure(grads, targets)
        named = {self.optimizer.names[i]: g for i, g in sorted(grads.items())}
        if self._recipe.max_norm not in (None, math.inf) and total is not None:
            named = scaled(named, clip_factor(total, self._recipe.max_norm))
        if self._recipe.max_value is not None:
            named = clip_grad_value(named, self._recipe.max_value)
        self._move(named, given, targets)
        return list(targets.values()), (tuple(targets), tuple(sorted(grads)))

    def _summed(
        self, fresh: dict[int, lg.Tensor], given: dict[Key, lg.Tensor]
    ) -> dict[int, lg.Tensor]:
        weight = given["weight",] if ("weight",) in given else self._weight_tensor
        assert weight is not None
        weight = lg.reshape(weight, ())
        sums = {i: g * lg.astype(weight, g.dtype) for i, g in fresh.items()}
        for key, earlier in given.items():
            if key[0] == "sum":
                i = key[1]
                sums[i] = earlier + sums[i] if i in sums else earlier
        if not self._recipe.applied:
            return {i: g for i, g in sums.items() if i in fresh}
        total = given["total",] + lg.astype(weight, lg.float64)
        return {i: g / lg.astype(total, g.dtype) for i, g in sums.items()}

    def _measure(
        self, grads: dict[int, lg.Tensor], targets: dict[Key, lg.Tensor]
    ) -> lg.Tensor | None:
        if not self._recipe.measured or not grads:
            return None
        norms = [norm(g, 2.0) for _, g in sorted(grads.items())]
        targets["norms",] = lg.stack(norms)
        targets["norm",] = combined(norms, 2.0)
        return targets["norm",]

    def _move(
        self,
        grads: dict[str, lg.Tensor],
        given: dict[Key, lg.Tensor],
        targets: dict[Key, lg.Tensor],
    ) -> None:
        names = self.optimizer.names
        numbers = [i for i in self._group if names[i] in grads]
        params = {
            names[i]: lg.Tensor(self._leaves[i]) if i in self._leaves else given["param", i]
            for i in numbers
        }
        state = {
            names[i]: {
                **{name: given["state", i, name] for name in self._slots[i].arrays},
                "step": given["step", self._group[i]],
            }
            for i in numbers
        }
        new_params, new_state = self.optimizer.update(grads, state, params, given["rate",])
        for i in numbers:
            targets["param", i] = _checked(new_params[names[i]], params[names[i]], names[i])
            for name in self._slots[i].arrays:
                old = state[names[i]][name]
                targets["state", i, name] = _checked(new_state[names[i]][name], old, name)

    # Keeping it.

    def changes(self) -> list[tuple[lg.Cell[Any], Any]]:
        """The cells to replace, and their new values."""
        params = self.optimizer.params()
        slots: list[Slots] = list(self._slots)
        changes: list[tuple[lg.Cell[Any], Any]] = []
        for i in self.updated:
            changes.append((params[i].cell, params[i].successor(self.values["param", i])))
            arrays = {name: self.values["state", i, name] for name in slots[i].arrays}
            slots[i] = slots[i]._replace(step=slots[i].step + 1, arrays=arrays)
        changes.append((self.optimizer.state, tuple(slots)))
        changes.append((self.optimizer.rate, self.rate))
        return changes

    def commit(self) -> None:
        """Make the candidates the parameters and state."""
        lg.replace_all(self.changes())


def _checked(new: lg.Tensor, old: lg.Tensor, name: str) -> lg.Tensor:
    if (new.shape, new.dtype) != (old.shape, old.dtype):
        raise lg.errors.ShapeError(
            f"an update must keep the spec of {name}, {old.node.spec}; got {new.node.spec}"
        )
    return new


def leaves_of(optimizer: "Optimizer", found: Scan) -> list[tuple[int, int]]:
    """Where the parameters stand in a recorded graph: pairs of a leaf's position and a number.

    Raises:
        GradientError: the graph uses an outdated version of a parameter.
    """
    params = optimizer.params()
    reached = []
    for position, leaf in enumerate(found.leaves):
        if leaf.op is VARIABLE:
            identity: Any
            identity, version = leaf.params
            i = optimizer.index_of.get(identity)
            if i is not None:
                if version != params[i].version:
                    raise lg.errors.GradientError(
                        f"a loss must be built from the present parameters; {params[i].name} is "
                        f"at version {params[i].version}, the loss uses version {version}"
                    )
                reached.append((position, i))
    return reached


def gradients_at(
    loss: lg.Tensor, found: Scan, reached: Sequence[tuple[int, int]]
) -> dict[int, lg.Tensor]:
    """The gradient of each parameter that the loss depends on, by its number."""
    wanted = {found.leaves[position]: i for position, i in reached}
    total = gradients(loss, None, wanted)
    return {i: total[leaf] for leaf, i in wanted.items() if leaf in total}


def update_of_loss(
    optimizer: "Optimizer", loss: lg.Tensor, recipe: Recipe = Recipe()
) -> Update:
    """The update that follows from a loss."""
    found = scan([loss.node], through_remembered=True)
    reached = leaves_of(optimizer, found)
    return Update(
        optimizer,
        found,
        lambda: gradients_at(loss, found, reached),
        reached,
        recipe,
        remember=[loss],
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
