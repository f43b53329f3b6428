"""A GPT by hand."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.by_hand.model import Model, cross_entropy
from benchmarks.by_hand.norm import Norm
from benchmarks.workloads import Array, Arrays
from benchmarks.workloads import Transformer as Shape

_ROOT_HALF = 0.5**0.5
_DENSITY_AT_ZERO = (2 * np.pi) ** -0.5

Erf = Callable[..., object]  # erf(x, out=...)


class _Scratch:
    """Memory that every block writes to."""

    def __init__(self, shape: Shape, dtype: Any) -> None:
        n, time = shape.rows * shape.time, shape.time
        self.narrow = np.empty((n, shape.width), dtype)
        self.other_narrow = np.empty((n, shape.width), dtype)
        self.qkv = np.empty((n, 3 * shape.width), dtype)
        self.wide = np.empty((n, 4 * shape.width), dtype)
        self.other_wide = np.empty((n, 4 * shape.width), dtype)
        self.scores = np.empty((shape.rows, shape.heads, time, time), dtype)
        self.hidden = np.triu(np.full((time, time), -np.inf, dtype), 1)


class _Block:
    """Attention and a dense layer, each added to the residual stream."""

    def __init__(
        self, shape: Shape, w: Arrays, g: Arrays, number: int, scratch: _Scratch, erf: Erf
    ) -> None:
        self.shape, self.scratch, self.erf = shape, scratch, erf
        names = ("norm1", "qkv", "mix", "norm2", "expand", "contract")
        self.w = {name: w[f"{number}.{name}"] for name in names}
        self.g = {name: g[f"{number}.{name}"] for name in names}
        n, width, dtype = shape.rows * shape.time, shape.width, scratch.narrow.dtype
        self.norm1, self.norm2 = Norm(n, width, dtype), Norm(n, width, dtype)
        self.y1, self.y2, self.mixed = (np.empty((n, width), dtype) for _ in range(3))
        self.qkv = np.empty((n, 3 * width), dtype)
        self.weights = np.empty_like(scratch.scores)
        self.h, self.cdf, self.active = (np.empty((n, 4 * width), dtype) for _ in range(3))

    def _heads(self, x: Array) -> Array:
        """Columns of a `(rows time, width)` array, seen as `(rows, heads, time, each)`."""
        s = self.shape
        return x.reshape(s.rows, s.time, s.heads, -1).transpose(0, 2, 1, 3)

    def _three(self, qkv: Array) -> tuple[Array, Array, Array]:
        s = self.shape
        parts = qkv.reshape(s.rows, s.time, 3, s.heads, -1).transpose(2, 0, 3, 1, 4)
        return parts[0], parts[1], parts[2]

    def forward(self, x: Array) -> None:
        """Add to the residual stream."""
        w, narrow = self.w, self.scratch.narrow
        self.norm1.forward(x, w["norm1"], out=self.y1)
        np.matmul(self.y1, w["qkv"], out=self.qkv)
        q, k, v = self._three(self.qkv)
        a = self.weights
        q *= q.shape[-1] ** -0.5
        np.matmul(q, k.mT, out=a)
        a += self.scratch.hidden
        a -= a.max(axis=-1, keepdims=True)
        np.exp(a, out=a)
        a /= a.sum(axis=-1, keepdims=True)
        np.matmul(a, v, out=self._heads(self.mixed))
        x += np.matmul(self.mixed, w["mix"], out=narrow)
        self.norm2.forward(x, w["norm2"], out=self.y2)
        h, cdf = np.matmul(self.y2, w["expand"], out=self.h), self.cdf
        np.multiply(h, _ROOT_HALF, out=cdf)
        self.erf(cdf, out=cdf)
        cdf += 1
        cdf *= 0.5
        np.multiply(h, cdf, out=self.active)
        x += np.matmul(self.active, w["contract"], out=narrow)

    def backward(self, slope: Array) -> None:
        """Turn the gradient of what `forward` left into that of what it found."""
        self._backward_dense(slope)
        self._backward_attention(slope)

    def _backward_dense(self, slope: Array) -> None:
        w, g, s = self.w, self.g, self.scratch
        np.matmul(self.active.T, slope, out=g["contract"])
        wide = np.matmul(slope, w["contract"].T, out=s.wide)
        # The derivative of gelu: cdf(h) + h pdf(h).
        d = np.multiply(self.h, self.h, out=s.other_wide)
        d *= -0.5
        np.exp(d, out=d)
        d *= _DENSITY_AT_ZERO
        d *= self.h
        d += self.cdf
        wide *= d
        np.matmul(self.y2.T, wide, out=g["expand"])
        narrow = np.matmul(wide, w["expand"].T, out=s.narrow)
        self.norm2.backward(narrow, w["norm2"], g["norm2"], s.other_narrow)
        slope += narrow

    def _backward_attention(self, slope: Array) -> None:
        w, g, s, a = self.w, self.g, self.scratch, self.weights
        np.matmul(self.mixed.T, slope, out=g["mix"])
        of_mixed = self._heads(np.matmul(slope, w["mix"].T, out=s.narrow))
        q, k, v = self._three(self.qkv)
        of_q, of_k, of_v = self._three(s.qkv)
        np.matmul(a.mT, of_mixed, out=of_v)
        d = np.matmul(of_mixed, v.mT, out=s.scores)
        d -= np.einsum("...j,...j->...", d, a)[..., None]
        d *= a
        np.matmul(d, k, out=of_q)
        of_q *= q.shape[-1] ** -0.5
        np.matmul(d.mT, q, out=of_k)
        np.matmul(self.y1.T, s.qkv, out=g["qkv"])
        narrow = np.matmul(s.qkv, w["qkv"].T, out=s.narrow)
        self.norm1.backward(narrow, w["norm1"], g["norm1"], s.other_narrow)
        slope += narrow


class Transformer(Model):
    """The model.

    Args:
        shape: its sizes.
        weights: its weights.
        batch: characters and those that follow.
        erf: a function `erf(x, out=...)`; by default SciPy's, since NumPy has none.
    """

    def __init__(
        self, shape: Shape, weights: Arrays, batch: Arrays, erf: Erf | None = None
    ) -> None:
        if erf is None:
            erf = importlib.import_module("scipy.special").erf
        self.weights = weights
        self.gradients = {name: np.empty_like(w) for name, w in weights.items()}
        self.ids, self.targets = batch["x"].reshape(-1), batch["y"].reshape(-1)
        n, dtype = self.ids.size, weights["tokens"].dtype
        self.scratch = _Scratch(shape, dtype)
        self.blocks = [
            _Block(shape, weights, self.gradients, i, self.scratch, erf)
            for i in range(shape.layers)
        ]
        self.norm = Norm(n, shape.width, dtype)
        self.x, self.y, self.slope = (np.empty((n, shape.width), dtype) for _ in range(3))
        self.scores = np.empty((n, shape.characters), dtype)

    def run(self) -> float:
        w, g, x, y, slope = self.weights, self.gradients, self.x, self.y, self.slope
        np.take(w["tokens"], self.ids, axis=0, out=x, mode="clip")
        by_place = (-1, *w["places"].shape)
        in_place = x.reshape(by_place)
        in_place += w["places"]
        for block in self.blocks:
            block.forward(x)
        self.norm.forward(x, w["norm"], out=y)
        z = np.matmul(y, w["tokens"].T, out=self.scores)
        loss = cross_entropy(z, self.targets)
        np.matmul(z.T, y, out=g["tokens"])
        np.matmul(z, w["tokens"], out=slope)
        self.norm.backward(slope, w["norm"], g["norm"], self.scratch.narrow)
        for block in reversed(self.blocks):
            block.backward(slope)
        # A product with ones and zeros adds faster than `np.add.at`.
        z.fill(0)
        z[np.arange(len(z)), self.ids] = 1
        g["tokens"] += z.T @ slope
        np.sum(slope.reshape(by_place), axis=0, out=g["places"])
        return loss
