"""Models that are ready to train."""

from training.models.convnet import ConvNet
from training.models.gpt import GPT
from training.models.mlp import MLP

__all__ = ["GPT", "MLP", "ConvNet"]
