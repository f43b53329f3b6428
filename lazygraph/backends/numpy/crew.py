"""Threads that take over shares of a program's work; NumPy lets them compute at once."""

import os
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue

import numpy as np

Work = Callable[[], None]


class _Worker:
    """A thread that does one piece of work after another."""

    def __init__(self) -> None:
        self._works: SimpleQueue[Work | None] = SimpleQueue()
        self._outcomes: SimpleQueue[BaseException | None] = SimpleQueue()
        threading.Thread(target=self._loop, name="lazygraph worker", daemon=True).start()

    def begin(self, work: Work) -> None:
        """Start the work; `outcome` must be asked for before the next."""
        self._works.put(work)

    def outcome(self) -> BaseException | None:
        """Wait for the end of the work: what it raised, or None."""
        return self._outcomes.get()

    def dismiss(self) -> None:
        """End the thread after what it is doing now."""
        self._works.put(None)

    def _loop(self) -> None:
        with np.errstate(all="ignore"):
            while self._is_done(self._works.get()):
                pass

    def _is_done(self, work: Work | None) -> bool:
        # A frame of its own: nothing of the work is kept while the thread waits for the next.
        if work is None:
            return False
        self._outcomes.put(_raised_by(work))
        return True


def _raised_by(work: Work) -> BaseException | None:
    try:
        work()
    except BaseException as error:  # noqa: BLE001 - raised again in the thread that asked
        return error
    return None


class Crew:
    """Workers that are hired when needed, and wait for the next work when they are done."""

    def __init__(self) -> None:
        self.disband()
        os.register_at_fork(after_in_child=self.disband)

    def disband(self) -> None:
        """Forget all workers: after a fork the child has none of the parent's threads."""
        self._idle: list[_Worker] = []

    def do(self, works: Sequence[Work]) -> None:
        """Do all works at once, the first of them in this thread.

        Raises:
            BaseException: what a work raised, or a signal in this thread; others may be under
                way then, on memory that must not be used again.
        """
        workers = [self._hire() for _ in works[1:]]
        waiting = list(workers)
        try:
            for worker, work in zip(workers, works[1:], strict=True):
                worker.begin(work)
            works[0]()
            outcomes = []
            while waiting:
                outcomes.append(waiting[-1].outcome())
                self._idle.append(waiting.pop())
        finally:
            for worker in waiting:
                worker.dismiss()
        raised = [outcome for outcome in outcomes if outcome is not None]
        if raised:
            raise raised.pop()

    def _hire(self) -> _Worker:
        try:
            return self._idle.pop()
        except IndexError:
            return _Worker()


crew = Crew()
