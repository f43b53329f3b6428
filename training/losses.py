"""Losses: how far predictions are from their targets."""

from typing import Any

import lazygraph as lg
from lazygraph import errors
from lazygraph.extend import TensorLike, as_tensor
from training.operands import as_counts, noted


def cross_entropy(logits: TensorLike, targets: Any, *, reduction: str = "mean") -> lg.Tensor:
    """The negative logarithm of the probability that softmax gives to the right class.

        loss = log(sum(e^z)) - z[target],  z = logits - max(logits),  averaged over all targets

    Args:
        logits: scores of shape `(..., classes)`, floating.
        targets: the right class of each row, integers of shape `(...)` in [0, classes); values
            are checked when the loss is computed.
        reduction: "mean" or "sum" over all targets, or "none".

    Returns:
        A tensor of the logits' dtype; of shape `()`, or `(...)` without a reduction.

    Raises:
        ShapeError: the shapes do not fit.
        DTypeError: logits that are not floating, or targets that are not integers.
        ValueError: another reduction.
        BoundsError: at realization, a target that is not a class.

    Example:
        >>> loss = cross_entropy(lg.asarray([[0.0, 0.0]]), [1])
        >>> round(loss.item(), 6)
        0.693147
    """
    scores = as_tensor(logits)
    labels = lg.asarray(targets)
    counts = as_counts(labels, "cross_entropy: targets")
    if scores.ndim == 0 or labels.shape != scores.shape[:-1]:
        message = (
            "cross_entropy: logits must have the shape of the targets and one more axis; "
            f"got {scores.shape} and {labels.shape}"
        )
        raise noted(errors.ShapeError(message), scores, labels)
    if not scores.dtype.is_floating:
        message = f"cross_entropy: logits must be floating; got {scores.dtype}"
        raise noted(errors.DTypeError(message), scores)
    # Shifted before anything is added up: next to 10,000 a float32 has no room for log(2).
    shifted = scores - lg.stop_gradient(lg.max(scores, axis=-1, keepdims=True))
    picked = lg.take_along_axis(shifted, lg.expand_dims(counts, axis=-1), axis=-1)
    losses = lg.log(lg.sum(lg.exp(shifted), axis=-1)) - lg.squeeze(picked, axis=-1)
    return _reduced(losses, reduction)


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
    prediction, target = as_tensor(prediction), as_tensor(target)
    if prediction.shape != target.shape:
        message = (
            "mse_loss: prediction and target must have the same shape; "
            f"got {prediction.shape} and {target.shape}"
        )
        raise noted(errors.ShapeError(message), prediction, target)
    return _reduced(lg.square(prediction - target), reduction)


def _reduced(losses: lg.Tensor, reduction: str) -> lg.Tensor:
    match reduction:
        case "mean":
            return lg.mean(losses)
        case "sum":
            return lg.sum(losses)
        case "none":
            return losses
    raise ValueError(f"reduction must be 'mean', 'sum' or 'none'; got {reduction!r}")
