"""Training on top of lazygraph: the loop, optimizers, schedules, layers, data, models."""

import os

from lazygraph.extend import hide_frames
from training.clipping import clip_grad_norm, clip_grad_value, global_norm, harvest
from training.loop import StepOutcome, TrainingLoop
from training.optimizers import SGD, Adam, AdamW, Optimizer
from training.schedules import (
    ConstantSchedule,
    CosineSchedule,
    LinearWarmupSchedule,
    LrSchedule,
    PolynomialSchedule,
    StepSchedule,
    get_lr,
)

__all__ = [
    "SGD",
    "Adam",
    "AdamW",
    "ConstantSchedule",
    "CosineSchedule",
    "LinearWarmupSchedule",
    "LrSchedule",
    "Optimizer",
    "PolynomialSchedule",
    "StepOutcome",
    "StepSchedule",
    "TrainingLoop",
    "clip_grad_norm",
    "clip_grad_value",
    "get_lr",
    "global_norm",
    "harvest",
]
