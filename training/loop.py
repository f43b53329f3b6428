"""The bookkeeping that every training script rewrites, around one realization a step."""

import logging
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import lazygraph as lg
from lazygraph.extend import Scan, describe, scan
from training.optimizers.base import Optimizer
from training.schedules import LrSchedule
from training.update import Array, Recipe, Sums, Update, gradients_at, leaves_of

POLICIES = ("raise", "skip", "ignore")
_logger = logging.getLogger("training.loop")


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """What a step did.

    Attributes:
        loss: the value of the loss; for the step that ends a window of micro-batches, their
            weighted mean.
        grad_norm: the global norm of the gradient before clipping; None unless `max_grad_norm`
            is set, or for a micro-batch that does not end its window.
        lr: the learning rate that this step applied.
        global_step: the number of applied steps, this one included.
        applied: whether parameters were updated.
        skipped: whether an update was dropped because it was not finite.
        clipped: whether the norm was reduced.
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


@dataclass(frozen=True, slots=True)
class _Window:
    """Micro-batches since the last update."""

    optimizer: Any = None
    batches: int = 0
    sums: Sums = field(default_factory=Sums)
    loss: float = 0.0  # the weighted sum
    poisoned: bool = False  # one of them was not finite and must be skipped


class TrainingLoop:
    """Backward, harvest, clip, schedule and update: one realization a step.

    In this order: the rate for the step is taken from the schedule; gradients of all parameters
    are found; their global norm is measured; they are clipped by norm, then by value; the
    optimizer updates; the step is counted. Nothing changes unless all of it does: candidates are
    computed beside the parameters and replace them, the optimizer's state, the rate and the
    counters in one indivisible commit.

    Args:
        max_grad_norm: bound of the gradient's global norm; `math.inf` measures without clipping.
        max_grad_value: bound of each element of the gradient, applied after the norm.
        scheduler: gives the learning rate of each step; None leaves the optimizer's.
        accumulate: how many micro-batches make one update.
        nonfinite: what to do about a loss or gradient that is NaN or infinite: "raise" an error
            and change nothing, "skip" the update, or "ignore" it and go on.
        log_interval: emit a record to the logger `training.loop` every so many applied steps.

    Raises:
        ValueError: an argument outside its range.

    Example:
        >>> import training
        >>> w = lg.Var("w", [3.0, 4.0])
        >>> loop = TrainingLoop(max_grad_norm=1.0)
        >>> outcome = loop.step(0.5 * lg.sum(w * w), training.SGD([w], lr=1.0))
        >>> outcome.grad_norm, outcome.clipped, [round(x, 4) for x in w.numpy().tolist()]
        (5.0, True, [2.4, 3.2])
    """

    def __init__(
        self,
        max_grad_norm: float | None = None,
        max_grad_value: float | None = None,
        scheduler: LrSchedule | None = None,
        accumulate: int = 1,
        nonfinite: str = "raise",
        log_interval: int | None = None,
    ) -> None:
        if nonfinite not in POLICIES:
            raise ValueError(f"nonfinite must be one of {POLICIES}; got {nonfinite!r}")
        self.nonfinite = nonfinite
        self._step: lg.Cell[int] = lg.Cell(0)
        self._window: lg.Cell[_Window] = lg.Cell(_Window())
        self._max_norm = _bound("max_grad_norm", max_grad_norm)
        self._max_value = _bound("max_grad_value", max_grad_value)
        self._scheduler = scheduler
        self._accumulate = _count("accumulate", accumulate)
        self._log_interval = (
            None if log_interval is None else _count("log_interval", log_interval)
        )

    # The fluent form of the arguments.

    def with_max_grad_norm(self, max_norm: float | None) -> "TrainingLoop":
        """Set `max_grad_norm` and return the loop."""
        self._max_norm = _bound("max_grad_norm", max_norm)
        return self

    def with_max_grad_value(self, limit: float | None) -> "TrainingLoop":
        """Set `max_grad_value` and return the loop."""
        self._max_value = _bound("max_grad_value", limit)
        return self

    def with_scheduler(self, scheduler: LrSchedule | None) -> "TrainingLoop":
        """Set `scheduler` and return the loop."""
        self._scheduler = scheduler
        return self

    def with_accumulation(self, batches: int) -> "TrainingLoop":
        """Set `accumulate` and return the loop."""
        if self._window.get().batches:
            raise ValueError("accumulate must not change inside a window; call flush first")
        self._accumulate = _count("accumulate", batches)
        return self

    def with_log_interval(self, steps: int | None) -> "TrainingLoop":
        """Set `log_interval` and return the loop."""
        self._log_interval = None if steps is None else _count("log_interval", steps)
        return self

    # Where the loop stands.

    @property
    def global_step(self) -> int:
        """The number of applied steps."""
        return self._step.get()

    def set_global_step(self, step: int) -> None:
        """Go on counting, and scheduling, from `step` applied steps.

        Raises:
            ValueError: negative.
        """
        if step < 0:
            raise ValueError(f"global_step must not be negative; got {step}")
        lg.replace_all([(self._step, int(step))])

    def state_dict(self) -> dict[str, Any]:
        """What is needed to go on: the number of applied steps.

        Raises:
            ValueError: in the middle of a window of micro-batches.
        """
        if self._window.get().batches:
            raise ValueError("a state can be taken between windows only; call flush first")
        return {"global_step": self.global_step}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a state that `state_dict` gave; a window that was begun is dropped."""
        step = int(state["global_step"])
        if step < 0:
            raise ValueError(f"global_step must not be negative; got {step}")
        lg.replace_all([(self._step, step), (self._window, _Window())])

    # Stepping.

    def step(
        self,
        loss: lg.Tensor,
        opt: Any,
        weight: float | lg.Tensor = 1.0,
        also: Sequence[lg.Tensor] = (),
    ) -> StepOutcome:
        """Update the parameters of `opt` against the gradient of `loss`.

        Args:
            loss: a floating tensor of one element, built from the present parameters.
            opt: an `Optimizer`, or anything with its `params`, `step`, `learning_rate` and
                `set_learning_rate`, which then costs a second realization.
            weight: how much this micro-batch counts in its window, such as its number of tokens:
                not negative; used only with accumulation.
            also: further tensors to compute and remember in the same realization.

        Returns:
            What was done.

        Raises:
            ShapeError: the loss does not hold one element.
            GradientError: the loss is not floating, reaches no parameter, or was built from an
                outdated version of one.
            NonFiniteError: under the policy "raise"; names the parameters, and nothing changed.
        """
        start = time.perf_counter()
        _check_loss(loss)
        window = self._window.get()
        if window.batches and window.optimizer is not opt:
            raise ValueError("a window must be ended with the optimizer that began it")
        remember = [loss, *also]
        if isinstance(weight, lg.Tensor):
            remember.append(weight)
        elif not 0.0 <= weight < math.inf:
            raise ValueError(f"weight must be a number in [0, inf); got {weight}")
        found = scan([t.node for t in remember], through_remembered=True)
        update = self._update(found, loss, opt, weight, remember)
        return self._settle(update, window, opt, float(loss), float(weight), start)

    def flush(self, opt: Any) -> StepOutcome | None:
        """Apply the window of micro-batches that was begun, however short.

        Args:
            opt: the optimizer that began it.

        Returns:
            What was done, or None if no window was begun.
        """
        start = time.perf_counter()
        window = self._window.get()
        if not window.batches:
            return None
        if window.optimizer is not opt:
            raise ValueError("a window must be ended with the optimizer that began it")
        update = None
        if not window.poisoned:
            recipe = self._recipe(applied=True)
            update = Update(
                _driven(opt),
                scan([]),
                dict,
                [],
                recipe,
                window.sums,
                weight=0.0,
                rate=self._rate(opt),
            )
        ended = replace(window, batches=self._accumulate - 1)
        return self._settle(update, ended, opt, 0.0, 0.0, start)

    def _update(
        self,
        found: Scan,
        loss: lg.Tensor,
        opt: Any,
        weight: float | lg.Tensor,
        remember: Sequence[lg.Tensor],
    ) -> Update:
        window = self._window.get()
        optimizer = _driven(opt)
        reached = leaves_of(optimizer, found)
        tensor = weight if isinstance(weight, lg.Tensor) else None
        ends = window.batches + 1 == self._accumulate
        return Update(
            optimizer,
            found,
            lambda: gradients_at(loss, found, reached),
            reached,
            self._recipe(applied=ends and not window.poisoned),
            window.sums,
            None if tensor is not None else weight,  # type: ignore[arg-type]
            tensor,
            remember,
            self._rate(opt),
        )

    def _recipe(self, applied: bool) -> Recipe:
        measured = self.nonfinite != "ignore" or self._max_norm is not None
        weighted = self._accumulate > 1
        if not applied:
            return Recipe(measured=measured, weighted=weighted, applied=False)
        return Recipe(self._max_norm, self._max_value, measured, weighted)

    def _rate(self, opt: Any) -> float:
        if self._scheduler is None:
            return float(opt.learning_rate)
        return float(self._scheduler.lr_at(self.global_step))

    def _settle(
        self,
        update: Update | None,
        window: _Window,
        opt: Any,
        loss: float,
        weight: float,
        start: float,
    ) -> StepOutcome:
        """Judge the candidates, then commit or drop them."""
        bad = [] if update is None else self._nonfinite(update, loss)
        if bad and self.nonfinite == "raise":
            raise lg.errors.NonFiniteError(
                f"loss and gradients must be finite; got {', '.join(bad)}"
            )
        window = replace(
            window,
            optimizer=opt,
            batches=window.batches + 1,
            loss=window.loss + weight * loss,
            sums=replace(window.sums, weight=window.sums.weight + weight),
            poisoned=window.poisoned or bool(bad),
        )
        ends = window.batches == self._accumulate
        applied = ends and not window.poisoned and update is not None
        outcome = self._outcome(update, window, loss, applied, ends, opt, start)
        changes: list[tuple[lg.Cell[Any], Any]] = []
        if applied and update is not None:
            changes = _applied(update, opt)
            changes += [(self._step, outcome.global_step), (self._window, _Window())]
        elif ends:
            changes = [(self._window, _Window())]
        else:
            changes = [(self._window, _summed(window, update))]
        lg.replace_all(changes)
        self._log(outcome)
        return outcome

    def _nonfinite(self, update: Update, loss: float) -> list[str]:
        if self.nonfinite == "ignore":
            return []
        bad = [] if math.isfinite(loss) else [f"a loss of {loss}"]
        norms = update.values.get(("norms",))
        if norms is not None:
            names = update.optimizer.names
            for i, size in zip(update.updated, norms.tolist(), strict=True):
                if not math.isfinite(size):
                    bad.append(f"a gradient of {names[i]} with the norm {size}")
        return bad

    def _outcome(
        self,
        update: Update | None,
        window: _Window,
        loss: float,
        applied: bool,
        ends: bool,
        opt: Any,
        start: float,
    ) -> StepOutcome:
        total = None
        if applied and self._max_norm is not None and update is not None:
            total = float(update.values["norm",])
        if ends and self._accumulate > 1 and window.sums.weight:
            loss = window.loss / window.sums.weight
        reached = set(window.sums.arrays) | set(update.updated if update is not None else ())
        names = _driven(opt).names
        return StepOutcome(
            loss=loss,
            grad_norm=total,
            lr=self._rate(opt) if update is None else update.rate,
            global_step=self.global_step + applied,
            applied=applied,
            skipped=ends and not applied,
            clipped=total is not None and self._max_norm is not None and total > self._max_norm,
            missing=tuple(name for i, name in enumerate(names) if i not in reached),
            seconds=time.perf_counter() - start,
        )

    def _log(self, outcome: StepOutcome) -> None:
        if self._log_interval is None or not outcome.applied:
            return
        if outcome.global_step % self._log_interval == 0:
            fields = {
                "step": outcome.global_step,
                "loss": outcome.loss,
                "lr": outcome.lr,
                "grad_norm": outcome.grad_norm,
            }
            text = "step %(step)s loss %(loss)s lr %(lr)s grad_norm %(grad_norm)s"
            _logger.info(text, fields, extra=fields)


class _GradientsOnly(Optimizer):
    """Drives an optimizer that has `step` alone: its new parameters are the gradients."""

    def __init__(self, optimizer: Any) -> None:
        super().__init__(optimizer.params(), optimizer.learning_rate)

    def hyperparameters(self) -> dict[str, Any]:
        return {}

    def initial(self, var: lg.Var) -> dict[str, Array]:
        return {}

    def rule(
        self, name: str, g: lg.Tensor, state: Any, p: lg.Tensor, lr: lg.Tensor
    ) -> tuple[lg.Tensor, dict[str, lg.Tensor]]:
        return g, {}


def _driven(opt: Any) -> Optimizer:
    return opt if isinstance(opt, Optimizer) else _GradientsOnly(opt)


def _applied(update: Update, opt: Any) -> list[tuple[lg.Cell[Any], Any]]:
    """The changes of an update; an optimizer that knows only `step` makes its own."""
    if isinstance(opt, Optimizer):
        return update.changes()
    opt.set_learning_rate(update.rate)
    names = update.optimizer.names
    opt.step(
        {names[i]: lg.asarray(update.values["param", i], copy=False) for i in update.updated}
    )
    return []


def _summed(window: _Window, update: Update | None) -> _Window:
    if update is None or window.poisoned:
        return window
    arrays = dict(window.sums.arrays)
    arrays.update({i: update.values["sum", i] for i in update.updated})
    return replace(window, sums=replace(window.sums, arrays=arrays))


def _check_loss(loss: lg.Tensor) -> None:
    error: Exception | None = None
    if not isinstance(loss, lg.Tensor):
        raise TypeError(f"a loss must be a Tensor; got {loss!r}")
    if loss.size != 1:
        error = lg.errors.ShapeError(f"a loss must hold one element; got {loss.node.spec}")
    elif not loss.dtype.is_floating:
        error = lg.errors.GradientError(f"a loss must be floating; got {loss.node.spec}")
    if error is not None:
        error.add_note(f"  {loss.node.spec} built at {describe(loss.node.source)}")
        raise error


def _bound(name: str, value: float | None) -> float | None:
    if value is not None and not value >= 0.0:
        raise ValueError(f"{name} must not be negative; got {value}")
    return None if value is None else float(value)


def _count(name: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} must be a positive integer; got {value!r}")
    return value
