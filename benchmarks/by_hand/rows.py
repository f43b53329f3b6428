"""The sum of squares of a softmax of a layer norm, by hand."""

import numpy as np

from benchmarks.by_hand.model import Model
from benchmarks.by_hand.norm import Norm
from benchmarks.workloads import Arrays
from benchmarks.workloads import Rows as Shape


class Rows(Model):
    def __init__(self, shape: Shape, weights: Arrays, batch: Arrays) -> None:
        self.weights = weights
        self.gradients = {name: np.empty_like(w) for name, w in weights.items()}
        self.norm = Norm(shape.rows, shape.columns, weights["x"].dtype)
        self.y = np.empty_like(weights["x"])

    def run(self) -> float:
        w, g, y = self.weights, self.gradients, self.y
        slope = g["x"]
        self.norm.forward(w["x"], w["scale"], out=y)
        y += w["shift"]
        y -= y.max(axis=1, keepdims=True)
        np.exp(y, out=y)
        y /= y.sum(axis=1, keepdims=True)
        squares = np.einsum("ij,ij->i", y, y)
        loss = float(squares.sum(dtype=np.float64))
        np.subtract(y, squares[:, None], out=slope)
        slope *= y
        slope *= 2
        np.sum(slope, axis=0, out=g["shift"])
        self.norm.backward(slope, w["scale"], g["scale"], scratch=y)
        return loss
