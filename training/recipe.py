"""The graph of one update: from gradients to the parameters and the state that follow."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import lazygraph as lg
from training.clipping import clip_factor, clip_grad_value, combined, norm, scaled

if TYPE_CHECKING:
    from training.optimizers.base import Optimizer

Key = tuple[Any, ...]  # what a value is: ("param", 3), ("state", 3, "exp_sum"), ("norm",) ...
Tensors = dict[Key, lg.Tensor]


@dataclass(frozen=True, slots=True)
class Recipe:
    """All choices that the graph of an update depends on: part of a plan's key.

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


WHOLE = Recipe()  # of a single step that only updates


@dataclass(frozen=True, slots=True)
class UpdateGraph:
    """What a recipe makes of gradients, recorded lazily. Parameters go by their numbers.

    Attributes:
        recipe: what to make.
        optimizer: its formula, and the names of parameters.
        fresh: the gradients of the recorded loss.
        params: the parameters that may have a gradient.
        groups: which of the step counts in `given` is the one of each of them.
        given: what comes with the run: rate, step counts, state, weights and earlier sums.
        weight: of this micro-batch.
    """

    recipe: Recipe
    optimizer: "Optimizer"
    fresh: Mapping[int, lg.Tensor]
    params: Mapping[int, lg.Tensor]
    groups: Mapping[int, int]
    given: Tensors
    weight: lg.Tensor | None

    def targets(self) -> tuple[Tensors, tuple[int, ...]]:
        """What to compute, and the numbers of the parameters that are measured and changed."""
        if not self.recipe.applied:
            sums = {("sum", i): g for i, g in self._sums().items() if i in self.fresh}
            return {**self._norms(self.fresh), **sums}, tuple(sorted(self.fresh))
        grads = self._means() if self.recipe.weighted else self.fresh
        norms = self._norms(grads)
        return {**norms, **self._moved(self._clipped(grads, norms))}, tuple(sorted(grads))

    def _sums(self) -> dict[int, lg.Tensor]:
        """The weighted sums of gradients, this micro-batch included."""
        assert self.weight is not None
        sums = {i: g * lg.astype(self.weight, g.dtype) for i, g in self.fresh.items()}
        for key, earlier in self.given.items():
            if key[0] == "sum":
                i = key[1]
                sums[i] = earlier + sums[i] if i in sums else earlier
        return sums

    def _means(self) -> dict[int, lg.Tensor]:
        assert self.weight is not None
        total = self.given["total",] + lg.astype(self.weight, lg.float64)
        return {i: g / lg.astype(total, g.dtype) for i, g in self._sums().items()}

    def _norms(self, grads: Mapping[int, lg.Tensor]) -> Tensors:
        if not self.recipe.measured or not grads:
            return {}
        norms = [norm(g, 2.0) for _, g in sorted(grads.items())]
        return {("norms",): lg.stack(norms), ("norm",): combined(norms, 2.0)}

    def _clipped(self, grads: Mapping[int, lg.Tensor], norms: Tensors) -> dict[str, lg.Tensor]:
        named = {self.optimizer.names[i]: g for i, g in sorted(grads.items())}
        bound, limit = self.recipe.max_norm, self.recipe.max_value
        if bound is not None and bound != math.inf and norms:
            named = scaled(named, clip_factor(norms["norm",], bound))
        return named if limit is None else clip_grad_value(named, limit)

    def _moved(self, grads: dict[str, lg.Tensor]) -> Tensors:
        """New parameters and state, each of the spec of the old one."""
        moved = {i: name for i, name in enumerate(self.optimizer.names) if name in grads}
        params = {name: self.params[i] for i, name in moved.items()}
        state = {
            name: {"step": self.given["step", self.groups[i]]} for i, name in moved.items()
        }
        for key, old in self.given.items():
            if key[0] == "state" and key[1] in moved:
                state[moved[key[1]]][key[2]] = old
        new_params, new_state = self.optimizer.update(grads, state, params, self.given["rate",])
        targets: Tensors = {}
        for i, name in moved.items():
            targets["param", i] = _fitting(new_params[name], params[name], name)
            for part, old in state[name].items():
                if part != "step":
                    new = new_state[name][part]
                    targets["state", i, part] = _fitting(new, old, f"{part} of {name}")
        return targets


def _fitting(new: lg.Tensor, old: lg.Tensor, what: str) -> lg.Tensor:
    if new.node.spec != old.node.spec:
        raise lg.errors.ShapeError(
            f"an update must keep the spec of {what}, {old.node.spec}; got {new.node.spec}"
        )
    return new
