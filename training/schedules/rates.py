"""What schedules are, and what they have in common: shapes of a climb or fall, and checks."""

import math
from typing import Protocol


class LrSchedule(Protocol):
    """Anything that knows the learning rate of each step."""

    def lr_at(self, step: int) -> float:
        """The rate of update number `step`, counted from 0."""
        ...


def climb(base_lr: float, step: int, warmup_steps: int) -> float:
    """The rate of a step in a straight climb, whose last step has the whole rate."""
    return base_lr * ((step + 1) / warmup_steps)


def between(low: float, high: float, share: float) -> float:
    """The rate at a share of the way from low to high, exact at both ends."""
    # Not low + (high - low) * share, which misses `high` by a rounding at share 1.
    return low * (1.0 - share) + high * share


def falling(low: float, high: float, passed: float) -> float:
    """The rate after a share of half a cosine from high down to low."""
    return between(low, high, (1.0 + math.cos(math.pi * passed)) / 2.0)


def require_rate(name: str, value: float) -> None:
    """Refuse what cannot be a rate or a factor of one."""
    if not (math.isfinite(value) and value >= 0.0):
        raise ValueError(f"{name} must be finite and at least 0, got {value}")


def require_count(name: str, value: float, least: int = 0) -> None:
    """Refuse what is not a whole number, or one below `least`."""
    if not (value >= least and float(value).is_integer()):
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value}")


def require_descent(base_lr: float, min_lr: float, warmup_steps: int, total_steps: int) -> None:
    """Refuse a climb and descent whose numbers are out of range or out of order."""
    require_rate("base_lr", base_lr)
    require_rate("min_lr", min_lr)
    require_count("warmup_steps", warmup_steps)
    require_count("total_steps", total_steps)
    if min_lr > base_lr:
        raise ValueError(f"min_lr must be at most base_lr, got {min_lr} and {base_lr}")
    if warmup_steps > total_steps:
        raise ValueError(
            f"warmup_steps must be at most total_steps, got {warmup_steps} and {total_steps}"
        )
