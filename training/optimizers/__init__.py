"""Optimizers, one family of algorithms a file."""

from training.optimizers.adam import Adam, AdamW
from training.optimizers.base import Optimizer
from training.optimizers.sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer"]
