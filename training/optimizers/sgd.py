"""Stochastic gradient descent, plain or with momentum."""

from collections.abc import Hashable, Iterable, Mapping

import numpy as np

import lazygraph as lg
from training.optimizers.base import Array, Optimizer, State, checked


class SGD(Optimizer):
    """Step against the gradient, or against its running sum.

        g <- g + weight_decay p
        b <- momentum b + (1 - dampening) g     (b = g at the first update)
        p <- p - lr b                           (lr (g + momentum b) with nesterov)

    Args:
        params: the parameters; see `Optimizer`.
        lr: the learning rate.
        momentum: how much of the running sum stays, in [0, 1); 0 keeps none.
        dampening: how much of each new gradient is left out of the sum, in [0, 1).
        weight_decay: the factor of the parameter that is added to its gradient.
        nesterov: look ahead along the running sum; needs momentum, and no dampening.

    Raises:
        ValueError: a number outside its range.

    Source: as PyTorch's `torch.optim.SGD` defines it; Sutskever et al., "On the importance of
    initialization and momentum in deep learning", ICML 2013.

    Example:
        >>> w = lg.Var("w", 2.0)
        >>> SGD([w], lr=0.1).backward_step(w * w)
        >>> round(w.item(), 6)
        1.6
    """

    def __init__(
        self,
        params: Iterable[lg.Var] | Mapping[str, lg.Var],
        lr: float = 0.01,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        self.momentum = checked("momentum", momentum, below=1.0)
        self.dampening = checked("dampening", dampening, below=1.0)
        self.weight_decay = checked("weight_decay", weight_decay)
        self.nesterov = nesterov
        if nesterov and (momentum == 0.0 or dampening != 0.0):
            raise ValueError(
                "nesterov needs momentum and no dampening; "
                f"got momentum {momentum} and dampening {dampening}"
            )
        super().__init__(params, lr)

    def hyperparameters(self) -> dict[str, Hashable]:
        """The numbers of the formula."""
        return {
            "momentum": self.momentum,
            "dampening": self.dampening,
            "weight_decay": self.weight_decay,
            "nesterov": self.nesterov,
        }

    def initial(self, var: lg.Var) -> dict[str, Array]:
        """A running sum of zeros, if there is momentum."""
        if self.momentum == 0.0:
            return {}
        return {"momentum_buffer": np.zeros(var.shape, var.dtype.dtype)}

    def rule(
        self, name: str, g: lg.Tensor, state: State, p: lg.Tensor, lr: lg.Tensor
    ) -> tuple[lg.Tensor, State]:
        """The formula above."""
        rate = lg.astype(lr, p.dtype)
        if self.weight_decay:
            g = g + self.weight_decay * p
        if not self.momentum:
            return p - rate * g, {}
        fresh = g
        if self.dampening:
            share = lg.asarray(1.0 - self.dampening, dtype=g.dtype)
            fresh = g * lg.where(state["step"] == 0, 1.0, share)
        b = self.momentum * state["momentum_buffer"] + fresh
        direction = g + self.momentum * b if self.nesterov else b
        return p - rate * direction, {"momentum_buffer": b}
