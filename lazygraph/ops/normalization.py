"""Normalization by the size of a row."""

from lazygraph.dtypes import DEFAULT_FLOAT
from lazygraph.graph.tensor import Tensor, TensorLike, as_tensor
from lazygraph.ops.conversion import astype
from lazygraph.ops.dots import dots
from lazygraph.ops.transcendental import rsqrt


def rms_norm(x: TensorLike, weight: TensorLike | None = None, *, eps: float = 1e-5) -> Tensor:
    """Each row divided by the root of its mean square, then scaled.

        y = x / sqrt(mean(x^2) + eps) * weight

    Args:
        x: a floating tensor of shape `(..., n)`; the mean is over the last axis.
        weight: the scale, of shape `(n,)`.
        eps: added to the mean square, in units of it.

    Returns:
        A tensor of `x`'s shape.

    Source: Zhang & Sennrich, "Root Mean Square Layer Normalization", NeurIPS 2019, equation 4,
    with eps under the root as in `layer_norm`.

    Example:
        >>> import lazygraph as lg
        >>> lg.rms_norm(lg.asarray([3.0, -3.0]), eps=0.0).numpy().round(3).tolist()
        [1.0, -1.0]
    """
    x = as_tensor(x)
    x = x if x.dtype.is_floating else astype(x, DEFAULT_FLOAT)
    y = x * rsqrt(dots(x, x, x.ndim - 1) / x.shape[-1] + eps)
    return y if weight is None else y * weight
