"""A layer norm by hand, forward and backward."""

import numpy as np

from benchmarks.workloads import NORM_EPSILON, Array


class Norm:
    """Keeps what its backward pass needs.

    Args:
        rows: the number of rows.
        columns: their length.
        dtype: of the elements.
    """

    def __init__(self, rows: int, columns: int, dtype: np.dtype[np.floating]) -> None:
        self.normal = np.empty((rows, columns), dtype)
        self.inverse = np.empty((rows, 1), dtype)

    def forward(self, x: Array, scale: Array, out: Array) -> None:
        """Write the scaled rows; a shift is up to the caller."""
        normal, inverse = self.normal, self.inverse
        np.subtract(x, x.mean(axis=1, keepdims=True), out=normal)
        np.einsum("ij,ij->i", normal, normal, out=inverse[:, 0])
        inverse /= x.shape[1]
        inverse += NORM_EPSILON
        np.sqrt(inverse, out=inverse)
        np.reciprocal(inverse, out=inverse)
        normal *= inverse
        np.multiply(normal, scale, out=out)

    def backward(self, slope: Array, scale: Array, of_scale: Array, scratch: Array) -> None:
        """Turn the gradient of the result into that of `x`, in place."""
        normal = self.normal
        np.multiply(slope, normal, out=scratch)
        np.sum(scratch, axis=0, out=of_scale)
        slope *= scale
        along = np.einsum("ij,ij->i", slope, normal)[:, None]
        along /= slope.shape[1]
        slope -= slope.mean(axis=1, keepdims=True)
        np.multiply(normal, along, out=scratch)
        slope -= scratch
        slope *= self.inverse
