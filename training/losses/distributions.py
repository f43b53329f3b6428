"""How far one distribution is from another."""

import lazygraph as lg
from lazygraph import errors
from lazygraph.extend import TensorLike, noted
from training.losses.reduction import alike, reduced


def kl_divergence(
    log_prediction: TensorLike,
    target: TensorLike,
    *,
    log_target: bool = False,
    reduction: str = "mean",
) -> lg.Tensor:
    """The Kullback-Leibler divergence of predicted distributions from their targets.

        loss = sum over classes of p (log(p) - log(q)),  0 where p is 0,  averaged over rows

    Args:
        log_prediction: log(q), of shape `(..., classes)`, as `lg.log_softmax` gives it.
        target: p, of the same shape.
        log_target: whether `target` holds log(p) instead.
        reduction: "mean" or "sum" over all rows, or "none".

    Returns:
        A tensor of shape `()`, or `(...)` without a reduction. (PyTorch calls this mean
        "batchmean"; its "mean" also divides by the number of classes.)

    Raises:
        ShapeError: different shapes, or no axis of classes.
        ValueError: another reduction.

    Source: Kullback & Leibler, "On Information and Sufficiency", Annals of Mathematical
    Statistics 22, 1951.

    Example:
        >>> even, sure = lg.log(lg.asarray([[0.5, 0.5]])), lg.asarray([[1.0, 0.0]])
        >>> round(kl_divergence(even, sure).item(), 6)
        0.693147
    """
    log_q, p = alike("kl_divergence", log_prediction, target)
    if log_q.ndim == 0:
        message = "kl_divergence: prediction and target need an axis of classes; got shape ()"
        raise noted(errors.ShapeError(message), log_q.node, p.node)
    log_p = p if log_target else lg.log(p)
    p = lg.exp(p) if log_target else p
    terms = lg.where(p > 0.0, p * (log_p - log_q), lg.zeros_like(log_q))
    return reduced(lg.sum(terms, axis=-1), reduction)
