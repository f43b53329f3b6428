"""The bookkeeping that every training script rewrites, around one realization a step."""

import time
from collections.abc import Sequence
from typing import Any

import lazygraph as lg
from lazygraph.extend import scan
from training.checks import Assignment, assigned, bound, check_loss, check_weight, count
from training.foreign import changes_of, driven
from training.optimizers.base import checked
from training.outcome import StepOutcome
from training.recipe import Recipe
from training.schedules import LrSchedule
from training.update import Update, gradients_at, leaves_of
from training.window import Window

POLICIES = ("raise", "skip", "ignore")


class TrainingLoop:
    """Backward, harvest, clip, schedule and update: one realization a step.

    In this order: the rate for the step is taken from the schedule; gradients of all parameters
    are found; their global norm is measured; they are clipped by norm, then by value; the
    optimizer updates; the step is counted. Nothing changes unless all of it does: candidates
    are computed beside the parameters and replace them, the optimizer's state, the rate and the
    counters in one indivisible commit.

    Args:
        max_grad_norm: bound of the gradient's global norm; `math.inf` measures without
            clipping.
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
        self._window: lg.Cell[Window] = lg.Cell(Window())
        self._max_norm = bound("max_grad_norm", max_grad_norm)
        self._max_value = bound("max_grad_value", max_grad_value)
        self._scheduler = scheduler
        self._accumulate = count("accumulate", accumulate)
        self._log_interval = (
            None if log_interval is None else count("log_interval", log_interval)
        )

    # The fluent form of the arguments.

    def with_max_grad_norm(self, max_norm: float | None) -> "TrainingLoop":
        """Set `max_grad_norm` and return the loop."""
        self._max_norm = bound("max_grad_norm", max_norm)
        return self

    def with_max_grad_value(self, limit: float | None) -> "TrainingLoop":
        """Set `max_grad_value` and return the loop."""
        self._max_value = bound("max_grad_value", limit)
        return self

    def with_scheduler(self, scheduler: LrSchedule | None) -> "TrainingLoop":
        """Set `scheduler` and return the loop."""
        self._scheduler = scheduler
        return self

    def with_accumulation(self, batches: int) -> "TrainingLoop":
        """Set `accumulate` and return the loop."""
        if self._window.get().batches:
            raise ValueError("accumulate must not change inside a window; call flush first")
        self._accumulate = count("accumulate", batches)
        return self

    def with_log_interval(self, steps: int | None) -> "TrainingLoop":
        """Set `log_interval` and return the loop."""
        self._log_interval = None if steps is None else count("log_interval", steps)
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
        lg.replace_all([(self._step, step), (self._window, Window())])

    # Stepping.

    def step(
        self,
        loss: lg.Tensor,
        opt: Any,
        weight: float | lg.Tensor = 1.0,
        also: Sequence[lg.Tensor] = (),
        assign: Sequence[Assignment] = (),
    ) -> StepOutcome:
        """Update the parameters of `opt` against the gradient of `loss`.

        Args:
            loss: a floating tensor of one element, built from the present parameters.
            opt: an `Optimizer`, or anything with its `params`, `step`, `learning_rate` and
                `set_learning_rate`, which then costs a second realization.
            weight: how much this micro-batch counts in its window, such as its number of
                tokens: not negative; used only with accumulation.
            also: further tensors to compute and remember in the same realization.
            assign: pairs of a Var and its next value, such as `model.updates()`: computed in
                the same realization, and taken over with the step unless it was not finite.

        Returns:
            What was done.

        Raises:
            ShapeError: the loss does not hold one element.
            GradientError: the loss is not floating, reaches no parameter, or was built from an
                outdated version of one.
            NonFiniteError: under the policy "raise"; names the parameters, and nothing changed.
        """
        start = time.perf_counter()
        check_loss(loss)
        window = self._window.get()
        window.check(opt)
        remember = [loss, *also, *assigned(assign, opt)]
        if isinstance(weight, lg.Tensor):
            remember.append(weight)
        else:
            check_weight(weight)
        found = scan([t.node for t in remember], through_remembered=True)
        optimizer = driven(opt)
        reached = leaves_of(optimizer, found, loss)
        ends = window.batches + 1 == self._accumulate
        update = Update(
            optimizer,
            found,
            lambda: gradients_at(loss, found, reached),
            reached,
            self._recipe(applied=ends and not window.poisoned),
            window.sums,
            weight,
            remember,
            self._rate(opt),
        )
        check_weight(float(weight))
        return self._settle(update, opt, float(loss), float(weight), start, assign=assign)

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
        window.check(opt)
        rate = self._rate(opt)
        update = None
        if not window.poisoned:
            recipe = self._recipe(applied=True)
            update = Update(
                driven(opt), scan([]), dict, [], recipe, window.sums, weight=0.0, rate=rate
            )
        return self._settle(update, opt, 0.0, 0.0, start, ends=True)

    def _recipe(self, applied: bool) -> Recipe:
        measured = self.nonfinite != "ignore" or self._max_norm is not None
        weighted = self._accumulate > 1
        if not applied:
            return Recipe(measured=measured, weighted=weighted, applied=False)
        return Recipe(self._max_norm, self._max_value, measured, weighted)

    def _rate(self, opt: Any) -> float:
        if self._scheduler is None:
            return float(opt.learning_rate)
        step = self.global_step
        return checked(f"lr_at({step})", self._scheduler.lr_at(step))

    def _settle(
        self,
        update: Update | None,
        opt: Any,
        loss: float,
        weight: float,
        start: float,
        ends: bool = False,
        assign: Sequence[Assignment] = (),
    ) -> StepOutcome:
        """Judge the candidates, then commit or drop them."""
        bad = []
        if update is not None and self.nonfinite != "ignore":
            bad = update.nonfinite(loss)
        if bad and self.nonfinite == "raise":
            raise lg.errors.NonFiniteError(
                f"loss and gradients must be finite; got {', '.join(bad)}"
            )
        window = self._window.get().joined(opt, update, loss, weight, bool(bad))
        ends = ends or window.batches == self._accumulate
        outcome = self._outcome(update, window, loss, ends, opt, start)
        applied = outcome.applied
        changes: list[tuple[lg.Cell[Any], Any]] = []
        if not bad:
            changes += [(var.cell, var.successor(var.accepted(x))) for var, x in assign]
        if update is not None and applied:
            changes += changes_of(update, opt)
            changes.append((self._step, outcome.global_step))
        if update is not None and not ends:
            window = window.summed(update)
        changes.append((self._window, Window() if ends else window))
        lg.replace_all(changes)
        if applied and self._log_interval and outcome.global_step % self._log_interval == 0:
            outcome.log()
        return outcome

    def _outcome(
        self,
        update: Update | None,
        window: Window,
        loss: float,
        ends: bool,
        opt: Any,
        start: float,
    ) -> StepOutcome:
        applied = ends and not window.poisoned
        limit = self._max_norm
        total = None if update is None or limit is None else update.norm
        if ends and self._accumulate > 1 and window.sums.weight:
            loss = window.mean_loss()
        return StepOutcome(
            loss=loss,
            grad_norm=total,
            lr=self._rate(opt) if update is None else update.rate,
            global_step=self.global_step + applied,
            applied=applied,
            skipped=ends and not applied,
            clipped=applied and total is not None and limit is not None and total > limit,
            missing=tuple(
                name for i, name in enumerate(driven(opt).names) if i not in window.reached
            ),
            seconds=time.perf_counter() - start,
        )
