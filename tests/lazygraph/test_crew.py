"""Threads that share a run: all that was asked is done, whatever one of them comes to."""

import os
import threading
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

import lazygraph as lg
from lazygraph.backends import pool
from lazygraph.backends.numpy import crew as crews
from lazygraph.backends.numpy import rows
from lazygraph.backends.numpy.crew import Crew
from tests.lazygraph.exactness import bits


def _meet(meeting: threading.Barrier) -> None:
    meeting.wait(20)


def _wait(event: threading.Event) -> None:
    event.wait(20)


def test_works_are_done_at_once() -> None:
    meeting = threading.Barrier(3)
    Crew().do([partial(_meet, meeting)] * 3)
    assert not meeting.broken


def test_workers_that_are_done_do_the_next_work() -> None:
    crew, seen = Crew(), set[int]()
    for _ in range(5):
        crew.do([lambda: None, lambda: seen.add(threading.get_ident())])
    assert len(seen) == 1


@pytest.mark.parametrize("failing", [0, 1])
def test_what_a_work_raises_is_raised_here(failing: int) -> None:
    def fail() -> None:
        raise ZeroDivisionError("on purpose")

    crew = Crew()
    works: list[Callable[[], None]] = [lambda: None, lambda: None]
    works[failing] = fail
    with pytest.raises(ZeroDivisionError, match="on purpose"):
        crew.do(works)
    done: list[int] = []
    crew.do([lambda: done.append(0), lambda: done.append(1)])
    assert sorted(done) == [0, 1]


def test_an_interrupt_leaves_no_worker_with_an_answer_that_nobody_took() -> None:
    crew, answers = Crew(), list[int]()
    free = threading.Event()

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        crew.do([interrupt, partial(_wait, free)])
    crew.do([lambda: None, lambda: answers.append(1)])
    assert answers == [1]
    free.set()


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> lg.Tensor:
    """A tensor whose rows two threads share."""
    monkeypatch.setattr(rows, "SHARED_BYTES", 1)
    monkeypatch.setattr(rows, "BLOCK_BYTES", 1 << 10)
    x = np.random.default_rng(0).standard_normal((64, 32)).astype(np.float32)
    return lg.asarray(x)


def test_after_a_failed_run_its_memory_is_not_used_again(
    shared: lg.Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(works: object) -> None:
        raise KeyboardInterrupt

    with lg.using(threads=2):
        free = len(pool.arenas._free)
        y = lg.sum(lg.sin(lg.exp(shared)), axis=1)
        with monkeypatch.context() as patch:
            patch.setattr(crews.crew, "do", interrupted)
            with pytest.raises(KeyboardInterrupt):
                y.realize()
        assert len(pool.arenas._free) <= free
        assert np.all(np.isfinite(y.numpy()))


def test_a_child_process_has_workers_of_its_own(shared: lg.Tensor) -> None:
    with lg.using(threads=2):
        before = bits(lg.sin(lg.exp(shared)))
        child = os.fork()
        if not child:
            same = bits(lg.sin(lg.exp(shared + 0.0))) == before
            os._exit(0 if same else 1)
        assert os.waitpid(child, 0)[1] == 0
