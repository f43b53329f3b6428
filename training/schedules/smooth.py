"""Learning rates that climb and fall once: constant, warm-up, cosine, polynomial, nanoGPT's."""

import math
from dataclasses import dataclass

from training.schedules.rates import (
    between,
    climb,
    falling,
    require_count,
    require_descent,
    require_rate,
)


@dataclass(frozen=True)
class ConstantSchedule:
    """The same rate for ever.

        lr(n) = base_lr

    Args:
        base_lr: the rate, finite and at least 0.

    Raises:
        ValueError: if the rate is negative or not finite.

    Example:
        >>> ConstantSchedule(0.1).lr_at(1_000_000)
        0.1
    """

    base_lr: float

    def __post_init__(self) -> None:
        require_rate("base_lr", self.base_lr)

    def lr_at(self, step: int) -> float:
        """The rate of update number `step`, counted from 0."""
        require_count("step", step)
        return self.base_lr


@dataclass(frozen=True)
class LinearWarmupSchedule:
    """Climb in a straight line to the rate, then keep it.

        lr(n) = base_lr (n + 1) / warmup_steps    for n < warmup_steps
        lr(n) = base_lr                           from there on

    The first update already moves: a climb from n / warmup_steps would waste it at rate 0.

    Args:
        base_lr: the rate after the climb, finite and at least 0.
        warmup_steps: length of the climb in steps; 0 means none.

    Raises:
        ValueError: if an argument is negative or not finite.

    Example:
        >>> [LinearWarmupSchedule(1.0, 4).lr_at(n) for n in range(5)]
        [0.25, 0.5, 0.75, 1.0, 1.0]
    """

    base_lr: float
    warmup_steps: int

    def __post_init__(self) -> None:
        require_rate("base_lr", self.base_lr)
        require_count("warmup_steps", self.warmup_steps)

    def lr_at(self, step: int) -> float:
        """The rate of update number `step`, counted from 0."""
        require_count("step", step)
        if step < self.warmup_steps:
            return climb(self.base_lr, step, self.warmup_steps)
        return self.base_lr


@dataclass(frozen=True)
class CosineSchedule:
    """Climb to the rate, then follow half a cosine down to the floor, and stay there.

        lr(n) = base_lr (n + 1) / warmup_steps                        for n < warmup_steps
        lr(n) = min_lr + (base_lr - min_lr) (1 + cos(pi t)) / 2,
                t = (n - warmup_steps) / (total_steps - warmup_steps) until total_steps
        lr(n) = min_lr                                                from total_steps on

    Args:
        base_lr: the highest rate, reached at step `warmup_steps`.
        warmup_steps: length of the climb in steps; 0 means none.
        total_steps: the step at which the floor is reached.
        min_lr: the floor, at most `base_lr`.

    Raises:
        ValueError: if an argument is negative or not finite, or the two are out of order.

    Source: Loshchilov & Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts",
    ICLR 2017, equation 5, with a climb before it and no restart.

    Example:
        >>> [CosineSchedule(1.0, 0, 2).lr_at(n) for n in (0, 1, 2, 3)]
        [1.0, 0.5, 0.0, 0.0]
    """

    base_lr: float
    warmup_steps: int
    total_steps: int
    min_lr: float = 0.0

    def __post_init__(self) -> None:
        require_descent(self.base_lr, self.min_lr, self.warmup_steps, self.total_steps)

    def lr_at(self, step: int) -> float:
        """The rate of update number `step`, counted from 0."""
        require_count("step", step)
        if step < self.warmup_steps:
            return climb(self.base_lr, step, self.warmup_steps)
        if step >= self.total_steps:
            return self.min_lr
        passed = (step - self.warmup_steps) / (self.total_steps - self.warmup_steps)
        return falling(self.min_lr, self.base_lr, passed)


@dataclass(frozen=True)
class PolynomialSchedule:
    """Climb to the rate, then fall to the floor as a power of the steps that are left.

        lr(n) = base_lr (n + 1) / warmup_steps                        for n < warmup_steps
        lr(n) = min_lr + (base_lr - min_lr) t^power,
                t = (total_steps - n) / (total_steps - warmup_steps)  until total_steps
        lr(n) = min_lr                                                from total_steps on

    Args:
        base_lr: the highest rate, reached at step `warmup_steps`.
        total_steps: the step at which the floor is reached.
        power: 1 is a straight line, 2 a parabola; 0 keeps the rate until the end.
        warmup_steps: length of the climb in steps; 0 means none.
        min_lr: the floor, at most `base_lr`.

    Raises:
        ValueError: if an argument is negative or not finite, or the two are out of order.

    Example:
        >>> [PolynomialSchedule(1.0, 4, power=2.0).lr_at(n) for n in range(5)]
        [1.0, 0.5625, 0.25, 0.0625, 0.0]
    """

    base_lr: float
    total_steps: int
    power: float = 1.0
    warmup_steps: int = 0
    min_lr: float = 0.0

    def __post_init__(self) -> None:
        require_descent(self.base_lr, self.min_lr, self.warmup_steps, self.total_steps)
        require_rate("power", self.power)

    def lr_at(self, step: int) -> float:
        """The rate of update number `step`, counted from 0."""
        require_count("step", step)
        if step < self.warmup_steps:
            return climb(self.base_lr, step, self.warmup_steps)
        if step >= self.total_steps:
            return self.min_lr
        left = (self.total_steps - step) / (self.total_steps - self.warmup_steps)
        return between(self.min_lr, self.base_lr, left**self.power)


def get_lr(
    it: int, learning_rate: float, min_lr: float, warmup_iters: int, lr_decay_iters: int
) -> float:
    """The learning rate that nanoGPT's trainer uses at iteration `it`.

        lr(n) = learning_rate (n + 1) / (warmup_iters + 1)             for n < warmup_iters
        lr(n) = min_lr                                                 for n > lr_decay_iters
        lr(n) = min_lr + (learning_rate - min_lr) (1 + cos(pi t)) / 2  between,
                t = (n - warmup_iters) / (lr_decay_iters - warmup_iters)

    Args:
        it: the iteration, counted from 0.
        learning_rate: the highest rate.
        min_lr: the floor.
        warmup_iters: length of the climb, whose last step stays one short of the top.
        lr_decay_iters: the iteration that first meets the floor.

    Returns:
        The rate; `learning_rate` at the one step between when the two lengths are equal
        (there the original divides by zero).

    Source: nanoGPT, `train.py`, `get_lr`.

    Example:
        >>> [get_lr(n, 1.0, 0.0, 1, 3) for n in range(5)]
        [0.5, 1.0, 0.5, 0.0, 0.0]
    """
    if it < warmup_iters:
        return learning_rate * (it + 1) / (warmup_iters + 1)
    if it > lr_decay_iters:
        return min_lr
    passed = (it - warmup_iters) / max(lr_decay_iters - warmup_iters, 1)
    return min_lr + 0.5 * (1.0 + math.cos(math.pi * passed)) * (learning_rate - min_lr)
