"""Learning rates in phases: one cycle, warm restarts, one schedule after the other."""

import bisect
from collections.abc import Sequence
from dataclasses import dataclass

from training.schedules.rates import (
    LrSchedule,
    climb,
    falling,
    require_count,
    require_descent,
    require_rate,
)


@dataclass(frozen=True)
class OneCycleSchedule:
    """Rise from a low rate to the top by half a cosine, then fall by another far below it.

        lr(n) = low + (base_lr - low) (1 - cos(pi n / top)) / 2              for n < top
        lr(n) = end + (base_lr - end) (1 + cos(pi (n - top) / (last - top))) / 2    until last
        lr(n) = end                                                          from last on
        low = base_lr / start_factor,  end = low / end_factor,
        top = rise total_steps - 1,  last = total_steps - 1

    Args:
        base_lr: the highest rate.
        total_steps: how many steps there are; the last one has the lowest rate.
        rise: the share of the steps in which the rate rises, in [0, 1). Where that makes less
            than a step, the first one has the highest rate.
        start_factor: how many times lower the first rate is, at least 1.
        end_factor: how many times lower than the first rate the last one is, at least 1.

    Raises:
        ValueError: if an argument is out of its range.

    Source: Smith & Topin, "Super-Convergence: Very Fast Training of Neural Networks Using Large
    Learning Rates", 2018; the shape and the defaults are those of PyTorch's `OneCycleLR`.

    Example:
        >>> schedule = OneCycleSchedule(1.0, 10, rise=0.5, start_factor=4.0, end_factor=10.0)
        >>> [round(schedule.lr_at(n), 3) for n in (0, 2, 4, 9, 10)]
        [0.25, 0.625, 1.0, 0.025, 0.025]
    """

    base_lr: float
    total_steps: int
    rise: float = 0.3
    start_factor: float = 25.0
    end_factor: float = 1e4

    def __post_init__(self) -> None:
        require_rate("base_lr", self.base_lr)
        require_count("total_steps", self.total_steps)
        if not 0.0 <= self.rise < 1.0:
            raise ValueError(f"rise must be in [0, 1), got {self.rise}")
        for name in ("start_factor", "end_factor"):
            require_rate(name, getattr(self, name))
            if getattr(self, name) < 1.0:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")

    def lr_at(self, step: int) -> float:
        """The rate of update number `step`, counted from 0."""
        require_count("step", step)
        top = max(0.0, self.rise * self.total_steps - 1.0)
        last = self.total_steps - 1
        low = self.base_lr / self.start_factor
        if step < top:
            return falling(self.base_lr, low, step / top)
        if step >= last:
            return low / self.end_factor
        return falling(low / self.end_factor, self.base_lr, (step - top) / (last - top))


@dataclass(frozen=True)
class WarmRestartsSchedule:
    """Fall by half a cosine, jump back to the rate, fall again, each time over a longer period.

        lr(n) = base_lr (n + 1) / warmup_steps                       for n < warmup_steps
        lr(n) = min_lr + (base_lr - min_lr) (1 + cos(pi t / T)) / 2,
                t the steps since the last restart, T = period factor^(restarts)

    Args:
        base_lr: the rate at the start of each period.
        period: length of the first period in steps, at least 1.
        factor: how many times longer each period is than the one before, a whole number.
        warmup_steps: length of a climb before the first period; 0 means none.
        min_lr: what each period falls towards, at most `base_lr`. The last step of a period is
            one short of it, since the next one restarts.

    Raises:
        ValueError: if an argument is out of its range.

    Source: Loshchilov & Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts", ICLR
    2017, equation 5, with a climb before it.

    Example:
        >>> [WarmRestartsSchedule(1.0, 2, factor=2).lr_at(n) for n in (0, 1, 2, 4, 6)]
        [1.0, 0.5, 1.0, 0.5, 1.0]
    """

    base_lr: float
    period: int
    factor: int = 1
    warmup_steps: int = 0
    min_lr: float = 0.0

    def __post_init__(self) -> None:
        require_descent(self.base_lr, self.min_lr, self.warmup_steps, self.warmup_steps)
        require_count("period", self.period, least=1)
        require_count("factor", self.factor, least=1)

    def lr_at(self, step: int) -> float:
        """The rate of update number `step`, counted from 0."""
        require_count("step", step)
        if step < self.warmup_steps:
            return climb(self.base_lr, step, self.warmup_steps)
        passed, length = step - self.warmup_steps, self.period
        if self.factor == 1:
            passed %= length
        while passed >= length:
            passed -= length
            length *= self.factor
        return falling(self.min_lr, self.base_lr, passed / length)


@dataclass(frozen=True)
class SequenceSchedule:
    """One schedule after the other, each counting from its own start.

        lr(n) = schedules[i].lr_at(n - start[i]),  start = 0, milestones,  start[i] <= n latest

    Args:
        schedules: at least one.
        milestones: the step that first asks each schedule after the first, in order. Where two
            are equal, the schedule between them has no steps.

    Raises:
        ValueError: if there is not one milestone between each two schedules, or they decrease.

    Example:
        >>> from training import ConstantSchedule
        >>> warm, cool = ConstantSchedule(0.1), ConstantSchedule(0.01)
        >>> [SequenceSchedule([warm, cool], [2]).lr_at(n) for n in range(4)]
        [0.1, 0.1, 0.01, 0.01]
    """

    schedules: Sequence[LrSchedule]
    milestones: Sequence[int]

    def __post_init__(self) -> None:
        # Tuples of its own: the schedule stays frozen when the caller's lists change.
        object.__setattr__(self, "schedules", tuple(self.schedules))
        object.__setattr__(self, "milestones", tuple(self.milestones))
        for milestone in self.milestones:
            require_count("milestones", milestone)
        if len(self.milestones) != len(self.schedules) - 1:
            raise ValueError(
                f"there must be one milestone between each two schedules, got "
                f"{len(self.schedules)} schedules and {len(self.milestones)} milestones"
            )
        if list(self.milestones) != sorted(self.milestones):
            raise ValueError(f"milestones must not decrease, got {list(self.milestones)}")

    def lr_at(self, step: int) -> float:
        """The rate of update number `step`, counted from 0."""
        require_count("step", step)
        i = bisect.bisect_right(self.milestones, step)
        return self.schedules[i].lr_at(step - (self.milestones[i - 1] if i else 0))
