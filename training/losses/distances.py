"""Losses of numbers: the squared error, and one that outliers pull at no more than others."""

import math

import lazygraph as lg
from lazygraph.extend import TensorLike
from training.losses.reduction import alike, reduced


def mse_loss(
    prediction: TensorLike, target: TensorLike, *, reduction: str = "mean"
) -> lg.Tensor:
    """The squared error.

        loss = (prediction - target)^2,  averaged over all elements

    Args:
        prediction: a tensor of any shape.
        target: a tensor of the same shape; nothing is broadcast.
        reduction: "mean" or "sum" over all elements, or "none".

    Returns:
        A tensor of shape `()`, or that of the prediction without a reduction.

    Raises:
        ShapeError: different shapes.
        ValueError: another reduction.

    Example:
        >>> mse_loss(lg.asarray([1.0, 2.0]), lg.asarray([1.0, 4.0])).item()
        2.0
    """
    prediction, target = alike("mse_loss", prediction, target)
    return reduced(lg.square(prediction - target), reduction)


def huber_loss(
    prediction: TensorLike,
    target: TensorLike,
    *,
    delta: float = 1.0,
    reduction: str = "mean",
) -> lg.Tensor:
    """Half the squared error where it is small, growing in a straight line where it is not.

        loss = d^2 / 2                   where |d| <= delta,  d = prediction - target
        loss = delta (|d| - delta / 2)   elsewhere,  averaged over all elements

    Args:
        prediction: a tensor of any shape.
        target: a tensor of the same shape; nothing is broadcast.
        delta: where the straight line begins, above 0 and finite: the largest size of the
            gradient of one element.
        reduction: "mean" or "sum" over all elements, or "none".

    Returns:
        A tensor of shape `()`, or that of the prediction without a reduction.

    Raises:
        ShapeError: different shapes.
        ValueError: another reduction, or a delta that is out of its range.

    Source: Huber, "Robust Estimation of a Location Parameter", Annals of Mathematical
    Statistics 35, 1964.

    Example:
        >>> losses = huber_loss(
        ...     lg.asarray([1.0, 5.0]), lg.asarray([2.0, 2.0]), reduction="none"
        ... )
        >>> losses.tolist()
        [0.5, 2.5]
    """
    if not 0.0 < delta < math.inf:
        raise ValueError(f"delta must be above 0 and finite; got {delta}")
    prediction, target = alike("huber_loss", prediction, target)
    distance = prediction - target
    near = lg.clip(distance, -delta, delta)
    return reduced(near * (distance - 0.5 * near), reduction)
