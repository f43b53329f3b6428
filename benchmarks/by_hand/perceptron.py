"""Dense layers by hand."""

import numpy as np

from benchmarks.by_hand.model import Model, cross_entropy
from benchmarks.workloads import Array, Arrays
from benchmarks.workloads import Perceptron as Shape


class Perceptron(Model):
    def __init__(self, shape: Shape, weights: Arrays, batch: Arrays) -> None:
        self.weights = weights
        self.gradients = {name: np.empty_like(w) for name, w in weights.items()}
        self.x, self.y = batch["x"], batch["y"]
        self.regression = shape.regression
        # What a layer gives, and the gradient of it; that of the scores takes their place.
        outputs = [(shape.rows, n) for n in shape.widths[1:]]
        self.hidden = [np.empty(size, self.x.dtype) for size in outputs]
        self.slopes = [np.empty(size, self.x.dtype) for size in outputs[:-1]]

    def run(self) -> float:
        w, g, hidden = self.weights, self.gradients, self.hidden
        last = len(hidden) - 1
        x = self.x
        for i, h in enumerate(hidden):
            np.matmul(x, w[f"weight{i}"], out=h)
            h += w[f"bias{i}"]
            if i < last:
                self._activate(h)
            x = h
        loss = self._loss(x)
        slope = x
        for i in reversed(range(last + 1)):
            inputs = hidden[i - 1] if i else self.x
            np.matmul(inputs.T, slope, out=g[f"weight{i}"])
            np.sum(slope, axis=0, out=g[f"bias{i}"])
            if i:
                slope = np.matmul(slope, w[f"weight{i}"].T, out=self.slopes[i - 1])
                self._scale_by_derivative(slope, inputs)
        return loss

    def _activate(self, h: Array) -> None:
        if self.regression:
            np.tanh(h, out=h)
        else:
            np.maximum(h, 0, out=h)

    def _scale_by_derivative(self, slope: Array, h: Array) -> None:
        if self.regression:
            h *= h
            np.subtract(1, h, out=h)
            slope *= h
        else:
            slope *= h > 0

    def _loss(self, z: Array) -> float:
        if not self.regression:
            return cross_entropy(z, self.y)
        z -= self.y
        loss = float(np.vdot(z, z)) / z.size
        z *= 2 / z.size
        return loss
