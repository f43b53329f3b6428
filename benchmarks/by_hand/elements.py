"""`mean((tanh(a x + b) sigmoid(c x) + exp(-x x))^2)` by hand."""

import numpy as np

from benchmarks.by_hand.model import Model
from benchmarks.workloads import Arrays
from benchmarks.workloads import Elements as Shape


class Elements(Model):
    def __init__(self, shape: Shape, weights: Arrays, batch: Arrays) -> None:
        self.weights, self.x = weights, batch["x"]
        # Each gradient lies where a factor that is no longer needed was.
        self.gradients = {name: np.empty_like(w) for name, w in weights.items()}
        self.error = np.empty_like(self.x)

    def run(self) -> float:
        a, b, c = self.weights.values()
        product, t, s = self.gradients.values()
        x, error = self.x, self.error
        np.multiply(a, x, out=t)
        t += b
        np.tanh(t, out=t)
        np.multiply(c, x, out=s)
        np.negative(s, out=s)
        np.exp(s, out=s)
        s += 1
        np.reciprocal(s, out=s)
        np.multiply(x, x, out=error)
        np.negative(error, out=error)
        np.exp(error, out=error)
        np.multiply(t, s, out=product)
        error += product
        loss = float(np.vdot(error, error)) / x.size
        error *= 2 / x.size
        # b: error s (1 - t t)
        t *= t
        np.subtract(1, t, out=t)
        t *= s
        t *= error
        # c: error t s (1 - s) x
        np.subtract(1, s, out=s)
        s *= product
        s *= error
        s *= x
        # a: that of b, times x
        np.multiply(t, x, out=product)
        return loss
