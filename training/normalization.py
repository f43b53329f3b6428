"""Layers that bring numbers to one size: over a row, or over a batch."""

from typing import Any

import lazygraph as lg
from lazygraph import errors
from lazygraph.extend import TensorLike, as_tensor, noted
from training.module import Module
from training.operands import rows, title

_MOST_RUNS = 64  # each keeps its batch alive until its statistics are taken over


class RMSNorm(Module):
    """Rows divided by the root of their mean square, then scaled by `weight`.

    Args:
        width: the length of a row, the last axis; `weight` begins with ones.
        eps: added to the mean square.
        dtype: the dtype of the parameter.

    Source: Zhang & Sennrich, "Root Mean Square Layer Normalization", NeurIPS 2019.

    Example:
        >>> RMSNorm(2)(lg.asarray([[3.0, -3.0]])).numpy().round(3).tolist()
        [[1.0, -1.0]]
    """

    def __init__(self, width: int, eps: float = 1e-5, *, dtype: Any = lg.float32) -> None:
        self.weight = lg.Var("weight", lg.ones((width,), dtype=dtype))
        self.eps = eps

    def forward(self, x: TensorLike) -> lg.Tensor:
        """From `x` of shape `(..., width)` to the same; ShapeError for another one."""
        x = rows(self, x, self.weight.shape[0])
        return lg.rms_norm(x, self.weight, eps=self.eps)


class BatchNorm(Module):
    """Channels brought to mean 0 and variance 1 over the batch, then scaled and shifted.

        y = (x - mean) / sqrt(variance + eps) weight + bias

    In training, mean and variance are those of the batch, and the running ones move:

        running <- (1 - momentum) running + momentum batch

    with the unbiased variance. After `eval()` the running ones are used. They are buffers: in
    the `state_dict`, but not among the parameters. Their next values are computed lazily;
    the step that takes them over, in its own realization, is

        loop.step(loss, optimizer, assign=model.updates())

    Args:
        width: the number of channels, which are axis 1 of `x`.
        momentum: how far the running statistics move towards those of a batch, in [0, 1].
        eps: added to the variance.
        affine: whether there are `weight`, which begins with ones, and `bias`, with zeros.
        dtype: the dtype of parameters and statistics.

    Raises:
        ValueError: momentum is not in [0, 1].

    Source: Ioffe & Szegedy, "Batch Normalization: Accelerating Deep Network Training by
    Reducing Internal Covariate Shift", ICML 2015; running means as in PyTorch.

    Example:
        >>> norm = BatchNorm(1, momentum=1.0)
        >>> norm(lg.asarray([[1.0], [3.0]])).numpy().round(3).tolist()
        [[-1.0], [1.0]]
        >>> for var, value in norm.updates():
        ...     var.assign(value)
        >>> norm.running_mean.numpy().tolist(), norm.running_var.numpy().tolist()
        ([2.0], [2.0])
    """

    buffer_names = ("running_mean", "running_var")

    def __init__(
        self,
        width: int,
        momentum: float = 0.1,
        eps: float = 1e-5,
        affine: bool = True,
        *,
        dtype: Any = lg.float32,
    ) -> None:
        if not 0.0 <= momentum <= 1.0:
            raise ValueError(f"the momentum of BatchNorm must be in [0, 1]; got {momentum}")
        ones, zeros = lg.ones((width,), dtype=dtype), lg.zeros((width,), dtype=dtype)
        self.weight = lg.Var("weight", ones) if affine else None
        self.bias = lg.Var("bias", zeros) if affine else None
        self.running_mean = lg.Var("running_mean", zeros)
        self.running_var = lg.Var("running_var", ones)
        self.momentum = momentum
        self.eps = eps
        self._runs = 0

    def forward(self, x: TensorLike) -> lg.Tensor:
        """From `x` of shape `(batch, width, ...)` to the same.

        Raises:
            ShapeError: another shape, or, in training, a single element a channel.
            RuntimeError: in training, statistics that nobody takes over.
        """
        x = self._checked(x)
        channels = (-1, *[1] * (x.ndim - 2))  # as operands beside x
        if self.training:
            axes = (0, *range(2, x.ndim))
            mean = lg.mean(x, axis=axes, keepdims=True)
            distance = x - mean
            variance = lg.mean(lg.square(distance), axis=axes, keepdims=True)
            self._move(mean, variance, x.size // x.shape[1])
        else:
            distance = x - lg.reshape(self.running_mean, channels)
            variance = lg.reshape(self.running_var, channels)
        y = distance * lg.rsqrt(variance + self.eps)
        if self.weight is not None and self.bias is not None:
            y = y * lg.reshape(self.weight, channels) + lg.reshape(self.bias, channels)
        return y

    def _checked(self, x: TensorLike) -> lg.Tensor:
        x = as_tensor(x)
        width = self.running_mean.shape[0]
        if x.ndim < 2 or x.shape[1] != width:
            message = (
                f"{title(self)}: x must have the shape (batch, {width}, ...); got {x.shape}"
            )
            raise noted(errors.ShapeError(message), x.node)
        if self.training and x.size < 2 * width:
            message = f"{title(self)}: training needs two elements a channel; got {x.shape}"
            raise noted(errors.ShapeError(message), x.node)
        return x

    def _move(self, mean: lg.Tensor, variance: lg.Tensor, count: int) -> None:
        self._runs = self._runs + 1 if self.pending else 1
        if self._runs > _MOST_RUNS:
            raise RuntimeError(
                f"{title(self)}: statistics must be taken over, by `loop.step(..., "
                f"assign=model.updates())`; got {_MOST_RUNS} runs since the last time"
            )
        found = {"running_mean": mean, "running_var": variance * (count / (count - 1))}
        moved = {}
        for name, batch in found.items():
            var: lg.Var = getattr(self, name)
            old = self.pending.get(name, var.tensor())  # of an earlier run in the same step
            batch = lg.stop_gradient(lg.reshape(batch, var.shape))
            moved[name] = (1.0 - self.momentum) * old + self.momentum * batch
        self.pending = moved
