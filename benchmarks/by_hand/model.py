"""What the hand-written models have in common: weights, their gradients, the cross-entropy."""

from abc import ABC, abstractmethod

import numpy as np

from benchmarks.workloads import Array, Arrays


class Model(ABC):
    """Forward and backward over one batch.

    Attributes:
        weights: the weights, which an optimizer writes to.
        gradients: their gradients after a run; an optimizer may write to them.
    """

    weights: Arrays
    gradients: Arrays

    @abstractmethod
    def run(self) -> float:
        """Fill the gradients and return the loss."""

    def as_drawn(self, arrays: Arrays) -> Arrays:
        """Weights or gradients in the layout in which the workload drew the weights."""
        return arrays


def cross_entropy(z: Array, targets: Array) -> float:
    """The mean cross-entropy of scores `(rows, classes)`, which become its gradient."""
    rows = np.arange(len(z))
    z -= z.max(axis=1, keepdims=True)
    right = z[rows, targets]
    np.exp(z, out=z)
    total = z.sum(axis=1, keepdims=True)
    loss = float(np.mean(np.log(total[:, 0]) - right))
    total *= len(z)
    z /= total
    z[rows, targets] -= 1.0 / len(z)
    return loss
