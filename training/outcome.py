"""What a step did, for people and logs."""

import logging
from dataclasses import dataclass

_logger = logging.getLogger("training.loop")


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """What a step did.

    Attributes:
        loss: the value of the loss; for the step that ends a window of micro-batches, their
            weighted mean.
        grad_norm: the global norm of the gradient before clipping. None unless `max_grad_norm`
            is set, and for a micro-batch that does not end its window, or ends one that an
            earlier one spoiled.
        lr: the learning rate that this step applied.
        global_step: the number of applied steps, this one included.
        applied: whether parameters were updated.
        skipped: whether an update was dropped because it was not finite.
        clipped: whether the norm was above `max_grad_norm`.
        missing: the names of parameters that the loss did not reach, in the whole window.
        seconds: how long the step took.
    """

    loss: float
    grad_norm: float | None
    lr: float
    global_step: int
    applied: bool
    skipped: bool
    clipped: bool
    missing: tuple[str, ...]
    seconds: float

    def log(self) -> None:
        """Emit a record to the logger `training.loop`."""
        fields = {
            "step": self.global_step,
            "loss": self.loss,
            "lr": self.lr,
            "grad_norm": self.grad_norm,
        }
        text = "step %(step)s loss %(loss)s lr %(lr)s grad_norm %(grad_norm)s"
        _logger.info(text, fields, extra=fields)
