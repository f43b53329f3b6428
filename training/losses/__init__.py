"""Losses: how far predictions are from their targets."""

from training.losses.classes import binary_cross_entropy_with_logits, cross_entropy
from training.losses.distances import huber_loss, mse_loss
from training.losses.distributions import kl_divergence

__all__ = [
    "binary_cross_entropy_with_logits",
    "cross_entropy",
    "huber_loss",
    "kl_divergence",
    "mse_loss",
]
