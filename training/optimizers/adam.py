"""Adam and AdamW: steps by the gradient's mean over its running size."""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping

import numpy as np

import lazygraph as lg
from training.optimizers.base import Array, Optimizer, State, checked

Params = Iterable[lg.Var] | Mapping[str, lg.Var]
Decay = Callable[[str, lg.Var], bool] | Collection[str] | None


def _moments(var: lg.Var) -> dict[str, Array]:
    return {
        "exp_sum": np.zeros(var.shape, var.dtype.dtype),
        "exp_sum_sq": np.zeros(var.shape, var.dtype.dtype),
    }


def _betas(betas: tuple[float, float]) -> tuple[float, float]:
    b1, b2 = betas
    return checked("betas[0]", b1, below=1.0), checked("betas[1]", b2, below=1.0)


def adam_step(
    g: lg.Tensor, state: State, lr: lg.Tensor, betas: tuple[float, float], eps: float
) -> tuple[lg.Tensor, State]:
    """What to take from a parameter, and its new moments.

        t <- t + 1
        m <- b1 m + g                   v <- b2 v + g g
        a = (1 - b1) / (1 - b1^t)       r = sqrt((1 - b2^t) / (1 - b2))
        step = lr a r m / (sqrt(v) + eps r)

    The paper's means are a m and v / r^2, and its step is lr a m / (sqrt(v / r^2) + eps): the
    same, in fewer passes over memory. Numbers are computed in float64, the rest in the
    parameter's dtype.

    Source: Kingma & Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015, Algorithm 1.
    """
    b1, b2 = betas
    t = lg.astype(state["step"], lg.float64) + 1.0
    m = b1 * state["exp_sum"] + g
    v = b2 * state["exp_sum_sq"] + g * g
    root = lg.sqrt((1.0 - b2**t) / (1.0 - b2))
    rate = lg.astype(lr * root * (1.0 - b1) / (1.0 - b1**t), g.dtype)
    floor = lg.astype(eps * root, g.dtype)
    return rate * (m / (lg.sqrt(v) + floor)), {"exp_sum": m, "exp_sum_sq": v}


class Adam(Optimizer):
    """Adam; weight decay, if any, is added to the gradient (L2).

        g <- g + weight_decay p, then p <- p - step, with the step of `adam_step`.

    Args:
        params: the parameters; see `Optimizer`.
        lr: the learning rate.
        betas: memory of the mean and of the square, in [0, 1): about 1 / (1 - beta) steps.
        eps: floor under the divisor, in units of the gradient.
        weight_decay: the factor of the parameter that is added to its gradient.

    Raises:
        ValueError: a number outside its range.

    Source: Kingma & Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015, Algorithm 1
    (epsilon outside of the root, as written there).

    Example:
        >>> w = lg.Var("w", 1.0)
        >>> Adam([w], lr=0.1).backward_step(3.0 * w)
        >>> round(w.item(), 6)
        0.9
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        self.betas = _betas(betas)
        self.eps = checked("eps", eps)
        self.weight_decay = checked("weight_decay", weight_decay)
        super().__init__(params, lr)

    def hyperparameters(self) -> dict[str, Hashable]:
        """The numbers of the formula."""
        return {"betas": self.betas, "eps": self.eps, "weight_decay": self.weight_decay}

    def initial(self, var: lg.Var) -> dict[str, Array]:
        """Two moments of zeros."""
        return _moments(var)

    def rule(
        self, name: str, g: lg.Tensor, state: State, p: lg.Tensor, lr: lg.Tensor
    ) -> tuple[lg.Tensor, State]:
        """The formula above."""
        if self.weight_decay:
            g = g + self.weight_decay * p
        step, moments = adam_step(g, state, lr, self.betas, self.eps)
        return p - step, moments


class AdamW(Optimizer):
    """Adam with decoupled weight decay: the weight itself shrinks, whatever its gradient.

        p <- p (1 - lr weight_decay) - step, with the step of `adam_step`.

    Args:
        params: the parameters; see `Optimizer`.
        lr: the learning rate.
        betas: memory of the mean and of the square, in [0, 1): about 1 / (1 - beta) steps.
        eps: floor under the divisor, in units of the gradient.
        weight_decay: how fast weights shrink, in units of the rate.
        decay: which parameters shrink: a function of name and Var, or names; by default all.

    Raises:
        ValueError: a number outside its range, or a name in `decay` that no parameter has.

    Source: Loshchilov & Hutter, "Decoupled Weight Decay Regularization", ICLR 2019.

    Example:
        >>> w = lg.Var("w", 2.0)
        >>> AdamW([w], lr=0.1, weight_decay=0.5).backward_step(1.0 * w)
        >>> round(w.item(), 6)
        1.8
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
        decay: Decay = None,
    ) -> None:
        self.betas = _betas(betas)
        self.eps = checked("eps", eps)
        self.weight_decay = checked("weight_decay", weight_decay)
        super().__init__(params, lr)
        self.decayed = _decayed(self.params(), decay)

    def hyperparameters(self) -> dict[str, Hashable]:
        """The numbers of the formula, and whom the decay concerns."""
        return {
            "betas": self.betas,
            "eps": self.eps,
            "weight_decay": self.weight_decay,
            "decayed": self.decayed,
        }

    def initial(self, var: lg.Var) -> dict[str, Array]:
        """Two moments of zeros."""
        return _moments(var)

    def rule(
        self, name: str, g: lg.Tensor, state: State, p: lg.Tensor, lr: lg.Tensor
    ) -> tuple[lg.Tensor, State]:
        """The formula above."""
        step, moments = adam_step(g, state, lr, self.betas, self.eps)
        if self.weight_decay and name in self.decayed:
            p = p * lg.astype(1.0 - lr * self.weight_decay, p.dtype)
        return p - step, moments


def _decayed(params: list[lg.Var], decay: Decay) -> frozenset[str]:
    names = {var.name for var in params}
    if decay is None:
        return frozenset(names)
    if callable(decay):
        return frozenset(var.name for var in params if decay(var.name, var))
    unknown = sorted(set(decay) - names)
    if unknown:
        raise ValueError(f"decay must name parameters; got {unknown}")
    return frozenset(decay)
