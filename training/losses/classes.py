"""Losses of classes: one of many, or yes and no."""

import operator
from typing import Any

import numpy as np

import lazygraph as lg
from lazygraph import errors
from lazygraph.extend import TensorLike, as_tensor, noted
from training.losses.reduction import alike, reduced
from training.operands import as_counts


def cross_entropy(
    logits: TensorLike,
    targets: Any,
    *,
    weight: TensorLike | None = None,
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
) -> lg.Tensor:
    """The negative logarithm of the probability that softmax gives to the right class.

        loss = (1 - s) w[target] n[target] + s mean(w n),  n = log(sum(e^z)) - z,
        z = logits - max(logits),  s = label_smoothing,  averaged over all targets

    Args:
        logits: scores of shape `(..., classes)`, floating.
        targets: the right class of each row, integers of shape `(...)` in [0, classes); values
            are checked when the loss is computed.
        weight: w, how much each class counts, of shape `(classes,)`; 1 by default. The mean is
            then the sum of the losses divided by the sum of `w[target]`.
        ignore_index: a target that says that its row does not count, inside of [0, classes) or
            not. Its loss is 0, whatever its scores are.
        label_smoothing: which share of the right class is spread over all, in [0, 1].
        reduction: "mean" or "sum" over all targets that count, or "none". If none counts, the
            mean is 0 (in PyTorch NaN), and so are its gradients.

    Returns:
        A tensor of the logits' dtype; of shape `()`, or `(...)` without a reduction.

    Raises:
        ShapeError: the shapes do not fit.
        DTypeError: logits that are not floating, or targets that are not integers.
        ValueError: another reduction, or a smoothing out of its range.
        BoundsError: at realization, a target that is not a class.

    Source: label smoothing as in Szegedy et al., "Rethinking the Inception Architecture for
    Computer Vision", CVPR 2016, section 7.

    Example:
        >>> loss = cross_entropy(lg.asarray([[0.0, 0.0]]), [1])
        >>> round(loss.item(), 6)
        0.693147
    """
    scores, labels = _checked(logits, targets)
    if not 0.0 <= label_smoothing <= 1.0:
        raise ValueError(f"label_smoothing must be in [0, 1]; got {label_smoothing}")
    kept = None if ignore_index is None else _differ(labels, operator.index(ignore_index))
    if kept is not None:
        labels = lg.where(kept, labels, lg.zeros_like(labels))
        scores = lg.where(lg.expand_dims(kept, axis=-1), scores, lg.zeros_like(scores))
    # Shifted before anything is added up: next to 10,000 a float32 has no room for log(2).
    shifted = scores - lg.stop_gradient(lg.max(scores, axis=-1, keepdims=True))
    places = lg.expand_dims(labels, axis=-1)
    picked = lg.take_along_axis(shifted, places, axis=-1, wrap=False)
    total = lg.log(lg.sum(lg.exp(shifted), axis=-1))
    losses = total - lg.squeeze(picked, axis=-1)
    if weight is None and kept is None and not label_smoothing:
        return reduced(losses, reduction)
    weights = None if weight is None else _class_weights(weight, scores)
    shares = lg.ones_like(losses)
    if weights is not None:
        shares = lg.take(weights, labels, axis=0)
        losses = losses * shares
    if label_smoothing:
        even = _even(total, shifted, weights)
        losses = (1.0 - label_smoothing) * losses + label_smoothing * even
    if kept is not None:
        losses, shares = (lg.where(kept, x, lg.zeros_like(x)) for x in (losses, shares))
    return reduced(losses, reduction, shares)


def _checked(logits: TensorLike, targets: Any) -> tuple[lg.Tensor, lg.Tensor]:
    scores = as_tensor(logits)
    labels = as_counts(targets, "cross_entropy: targets")
    if scores.ndim == 0 or labels.shape != scores.shape[:-1]:
        message = (
            "cross_entropy: logits must have the shape of the targets and one more axis; "
            f"got {scores.shape} and {labels.shape}"
        )
        raise noted(errors.ShapeError(message), scores.node, labels.node)
    if not scores.dtype.is_floating:
        message = f"cross_entropy: logits must be floating; got {scores.dtype}"
        raise noted(errors.DTypeError(message), scores.node)
    return scores, labels


def _differ(labels: lg.Tensor, ignored: int) -> lg.Tensor:
    limits = np.iinfo(labels.dtype.dtype)
    if not limits.min <= ignored <= limits.max:  # no label of this dtype can be it
        return lg.ones_like(labels) == 1
    return labels != ignored


def _class_weights(weight: TensorLike, scores: lg.Tensor) -> lg.Tensor:
    weights = lg.asarray(weight, dtype=scores.dtype)
    if weights.shape != scores.shape[-1:]:
        message = (
            f"cross_entropy: weight must have the shape {scores.shape[-1:]}, of the classes; "
            f"got {weights.shape}"
        )
        raise noted(errors.ShapeError(message), weights.node, scores.node)
    return weights


def _even(total: lg.Tensor, shifted: lg.Tensor, weights: lg.Tensor | None) -> lg.Tensor:
    """The mean over the classes of the weighted loss that each would have as the target."""
    if weights is None:
        return total - lg.mean(shifted, axis=-1)
    return total * lg.mean(weights) - lg.mean(shifted * weights, axis=-1)


def binary_cross_entropy_with_logits(
    logits: TensorLike, targets: Any, *, reduction: str = "mean"
) -> lg.Tensor:
    """The negative logarithm of the probability that sigmoid gives to the right answer.

        loss = -t log(sigmoid(z)) - (1 - t) log(1 - sigmoid(z)),  averaged over all elements,
        computed as max(z, 0) - z t + log(1 + e^-|z|)

    Args:
        logits: z, a floating tensor of any shape.
        targets: t, of the same shape: 1 or true for yes, 0 or false for no, or a probability.
        reduction: "mean" or "sum" over all elements, or "none".

    Returns:
        A tensor of the logits' dtype; of shape `()`, or that of the logits without a reduction.

    Raises:
        ShapeError: different shapes.
        DTypeError: logits that are not floating.
        ValueError: another reduction.

    Example:
        >>> logits = lg.asarray([200.0, -200.0])
        >>> binary_cross_entropy_with_logits(logits, [0, 0], reduction="none").tolist()
        [200.0, 0.0]
    """
    z = as_tensor(logits)
    if not z.dtype.is_floating:
        message = f"binary_cross_entropy_with_logits: logits must be floating; got {z.dtype}"
        raise noted(errors.DTypeError(message), z.node)
    wanted = lg.asarray(targets, dtype=z.dtype)
    z, t = alike("binary_cross_entropy_with_logits", z, wanted)
    # Both choices take the same side at 0, so that their slopes add up to that of sigmoid.
    above = z > 0.0
    least = lg.where(above, z, lg.zeros_like(z)) - z * t
    return reduced(least + lg.softplus(lg.where(above, -z, z)), reduction)
