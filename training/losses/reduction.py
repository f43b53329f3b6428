"""What losses have in common: equal shapes, and one number for all of them."""

from typing import Any

import lazygraph as lg
from lazygraph import errors
from lazygraph.extend import TensorLike, as_tensor, noted


def alike(name: str, prediction: TensorLike, target: Any) -> tuple[lg.Tensor, lg.Tensor]:
    """Prediction and target as tensors of one shape; nothing is broadcast.

    Raises:
        ShapeError: different shapes.
    """
    prediction, target = as_tensor(prediction), lg.asarray(target)
    if prediction.shape != target.shape:
        message = (
            f"{name}: prediction and target must have the same shape; "
            f"got {prediction.shape} and {target.shape}"
        )
        raise noted(errors.ShapeError(message), prediction.node, target.node)
    return prediction, target


def reduced(losses: lg.Tensor, reduction: str, shares: lg.Tensor | None = None) -> lg.Tensor:
    """The losses as they are, their sum, or their mean.

    Args:
        losses: of any shape; those that do not count are 0.
        reduction: "mean", "sum" or "none".
        shares: how much each loss counts in the mean, of the same shape; equally by default.
            Where nothing counts, the mean is 0, and so are its gradients.

    Raises:
        ValueError: another reduction.
    """
    match reduction:
        case "mean" if shares is not None:
            whole = lg.sum(shares)
            return lg.sum(losses) / lg.where(whole == 0.0, lg.ones_like(whole), whole)
        case "mean":
            return lg.mean(losses)
        case "sum":
            return lg.sum(losses)
        case "none":
            return losses
    raise ValueError(f"reduction must be 'mean', 'sum' or 'none'; got {reduction!r}")
