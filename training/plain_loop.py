"""The plain loop: batch, loss, step, again."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import lazygraph as lg
from training.loop import TrainingLoop
from training.module import Module
from training.schedules import LrSchedule

Rate = Callable[[int], float]


@dataclass(frozen=True, slots=True)
class _FunctionSchedule:
    """A schedule that asks a function."""

    rate: Rate

    def lr_at(self, step: int) -> float:
        return self.rate(step)


def train(
    model: Callable[[Any, Any], tuple[Any, lg.Tensor]],
    optimizer: Any,
    get_batch: Callable[[int], tuple[Any, Any]],
    n_steps: int,
    grad_clip: float | None = None,
    lr_schedule: Rate | LrSchedule | None = None,
    log_every: int = 0,
) -> list[float]:
    """Take a number of steps, each on a batch of its own.

    Args:
        model: gives logits and loss, `model(x, y)`; a module's buffers are updated.
        optimizer: what moves the model's parameters; see `TrainingLoop.step`.
        get_batch: gives inputs and targets of step `n`, counted from 0: `x, y = get_batch(n)`.
        n_steps: how many steps, not negative.
        grad_clip: bound of the gradient's global norm, or None.
        lr_schedule: gives the learning rate of step `n`, as a function or an `LrSchedule`;
            None leaves the optimizer's.
        log_every: print the loss every so many steps, and at the last; 0 prints nothing.

    Returns:
        The loss of each step, from before its update.

    Raises:
        ValueError: `n_steps` or `log_every` is negative.
        NonFiniteError: a loss or a gradient is NaN or infinite; that step changed nothing.

    Example:
        >>> import training
        >>> w = lg.Var("w", 1.0)
        >>> optimizer = training.SGD([w], lr=0.25)
        >>> training.train(lambda x, y: (w, (w - y) ** 2), optimizer, lambda n: (None, 0.0), 3)
        [1.0, 0.25, 0.0625]
    """
    for name, number in (("n_steps", n_steps), ("log_every", log_every)):
        if number < 0:
            raise ValueError(f"{name} must not be negative; got {number}")
    loop = TrainingLoop(max_grad_norm=grad_clip, scheduler=_schedule(lr_schedule))
    losses = []
    for step in range(n_steps):
        x, y = get_batch(step)
        _, loss = model(x, y)
        assign = model.updates() if isinstance(model, Module) else []
        losses.append(loop.step(loss, optimizer, assign=assign).loss)
        done = step + 1
        if log_every and (done % log_every == 0 or done == n_steps):
            print(f"step {done}: loss {losses[-1]:.4f}")
    return losses


def _schedule(given: Any) -> LrSchedule | None:
    if given is None or hasattr(given, "lr_at"):
        return given  # type: ignore[no-any-return]
    return _FunctionSchedule(given)
