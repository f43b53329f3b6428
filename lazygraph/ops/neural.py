"""Activations, normalizations and attention, most of them compositions.

Two compositions, softmax and what layer normalization begins with, carry the derivative of the
whole: it needs the result alone, where the rules of their steps would have to keep an array
more of each (`docs/decisions/2026-12-01-derivatives-of-wholes.md` has the measurement).
"""

import math

import numpy as np

from lazygraph.dtypes import DEFAULT_FLOAT
from lazygraph.errors import ShapeError
from lazygraph.graph.op import Kind, Sample
from lazygraph.graph.tensor import Tensor, TensorLike, apply, as_tensor
from lazygraph.ops import infer
from lazygraph.ops.arithmetic import NONZERO, reciprocal
from lazygraph.ops.choice import where
from lazygraph.ops.comparison import isfinite
from lazygraph.ops.contraction import matmul
from lazygraph.ops.conversion import astype, stop_gradient
from lazygraph.ops.creation import arange
from lazygraph.ops.dots import dots
from lazygraph.ops.layout import reshape
from lazygraph.ops.record import define
from lazygraph.ops.reduction import max, mean
from lazygraph.ops.spread import Axis, constant, sum, without_axes
from lazygraph.ops.transcendental import exp, log, ndtr, rsqrt, sigmoid, tanh


def relu(x: TensorLike) -> Tensor:
    """`max(x, 0)`, element by element; the gradient at 0 is 0."""
    return apply(RELU, x)


RELU = define(
    "relu",
    infer=infer.numeric,
    evaluate=lambda x, out: np.maximum(x, 0, out=out),
    gradient=lambda g, y, x: [where(y > 0, g, constant(0, g))],
    emit=lambda k, x: k.maximum(x, k.constant(0, x)),
    kind=Kind.POINTWISE,
    in_place=True,
    domain=(NONZERO,),
)


def gelu(x: TensorLike, *, approximate: str = "none") -> Tensor:
    """The Gaussian error linear unit, `x` times the normal distribution function of `x`.

        none: x (1 + erf(x / sqrt(2))) / 2
        tanh: x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2

    Args:
        x: a floating tensor.
        approximate: "none" or "tanh".

    Raises:
        ValueError: another name.

    Source: Hendrycks & Gimpel, "Gaussian Error Linear Units", 2016.

    Example:
        >>> import lazygraph as lg
        >>> round(gelu(lg.asarray([1.0])).item(), 6)
        0.841345
    """
    x = as_tensor(x)
    if approximate == "none":
        return x * ndtr(x)
    if approximate == "tanh":
        return x * (0.5 * tanh((x + 0.044715 * (x * x * x)) * math.sqrt(2.0 / math.pi)) + 0.5)
    raise ValueError(f"approximate must be 'none' or 'tanh'; got {approximate!r}")


def silu(x: TensorLike) -> Tensor:
    """`x sigmoid(x)`, element by element."""
    x = as_tensor(x)
    return x * sigmoid(x)


def _shifted(x: Tensor, axes: tuple[int, ...]) -> tuple[Tensor, Tensor, Tensor]:
    """The largest element, `e^(x - largest)`, and its sum: 0 for a row of -inf alone."""
    largest = stop_gradient(max(x, axis=axes, keepdims=True))
    largest = where(isfinite(largest), largest, constant(0, largest))
    e = exp(x - largest)
    return largest, e, sum(e, axis=axes, keepdims=True)


def logsumexp(x: TensorLike, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """`log(sum(e^x))` without overflow.

    Args:
        x: a floating tensor.
        axis: the axis or axes to reduce; all of them by default.
        keepdims: keep the reduced axes, with length 1.

    Returns:
        The result; -inf, with the gradient 0, where every element is -inf.

    Example:
        >>> import lazygraph as lg
        >>> logsumexp(lg.asarray([1000.0, 1000.0])).item()
        1000.6931762695312
    """
    x = as_tensor(x)
    axes = infer.all_axes(axis, x.ndim)
    largest, _, total = _shifted(x, axes)
    dead = total == 0
    y = largest + log(where(dead, constant(1, total), total))
    y = where(dead, constant(-math.inf, y), y)
    return y if keepdims else without_axes(y, axes)


def softmax(x: TensorLike, *, axis: int = -1) -> Tensor:
    """`e^x / sum(e^x)` along an axis; zeros where every element is -inf.

    Args:
        x: a floating tensor.
        axis: the axis along which the result sums to 1.

    Example:
        >>> import lazygraph as lg
        >>> softmax(lg.asarray([0.0, 0.0])).tolist()
        [0.5, 0.5]
    """
    x = as_tensor(x)
    at = infer.one_axis(axis, x.ndim)
    _, e, total = _shifted(x, (at,))
    y = e * reciprocal(where(total == 0, constant(1, total), total))
    return apply(SOFTMAX, y, x, params=(at,))


# The value of a softmax beside its operand.
SOFTMAX = define(
    "softmax",
    infer=lambda value, x, axis: value,
    evaluate=lambda value, *_, axis: value[...],
    gradient=lambda g, y, value, x, axis: [None, y * (g - dots(g, y, axis))],
    kind=Kind.VIEW,
    params=("axis",),
    # Integers, since the operands of a sample have nothing to do with each other.
    samples=lambda rng: [Sample((np.arange(6).reshape(2, 3), np.ones((2, 3), int)), (1,))],
)


def log_softmax(x: TensorLike, *, axis: int = -1) -> Tensor:
    """`x - logsumexp(x)` along an axis: the logarithm of `softmax`, without its underflow.

    Args:
        x: a floating tensor.
        axis: the axis along which the probabilities sum to 1.

    Returns:
        The logarithms; -inf where every element is -inf, as `softmax` gives zeros there.
        (PyTorch and JAX give NaN for both.)

    Example:
        >>> import lazygraph as lg
        >>> log_softmax(lg.asarray([[0.0, -1000.0], [-math.inf, -math.inf]])).tolist()
        [[0.0, -1000.0], [-inf, -inf]]
    """
    x = as_tensor(x)
    at = infer.one_axis(axis, x.ndim)
    largest, _, total = _shifted(x, (at,))
    return (x - largest) - log(where(total == 0, constant(1, total), total))


def layer_norm(
    x: TensorLike,
    weight: TensorLike | None = None,
    bias: TensorLike | None = None,
    *,
    eps: float = 1e-5,
) -> Tensor:
    """Each row brought to mean 0 and variance 1, then scaled and shifted.

        y = (x - mean) / sqrt(variance + eps) * weight + bias

    Args:
        x: a tensor of shape `(..., n)`; mean and variance are over the last axis.
        weight: the scale, of shape `(n,)`.
        bias: the shift, of shape `(n,)`.
        eps: added to the variance, in units of its square.

    Source: Ba, Kiros & Hinton, "Layer Normalization", 2016.
    """
    x = as_tensor(x)
    x = x if x.dtype.is_floating else astype(x, DEFAULT_FLOAT)
    distance = x - mean(x, axis=-1, keepdims=True)
    scale = rsqrt(dots(distance, distance, x.ndim - 1) / x.shape[-1] + eps)
    y = apply(STANDARDIZED, distance * scale, x, scale)
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def _standardized_gradient(
    g: Tensor, y: Tensor, value: Tensor, x: Tensor, scale: Tensor
) -> list[Tensor | None]:
    along = dots(g, y, x.ndim - 1) / x.shape[-1]
    return [None, scale * (g - mean(g, axis=-1, keepdims=True) - y * along), None]


# The value of a row with mean 0 and variance 1, beside the row and what it was scaled by.
STANDARDIZED = define(
    "standardized",
    infer=lambda value, x, scale: value,
    evaluate=lambda value, *_: value[...],
    gradient=_standardized_gradient,
    kind=Kind.VIEW,
    # Integers, since the operands of a sample have nothing to do with each other.
    samples=lambda rng: [
        Sample((np.arange(6).reshape(2, 3), np.ones((2, 3), int), np.ones((2, 1), int)))
    ],
)


def attention(
    query: TensorLike,
    key: TensorLike,
    value: TensorLike,
    *,
    mask: TensorLike | None = None,
    causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """Scaled dot-product attention: `softmax(query key^T scale) value`.

    Args:
        query: a tensor of shape `(..., t, d)`.
        key: a tensor of shape `(..., s, d)`.
        value: a tensor of shape `(..., s, e)`.
        mask: bool, broadcasting to `(..., t, s)`: true where a query may look. A query that may
            look nowhere gets zeros.
        causal: let query i look at the keys 0 .. i only.
        scale: the factor; `1 / sqrt(d)` by default.

    Returns:
        A tensor of shape `(..., t, e)`.

    Raises:
        ShapeError: fewer than two axes, or shapes that do not fit.

    Source: Vaswani et al., "Attention Is All You Need", NeurIPS 2017.
    """
    query, key, value = as_tensor(query), as_tensor(key), as_tensor(value)
    if any(x.ndim < 2 for x in (query, key, value)):
        shapes = f"{query.shape}, {key.shape} and {value.shape}"
        raise ShapeError(f"attention needs at least two axes, (time, width); got {shapes}")
    factor = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = matmul(query, key.mT) * factor
    hidden = constant(-math.inf, scores)
    if causal:
        t, s = scores.shape[-2:]
        scores = where(reshape(arange(t), (t, 1)) >= arange(s), scores, hidden)
    if mask is not None:
        scores = where(mask, scores, hidden)
    return matmul(softmax(scores, axis=-1), value)
