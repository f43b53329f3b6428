"""Training on top of lazygraph: the loop, optimizers, schedules, layers, data, models."""

import os

from lazygraph.extend import hide_frames
from training import initial
from training.clipping import clip_grad_norm, clip_grad_value, global_norm, harvest
from training.convolution import AvgPool2d, Conv2d, Flatten, MaxPool2d
from training.data import TextBatches
from training.layers import Dropout, Embedding, LayerNorm, Linear, Sequential
from training.loop import TrainingLoop
from training.losses import (
    binary_cross_entropy_with_logits,
    cross_entropy,
    huber_loss,
    kl_divergence,
    mse_loss,
)
from training.metrics import JsonLines, Throughput
from training.models import GPT, MLP, ConvNet
from training.module import Module
from training.normalization import BatchNorm, RMSNorm
from training.optimizers import SGD, Adam, AdamW, Optimizer
from training.outcome import StepOutcome
from training.plain_loop import train
from training.plots import loss_plot
from training.schedules import (
    ConstantSchedule,
    CosineSchedule,
    ExponentialSchedule,
    LinearWarmupSchedule,
    LrSchedule,
    OneCycleSchedule,
    PolynomialSchedule,
    SequenceSchedule,
    StepSchedule,
    WarmRestartsSchedule,
    get_lr,
)
from training.text import CharacterVocabulary, TokenFile, default_text, read_text
from training.transformer import Block, CausalSelfAttention, FeedForward
from training.weights import load_weights, save_weights

# Lines inside of layers and losses are not the user's; those of the models are, since a model
# reads like a user's program.
_here = os.path.dirname(os.path.abspath(__file__))
hide_frames(_here, but=os.path.join(_here, "models"))

__all__ = [
    "Adam",
    "AdamW",
    "AvgPool2d",
    "BatchNorm",
    "Block",
    "CausalSelfAttention",
    "CharacterVocabulary",
    "ConstantSchedule",
    "Conv2d",
    "ConvNet",
    "CosineSchedule",
    "Dropout",
    "Embedding",
    "ExponentialSchedule",
    "FeedForward",
    "Flatten",
    "GPT",
    "JsonLines",
    "LayerNorm",
    "Linear",
    "LinearWarmupSchedule",
    "LrSchedule",
    "MLP",
    "MaxPool2d",
    "Module",
    "OneCycleSchedule",
    "Optimizer",
    "PolynomialSchedule",
    "RMSNorm",
    "SGD",
    "SequenceSchedule",
    "Sequential",
    "StepOutcome",
    "StepSchedule",
    "TextBatches",
    "Throughput",
    "TokenFile",
    "TrainingLoop",
    "WarmRestartsSchedule",
    "binary_cross_entropy_with_logits",
    "clip_grad_norm",
    "clip_grad_value",
    "cross_entropy",
    "default_text",
    "get_lr",
    "global_norm",
    "harvest",
    "huber_loss",
    "initial",
    "kl_divergence",
    "load_weights",
    "loss_plot",
    "mse_loss",
    "read_text",
    "save_weights",
    "train",
]
