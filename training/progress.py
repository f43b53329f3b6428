"""What a person sees while a run goes on: a bar on a terminal, plain lines elsewhere."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, TextIO

from training.extras import needs


@dataclass(frozen=True)
class Report:
    """Where a run stands after a step.

    Args:
        step: how many steps are done.
        total_steps: how many there will be.
        loss: the loss of the last one.
        lr: the learning rate that it used.
        tokens_per_second: the current pace, None while unknown.
        seconds_left: the time until the end at this pace, None while unknown.

    Example:
        >>> print(Report(50, 100, 2.5, 1e-3, 48_000.0, 75.0))
        step  50/100  loss 2.5000  lr 1.0e-03  48,000 tokens/s  1:15 left
    """

    step: int
    total_steps: int
    loss: float
    lr: float
    tokens_per_second: float | None = None
    seconds_left: float | None = None

    def __str__(self) -> str:
        width = len(str(self.total_steps))
        return f"step {self.step:>{width}}/{self.total_steps}  {self.figures()}"

    def figures(self) -> str:
        """All but the step, on one line."""
        parts = [f"loss {self.loss:.4f}", f"lr {self.lr:.1e}"]
        if self.tokens_per_second is not None:
            parts.append(f"{self.tokens_per_second:,.0f} tokens/s")
        if self.seconds_left is not None:
            parts.append(f"{duration(self.seconds_left)} left")
        return "  ".join(parts)


class Progress(Protocol):
    """A place that shows how a run goes."""

    def update(self, report: Report) -> None:
        """Show where the run stands."""
        ...

    def say(self, text: str) -> None:
        """Show some text for good."""
        ...


class PlainProgress:
    """Lines of text: the first step, the last, and one every few seconds between.

    Args:
        stream: where to write; each line is flushed.
        every_seconds: the least time between two lines.
        clock: a function that gives seconds, and never runs backwards.

    Example:
        >>> progress = PlainProgress(sys.stdout)
        >>> progress.update(Report(1, 2, loss=4.5, lr=0.1))
        step 1/2  loss 4.5000  lr 1.0e-01
    """

    def __init__(
        self,
        stream: TextIO,
        every_seconds: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream, self._every, self._clock = stream, every_seconds, clock
        self._due = clock()

    def update(self, report: Report) -> None:
        """Show where the run stands, unless the last line is too recent."""
        now = self._clock()
        if now >= self._due or report.step == report.total_steps:
            self._due = now + self._every
            self.say(str(report))

    def say(self, text: str) -> None:
        """Show some text for good."""
        print(text, file=self._stream, flush=True)


class TerminalProgress:
    """A bar that stays at the foot of the terminal while text scrolls above it.

    Args:
        stream: the terminal.

    Raises:
        MissingExtraError: if rich is not installed.
    """

    def __init__(self, stream: TextIO) -> None:
        with needs("rich"):
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
            from rich.progress import Progress as Bar
        columns = BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}")
        self._bar = Bar(*columns, console=Console(file=stream), refresh_per_second=5)
        self._task = self._bar.add_task("starting", total=None)

    def __enter__(self) -> "TerminalProgress":
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def update(self, report: Report) -> None:
        """Show where the run stands."""
        self._bar.update(
            self._task,
            total=report.total_steps,
            completed=report.step,
            description=report.figures(),
        )

    def say(self, text: str) -> None:
        """Show some text for good, above the bar."""
        # Samples of text may look like markup or like links: they are shown as they are.
        self._bar.console.print(text, markup=False, highlight=False, emoji=False)


@contextlib.contextmanager
def progress(stream: TextIO | None = None) -> Iterator[Progress]:
    """The way of showing progress that suits a stream: a bar for people, lines for files.

    Args:
        stream: where to write; None is the standard output.

    Returns:
        A context manager around a `Progress`; at its end the bar is left as it stands.

    Raises:
        MissingExtraError: if the stream is a terminal and rich is not installed.

    Example:
        >>> with progress() as shown:
        ...     shown.say("ready")
        ready
    """
    stream = sys.stdout if stream is None else stream
    if stream.isatty():
        with TerminalProgress(stream) as bar:
            yield bar
    else:
        yield PlainProgress(stream)


def duration(seconds: float) -> str:
    """A length of time as people write it.

    Args:
        seconds: at least 0; fractions are rounded up.

    Returns:
        Minutes and seconds, with hours if there are any.

    Example:
        >>> duration(59.2), duration(3723.0)
        ('1:00', '1:02:03')
    """
    minutes, rest = divmod(-int(-seconds // 1), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
