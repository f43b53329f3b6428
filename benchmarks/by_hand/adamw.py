"""Clip by the global norm, then AdamW, in place."""

import math

import numpy as np

from benchmarks import workloads
from benchmarks.workloads import Arrays


class AdamW:
    """Updates weights by their gradients, whose memory it uses up.

    g <- g min(1, clip / |g|),  m <- b1 m + (1 - b1) g,  v <- b2 v + (1 - b2) g g
    w <- w (1 - lr decay) - lr (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)
    """

    def __init__(self, weights: Arrays, gradients: Arrays) -> None:
        self.weights, self.gradients = weights, gradients
        self.means = {name: np.zeros_like(w) for name, w in weights.items()}
        self.squares = {name: np.zeros_like(w) for name, w in weights.items()}
        first = next(iter(weights.values()))
        self.scratch = np.empty(max(w.size for w in weights.values()), first.dtype)
        self.steps = 0

    def step(self) -> None:
        self.steps += 1
        b1, b2 = workloads.BETAS
        norm = math.sqrt(sum(float(np.vdot(g, g)) for g in self.gradients.values()))
        clip = min(1.0, workloads.CLIP / (norm + 1e-6))
        # sqrt(v / c) + eps = (sqrt(v) + eps sqrt(c)) / sqrt(c): one pass less.
        root = math.sqrt(1.0 - b2**self.steps)
        rate = workloads.RATE / (1.0 - b1**self.steps) * root
        kept = 1.0 - workloads.RATE * workloads.DECAY
        for name, w in self.weights.items():
            g, m, v = self.gradients[name], self.means[name], self.squares[name]
            part = self.scratch[: w.size].reshape(w.shape)
            np.multiply(g, clip * (1.0 - b1), out=part)
            m *= b1
            m += part
            g *= g
            g *= clip * clip * (1.0 - b2)
            v *= b2
            v += g
            np.sqrt(v, out=g)
            g += workloads.EPSILON * root
            np.divide(m, g, out=g)
            g *= rate
            w *= kept
            w -= g
