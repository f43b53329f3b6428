"""Learning rates that are multiplied by a factor: at milestones, or at every step."""

import bisect
from collections.abc import Sequence
from dataclasses import dataclass

from training.schedules.rates import climb, require_count, require_descent, require_rate


@dataclass(frozen=True)
class StepSchedule:
    """Climb to the rate, then multiply it by `gamma` at each milestone.

        lr(n) = base_lr (n + 1) / warmup_steps          for n < warmup_steps
        lr(n) = base_lr gamma^(milestones at most n)    from there on

    Args:
        base_lr: the rate before the first milestone.
        milestones: the steps that first use the next rate, each later than the one before.
        gamma: the factor, finite and at least 0.
        warmup_steps: length of the climb in steps; 0 means none.

    Raises:
        ValueError: if an argument is negative or not finite, or milestones do not increase.

    Example:
        >>> [StepSchedule(1.0, [2, 3], gamma=0.5).lr_at(n) for n in range(5)]
        [1.0, 1.0, 0.5, 0.25, 0.25]
    """

    base_lr: float
    milestones: Sequence[int]
    gamma: float = 0.1
    warmup_steps: int = 0

    def __post_init__(self) -> None:
        require_rate("base_lr", self.base_lr)
        require_rate("gamma", self.gamma)
        require_count("warmup_steps", self.warmup_steps)
        # A tuple of its own: the schedule stays frozen when the caller's list changes.
        object.__setattr__(self, "milestones", tuple(self.milestones))
        for milestone in self.milestones:
            require_count("milestones", milestone)
        if any(b <= a for a, b in zip(self.milestones, self.milestones[1:], strict=False)):
            raise ValueError(f"milestones must increase, got {list(self.milestones)}")

    def lr_at(self, step: int) -> float:
        """The rate of update number `step`, counted from 0."""
        require_count("step", step)
        if step < self.warmup_steps:
            return climb(self.base_lr, step, self.warmup_steps)
        return float(self.base_lr * self.gamma ** bisect.bisect_right(self.milestones, step))


@dataclass(frozen=True)
class ExponentialSchedule:
    """Climb to the rate, then multiply it by `gamma` at every step, down to the floor.

        lr(n) = base_lr (n + 1) / warmup_steps                      for n < warmup_steps
        lr(n) = max(min_lr, base_lr gamma^(n - warmup_steps))       from there on

    Args:
        base_lr: the highest rate, reached at step `warmup_steps`.
        gamma: the factor, in [0, 1].
        warmup_steps: length of the climb in steps; 0 means none.
        min_lr: the floor, at most `base_lr`.

    Raises:
        ValueError: if an argument is negative or not finite, `gamma` above 1, or the floor
            above the rate.

    Example:
        >>> [ExponentialSchedule(1.0, 0.5, min_lr=0.2).lr_at(n) for n in range(4)]
        [1.0, 0.5, 0.25, 0.2]
    """

    base_lr: float
    gamma: float
    warmup_steps: int = 0
    min_lr: float = 0.0

    def __post_init__(self) -> None:
        require_descent(self.base_lr, self.min_lr, self.warmup_steps, self.warmup_steps)
        require_rate("gamma", self.gamma)
        if self.gamma > 1.0:
            raise ValueError(f"gamma must be at most 1, got {self.gamma}")

    def lr_at(self, step: int) -> float:
        """The rate of update number `step`, counted from 0."""
        require_count("step", step)
        if step < self.warmup_steps:
            return climb(self.base_lr, step, self.warmup_steps)
        return max(self.min_lr, self.base_lr * self.gamma ** (step - self.warmup_steps))
