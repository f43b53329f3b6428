"""Learning rates as pure functions of the step."""

from training.schedules.cycles import (
    OneCycleSchedule,
    SequenceSchedule,
    WarmRestartsSchedule,
)
from training.schedules.factors import ExponentialSchedule, StepSchedule
from training.schedules.rates import LrSchedule
from training.schedules.smooth import (
    ConstantSchedule,
    CosineSchedule,
    LinearWarmupSchedule,
    PolynomialSchedule,
    get_lr,
)

__all__ = [
    "ConstantSchedule",
    "CosineSchedule",
    "ExponentialSchedule",
    "LinearWarmupSchedule",
    "LrSchedule",
    "OneCycleSchedule",
    "PolynomialSchedule",
    "SequenceSchedule",
    "StepSchedule",
    "WarmRestartsSchedule",
    "get_lr",
]
