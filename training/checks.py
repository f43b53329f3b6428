"""What a training loop accepts, and errors that say what it got instead."""

import math
from collections.abc import Sequence
from typing import Any

import lazygraph as lg
from lazygraph.extend import noted

Assignment = tuple[lg.Var, lg.Tensor]  # a Var, and its next value


def check_loss(loss: lg.Tensor) -> None:
    """Refuse what is not a floating tensor of one element."""
    if not isinstance(loss, lg.Tensor):
        raise TypeError(f"a loss must be a Tensor; got {loss!r}")
    if loss.size != 1:
        message = f"a loss must hold one element; got {loss.node.spec}"
        raise noted(lg.errors.ShapeError(message), loss.node)
    if not loss.dtype.is_floating:
        message = f"a loss must be floating; got {loss.node.spec}"
        raise noted(lg.errors.GradientError(message), loss.node)


def check_weight(weight: float) -> None:
    """Refuse what cannot be the weight of a micro-batch."""
    if not 0.0 <= weight < math.inf:
        raise ValueError(f"weight must be a number in [0, inf); got {weight}")


def bound(name: str, value: float | None) -> float | None:
    """A number that is not negative, or None."""
    if value is not None and not value >= 0.0:
        raise ValueError(f"{name} must not be negative; got {value}")
    return None if value is None else float(value)


def count(name: str, value: Any) -> int:
    """A positive integer."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} must be a positive integer; got {value!r}")
    return int(value)


def assigned(pairs: Sequence[Assignment], opt: Any) -> list[lg.Tensor]:
    """The next values of Vars, which must not be moved by the optimizer as well."""
    params = {id(var) for var in opt.params()} if pairs else set()
    for var, value in pairs:
        if id(var) in params:
            raise ValueError(f"assign must not name a parameter of the optimizer; got {var!r}")
        if value.shape != var.shape or value.dtype is not var.dtype:
            raise lg.errors.ShapeError(
                f"{var.name}: a next value must be {var.spec}; got {value.node.spec}"
            )
    return [value for _, value in pairs]
