"""Eager optimizers and the loop that steps them, written from the formulas."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lazygraph.errors import GradientError
from tests.lazygraph.eager.tape import gradients, history
from tests.lazygraph.eager.values import RejectedError, Value, disturbed, tolerance
from tests.lazygraph.eager.variables import Var
from tests.lazygraph.exactness import Array

Slots = dict[str, Any]
Twins = dict[int, tuple[Array, Array]]  # clean and noisy, by the number of a parameter


class Optimizer:
    """Parameters, a rate, and what is remembered of each parameter."""

    def __init__(self, params: Sequence[Var], lr: float) -> None:
        self.params, self.lr = list(params), lr
        # One for the clean twin of each parameter, one for the noisy.
        self.slots: list[tuple[Slots, Slots]] = [({"t": 0}, {"t": 0}) for _ in params]

    def set_learning_rate(self, lr: float) -> None:
        self.lr = lr

    def moved(self, p: Array, g: Array, slots: Slots) -> tuple[Array, Slots]:
        raise NotImplementedError

    def candidates(self, grads: Twins, grain: str) -> dict[int, Any]:
        """New twins of each parameter, with their new slots.

        Raises:
            RejectedError: rounding decides a parameter, or a moment.
        """
        found = {}
        for i, (clean, noisy) in grads.items():
            var = self.params[i]
            p, first = self.moved(var.value.clean, clean, self.slots[i][0])
            q, second = self.moved(var.value.noisy, noisy, self.slots[i][1])
            value = Value(p, disturbed(q, var.dtype), var.dtype, grain=min(grain, var.dtype))
            tolerance(value)
            found[i] = (value, (first, second))
        return found

    def commit(self, found: dict[int, Any]) -> None:
        for i, (value, slots) in found.items():
            self.params[i].replace(value)
            self.slots[i] = slots


class SGD(Optimizer):
    def __init__(
        self,
        params: Sequence[Var],
        lr: float,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        super().__init__(params, lr)
        self.momentum, self.decay, self.nesterov = momentum, weight_decay, nesterov

    def moved(self, p: Array, g: Array, slots: Slots) -> tuple[Array, Slots]:
        g = g + self.decay * p
        b = self.momentum * slots.get("b", 0.0) + g
        direction = g + self.momentum * b if self.nesterov else b
        return p - self.lr * direction, {"t": slots["t"] + 1, "b": b}


class AdamW(Optimizer):
    def __init__(
        self,
        params: Sequence[Var],
        lr: float,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
    ) -> None:
        super().__init__(params, lr)
        self.betas, self.eps, self.decay = betas, eps, weight_decay

    def moved(self, p: Array, g: Array, slots: Slots) -> tuple[Array, Slots]:
        (b1, b2), t = self.betas, slots["t"] + 1
        m = b1 * slots.get("m", 0.0) + (1.0 - b1) * g
        v = b2 * slots.get("v", 0.0) + (1.0 - b2) * g * g
        step = (m / (1.0 - b1**t)) / (np.sqrt(v / (1.0 - b2**t)) + self.eps)
        return p - self.lr * self.decay * p - self.lr * step, {"t": t, "m": m, "v": v}


@dataclass(frozen=True)
class Outcome:
    """What a step must report."""

    loss: Value
    grad_norm: Value | None
    lr: float
    global_step: int
    applied: bool
    clipped: bool
    missing: tuple[str, ...]


class TrainingLoop:
    """Windows of micro-batches, clipping by the norm, one update."""

    def __init__(self, max_grad_norm: float | None = None, accumulate: int = 1) -> None:
        self.max_norm, self.accumulate = max_grad_norm, accumulate
        self.global_step = 0
        self._forget()

    def _forget(self) -> None:
        self.sums: dict[int, list[Any]] = {}
        self.batches, self.weight, self.losses = 0, 0.0, [0.0, 0.0]
        self.grain = "float64"

    def step(
        self, loss: Value, opt: Optimizer, weight: float = 1.0, also: Sequence[Value] = ()
    ) -> Outcome:
        fresh = self._gradients(loss, opt)
        sums = {i: list(pair) for i, pair in self.sums.items()}
        for i, pair in fresh.items():
            earlier = sums.get(i, [0.0, 0.0])
            sums[i] = [s + weight * g for s, g in zip(earlier, pair, strict=True)]
        total = self.weight + weight
        losses = [s + weight * x for s, x in zip(self.losses, _twins(loss), strict=True)]
        missing = tuple(v.name for i, v in enumerate(opt.params) if i not in sums)
        if self.batches + 1 < self.accumulate:
            self.sums, self.weight, self.losses = sums, total, losses
            self.grain = min(self.grain, loss.grain)
            self.batches += 1
            _remember([loss, *also])
            return Outcome(loss, None, opt.lr, self.global_step, False, False, missing)
        mean = {i: (a / total, b / total) for i, (a, b) in sums.items()}
        grain = min(self.grain, loss.grain, *(var.value.grain for var in opt.params))
        reported = loss if self.accumulate == 1 else _measured(losses, total, grain)
        norm, factors = self._clipping(mean, grain)
        clipped = {i: (a * factors[0], b * factors[1]) for i, (a, b) in mean.items()}
        opt.commit(opt.candidates(clipped, grain))
        self.global_step += 1
        _remember([loss, *also])
        self._forget()
        limit = self.max_norm
        over = norm is not None and limit is not None and bool(norm.clean > limit)
        return Outcome(reported, norm, opt.lr, self.global_step, True, over, missing)

    def _gradients(self, loss: Value, opt: Optimizer) -> Twins:
        for x in history([loss], stopping=True):
            if x.owner in opt.params and x is not x.owner.value:
                raise GradientError("an outdated version")
        found = gradients(loss, None)
        fresh = {
            i: (found[var.value].clean, found[var.value].noisy)
            for i, var in enumerate(opt.params)
            if var.value in found
        }
        if not fresh:
            raise GradientError("no parameter is reached")
        return fresh

    def _clipping(self, grads: Twins, grain: str) -> tuple[Value | None, list[float]]:
        if self.max_norm is None:
            return None, [1.0, 1.0]
        norms = [
            np.sqrt(sum(np.sum(pair[side] ** 2) for pair in grads.values())) for side in (0, 1)
        ]
        if abs(norms[0] - self.max_norm) < 1e-3:
            raise RejectedError("on the verge of clipping")
        factors = [min(1.0, self.max_norm / float(n + 1e-6)) for n in norms]
        return _measured(norms, 1.0, grain), factors


def _measured(twins: Sequence[Any], divisor: float, grain: str) -> Value:
    """A number that a step reports."""
    clean, noisy = (np.asarray(x / divisor) for x in twins)
    found = Value(clean, noisy, "float64", grain=grain)
    tolerance(found)
    return found


def _remember(values: Sequence[Value]) -> None:
    for value in values:
        value.realize()


def _twins(x: Value) -> list[Any]:
    return [x.clean.reshape(()), x.noisy.reshape(())]
