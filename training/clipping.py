"""Gradient norms and clipping: new mappings, the given ones untouched."""

import math
from collections.abc import Iterable, Mapping

import lazygraph as lg

Gradients = Mapping[str, lg.Tensor]
_FLOOR = 1e-6  # added to the norm before the division, as PyTorch does


def harvest(gradients: lg.GradientMap, parameters: Iterable[lg.Var]) -> dict[str, lg.Tensor]:
    """The gradient of each Var that the loss reached, by name.

    Args:
        gradients: what `loss.backward()` gave.
        parameters: the Vars to look up; those that the loss did not reach are left out.

    Returns:
        A new dict in the order of `parameters`.

    Example:
        >>> w, unused = lg.Var("w", 2.0), lg.Var("unused", 1.0)
        >>> harvest((w * w).backward(), [w, unused])["w"].item()
        4.0
    """
    return {var.name: gradients[var] for var in parameters if var in gradients}


def _named(grads: Gradients | Iterable[tuple[str, lg.Tensor]]) -> dict[str, lg.Tensor]:
    given: object = grads
    if isinstance(given, lg.GradientMap):
        raise TypeError(
            "clipping needs gradients by name, as `harvest` gives them; got a GradientMap, "
            "which also holds those of intermediate nodes"
        )
    return dict(grads)


def global_norm(
    grads: Gradients | Iterable[tuple[str, lg.Tensor]], norm_type: float = 2.0
) -> lg.Tensor:
    """The norm of all gradients taken together, as one long vector.

        (sum |g|^p)^(1/p), or max |g| for p = inf

    Powers are summed in float64 and cannot overflow: elements are scaled by the largest of them
    where needed.

    Args:
        grads: gradients by name, or pairs of a name and a gradient.
        norm_type: p, greater than 0; `math.inf` for the largest element.

    Returns:
        A float64 tensor of shape (); 0 if there is no gradient.

    Raises:
        ValueError: `norm_type` is not greater than 0.

    Example:
        >>> global_norm({"a": lg.asarray([3.0]), "b": lg.asarray([4.0])}).item()
        5.0
    """
    if not norm_type > 0:
        raise ValueError(f"norm_type must be greater than 0; got {norm_type}")
    return combined([norm(g, norm_type) for g in _named(grads).values()], norm_type)


def norm(g: lg.Tensor, norm_type: float) -> lg.Tensor:
    """The norm of one gradient, as float64."""
    if norm_type == 2.0:
        return lg.norm(g, dtype=lg.float64)
    if g.size == 0:
        return lg.zeros((), dtype=lg.float64)
    size = lg.astype(lg.abs(g), lg.float64)
    largest = lg.max(size)
    if norm_type == math.inf:
        return largest
    scale = lg.where(lg.logical_and(largest > 0, lg.isfinite(largest)), largest, 1.0)
    return scale * lg.sum((size / scale) ** norm_type) ** (1.0 / norm_type)


def combined(norms: list[lg.Tensor], norm_type: float) -> lg.Tensor:
    """The norm of a vector whose parts have these norms."""
    if not norms:
        return lg.zeros((), dtype=lg.float64)
    return norm(lg.stack(norms), norm_type)


def clip_grad_norm(
    grads: Gradients | Iterable[tuple[str, lg.Tensor]], max_norm: float, norm_type: float = 2.0
) -> dict[str, lg.Tensor]:
    """Scale all gradients by one factor, so that their global norm does not exceed a bound.

        g <- g min(1, max_norm / (norm + 1e-6))

    Args:
        grads: gradients by name, or pairs of a name and a gradient; not changed.
        max_norm: the bound, not negative; `math.inf` changes nothing.
        norm_type: p of the norm, as for `global_norm`.

    Returns:
        A new dict. Below the bound the gradients keep their bits; a norm of NaN passes through.

    Raises:
        ValueError: `max_norm` is negative or NaN.

    Example:
        >>> clipped = clip_grad_norm({"w": lg.asarray([3.0, 4.0])}, 1.0)
        >>> [round(x, 4) for x in clipped["w"].tolist()]
        [0.6, 0.8]
    """
    named = _named(grads)
    return scaled(named, clip_factor(global_norm(named, norm_type), max_norm))


def clip_factor(total: lg.Tensor, max_norm: float) -> lg.Tensor:
    """What gradients of norm `total` are multiplied with."""
    if not max_norm >= 0:
        raise ValueError(f"max_norm must not be negative; got {max_norm}")
    # A bound of infinity leaves even an infinite gradient as it is: inf / inf would be NaN.
    if max_norm == math.inf:
        return lg.ones((), dtype=lg.float64)
    return lg.minimum(max_norm / (total + _FLOOR), 1.0)


def scaled(grads: Gradients, factor: lg.Tensor) -> dict[str, lg.Tensor]:
    """Every gradient times one number."""
    return {name: g * lg.astype(factor, g.dtype) for name, g in grads.items()}


def clip_grad_value(
    grads: Gradients | Iterable[tuple[str, lg.Tensor]], limit: float
) -> dict[str, lg.Tensor]:
    """Bring every element of every gradient into [-limit, limit].

    Args:
        grads: gradients by name, or pairs of a name and a gradient; not changed.
        limit: the bound, not negative.

    Returns:
        A new dict; NaN stays NaN.

    Raises:
        ValueError: `limit` is negative or NaN.

    Example:
        >>> clip_grad_value({"w": lg.asarray([-3.0, 0.5])}, 1.0)["w"].tolist()
        [-1.0, 0.5]
    """
    if not limit >= 0:
        raise ValueError(f"limit must not be negative; got {limit}")
    return {name: lg.clip(g, -limit, limit) for name, g in _named(grads).items()}
