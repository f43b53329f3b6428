"""A small convolutional network by hand, channels last."""

import numpy as np

from benchmarks.by_hand.model import Model, cross_entropy
from benchmarks.workloads import KERNEL, Array, Arrays
from benchmarks.workloads import Convolutional as Shape

_OFFSETS = [(i, j) for i in range(KERNEL) for j in range(KERNEL)]
_CORNERS = [(i, j) for i in range(2) for j in range(2)]


class Convolutional(Model):
    def __init__(self, shape: Shape, weights: Arrays, batch: Arrays) -> None:
        self.shape = shape
        self.weights = self._channels_last(weights)
        self.gradients = {name: np.empty_like(w) for name, w in self.weights.items()}
        self.x, self.y = batch["x"][:, 0], batch["y"]
        dtype, rows, side = self.x.dtype, shape.rows, shape.side
        first, second = shape.channels
        wide, narrow, half = side - KERNEL + 1, side - 2 * KERNEL + 2, shape.pooled
        # The windows of all images, which have one channel; those of one image after that,
        # which stay in the cache.
        self.windows0 = np.empty((KERNEL**2, rows, wide, wide), dtype)
        self.windows1 = np.empty((narrow, narrow, KERNEL, KERNEL, first), dtype)
        self.h0, self.slope0 = (np.empty((rows, wide, wide, first), dtype) for _ in range(2))
        self.h1, self.slope1 = (
            np.empty((rows, narrow, narrow, second), dtype) for _ in range(2)
        )
        self.pooled, self.of_pooled = (
            np.empty((rows, half, half, second), dtype) for _ in range(2)
        )
        self.hidden, self.of_hidden = (np.empty((rows, shape.hidden), dtype) for _ in range(2))
        self.scores = np.empty((rows, shape.classes), dtype)
        self.part = np.empty_like(self.weights["kernel1"])

    def _channels_last(self, weights: Arrays) -> Arrays:
        """Kernels as matrices of the taps by the outputs; dense rows in the order of pixels."""
        s = self.shape
        moved = dict(weights)
        for name in ("kernel0", "kernel1"):
            taps = weights[name].transpose(2, 3, 1, 0)
            moved[name] = np.ascontiguousarray(taps).reshape(-1, taps.shape[-1])
        pixels = weights["weight0"].reshape(s.channels[1], s.pooled, s.pooled, s.hidden)
        moved["weight0"] = np.ascontiguousarray(pixels.transpose(1, 2, 0, 3))
        moved["weight0"] = moved["weight0"].reshape(-1, s.hidden)
        return moved

    def as_drawn(self, arrays: Arrays) -> Arrays:
        s = self.shape
        moved = dict(arrays)
        for name in ("kernel0", "kernel1"):
            taps = arrays[name].reshape(KERNEL, KERNEL, -1, arrays[name].shape[1])
            moved[name] = taps.transpose(3, 2, 0, 1)
        pixels = arrays["weight0"].reshape(s.pooled, s.pooled, s.channels[1], s.hidden)
        moved["weight0"] = pixels.transpose(2, 0, 1, 3).reshape(-1, s.hidden)
        return moved

    def run(self) -> float:
        self._forward_convolutions()
        w, g, hidden = self.weights, self.gradients, self.hidden
        flat = self.pooled.reshape(len(hidden), -1)
        np.matmul(flat, w["weight0"], out=hidden)
        hidden += w["bias0"]
        np.maximum(hidden, 0, out=hidden)
        z = np.matmul(hidden, w["weight1"], out=self.scores)
        z += w["bias1"]
        loss = cross_entropy(z, self.y)
        np.matmul(hidden.T, z, out=g["weight1"])
        np.sum(z, axis=0, out=g["bias1"])
        slope = np.matmul(z, w["weight1"].T, out=self.of_hidden)
        slope *= hidden > 0
        np.matmul(flat.T, slope, out=g["weight0"])
        np.sum(slope, axis=0, out=g["bias0"])
        np.matmul(slope, w["weight0"].T, out=self.of_pooled.reshape(flat.shape))
        self._backward_convolutions()
        return loss

    def _windows_of(self, image: Array) -> Array:
        """The windows of an image of the second convolution, a row each."""
        side = len(self.windows1)
        for i, j in _OFFSETS:
            self.windows1[:, :, i, j] = image[i : i + side, j : j + side]
        return self.windows1.reshape(side * side, -1)

    def _forward_convolutions(self) -> None:
        w, h0, h1 = self.weights, self.h0, self.h1
        side = h0.shape[1]
        for k, (i, j) in enumerate(_OFFSETS):
            self.windows0[k] = self.x[:, i : i + side, j : j + side]
        taps = self.windows0.reshape(len(_OFFSETS), -1)
        np.matmul(taps.T, w["kernel0"], out=h0.reshape(-1, h0.shape[-1]))
        h0 += w["shift0"]
        np.maximum(h0, 0, out=h0)
        for image, out in zip(h0, h1, strict=True):
            out = out.reshape(-1, out.shape[-1])
            np.matmul(self._windows_of(image), w["kernel1"], out=out)
            out += w["shift1"]
            np.maximum(out, 0, out=out)
        corners = [h1[:, i::2, j::2] for i, j in _CORNERS]
        np.maximum(corners[0], corners[1], out=self.pooled)
        np.maximum(self.pooled, corners[2], out=self.pooled)
        np.maximum(self.pooled, corners[3], out=self.pooled)

    def _backward_convolutions(self) -> None:
        w, g, slope0, slope1 = self.weights, self.gradients, self.slope0, self.slope1
        self.of_pooled *= self.pooled > 0
        for i, j in _CORNERS:
            largest = self.h1[:, i::2, j::2] == self.pooled
            np.multiply(self.of_pooled, largest, out=slope1[:, i::2, j::2])
        rows = slope1.reshape(-1, slope1.shape[-1])
        np.sum(rows, axis=0, out=g["shift1"])
        side = slope1.shape[1]
        g["kernel1"].fill(0)
        slope0.fill(0)
        for image, slope, out in zip(self.h0, slope1, slope0, strict=True):
            slope = slope.reshape(side * side, -1)
            windows = self._windows_of(image)
            g["kernel1"] += np.matmul(windows.T, slope, out=self.part)
            np.matmul(slope, w["kernel1"].T, out=windows)
            for i, j in _OFFSETS:
                out[i : i + side, j : j + side] += self.windows1[:, :, i, j]
        slope0 *= self.h0 > 0
        rows = slope0.reshape(-1, slope0.shape[-1])
        np.sum(rows, axis=0, out=g["shift0"])
        np.matmul(self.windows0.reshape(len(_OFFSETS), -1), rows, out=g["kernel0"])
