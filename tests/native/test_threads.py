"""The threads of a run all take part, meet at barriers, and are gone when they should be."""

import errno
import os
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from lazygraph.backends.native import threads, waiting
from lazygraph.backends.native.barrier import BARRIER_NAME
from lazygraph.backends.native.threads import Runtime, Team, runtime
from lazygraph.backends.native.waiting import Sleep, condition, sleep_here
from lazygraph.errors import BackendError
from tests.native.processes import run as run_process
from tests.native.programs import LINE, Program, address, count_visits, meetings

COUNTS = (1, 2, 3, 4)
Context = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


def program_of_meetings(rounds: int, of: Runtime | None = None) -> Program:
    return Program(meetings(rounds), {BARRIER_NAME: (of or runtime()).barrier})


def room(count: int) -> Context:
    """The context of `meetings`."""
    return np.zeros((count, LINE), np.int64)


@pytest.mark.parametrize("count", [*COUNTS, 9])
def test_each_thread_takes_part_once_a_run(count: int) -> None:
    program, visits = Program(count_visits, {}), np.zeros(count + 1, np.int64)
    for _ in range(50):
        threads.run(program.address, address(visits), count)
    assert visits.tolist() == [50] * count + [count]


@pytest.mark.parametrize("count", [*COUNTS, 9])
def test_behind_a_barrier_all_see_what_was_written_before_it(count: int) -> None:
    program, context = program_of_meetings(300), room(count)
    threads.run(program.address, address(context), count)
    assert context[:, 0].tolist() == [299] * count
    assert context[:, 1].tolist() == [0] * count


@pytest.mark.parametrize("looks", [1, 2_000], ids=["at once", "late"])
@pytest.mark.parametrize("sleep", [sleep_here(), condition()], ids=["here", "by condition"])
def test_threads_meet_however_they_sleep(
    sleep: Sleep, looks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "LOOKS", looks)
    own = Runtime(sleep)
    program = program_of_meetings(50, own)
    for count in COUNTS:
        team, context = Team(count, own), room(count)
        for _ in range(3):
            team.run(program.address, address(context))
        team.close()
        assert context[:, 1].tolist() == [0] * count


def test_threads_of_python_can_run_programs_at_once() -> None:
    program = program_of_meetings(20)
    contexts = [room(2 + i % 3) for i in range(8)]

    def work(context: Context) -> None:
        for _ in range(10):
            threads.run(program.address, address(context), len(context))

    workers = [threading.Thread(target=work, args=(context,)) for context in contexts]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert all(context[:, 0].tolist() == [19] * len(context) for context in contexts)
    assert all(not context[:, 1].any() for context in contexts)


def count_tasks() -> int:
    return len(os.listdir("/proc/self/task"))


def assert_tasks(count: int) -> None:
    """The process has so many threads, as soon as the system has buried those that ended."""
    for _ in range(10_000):
        if count_tasks() == count:
            break
        time.sleep(0.001)
    assert count_tasks() == count


def test_a_closed_team_leaves_no_thread_behind() -> None:
    before = count_tasks()
    team = Team(4, runtime())
    assert_tasks(before + 3)
    team.close()
    team.close()
    assert_tasks(before)
    dropped = Team(3, runtime())
    assert_tasks(before + 2)
    del dropped
    assert_tasks(before)


def test_workers_are_kept_for_the_next_run() -> None:
    program, context = program_of_meetings(1), room(3)
    threads.run(program.address, address(context), 3)
    before = count_tasks()
    for _ in range(10):
        threads.run(program.address, address(context), 3)
    assert_tasks(before)


def test_a_system_that_refuses_threads_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    before, started, own = count_tasks(), [], Runtime(sleep_here())
    system = own.system

    def create(*arguments: object) -> int:
        started.append(1)
        return int(system.pthread_create(*arguments)) if len(started) < 3 else errno.EAGAIN

    names = ("pthread_join", "pthread_mutex_init", "pthread_cond_init")
    functions = {name: getattr(system, name) for name in names}
    monkeypatch.setattr(own, "system", SimpleNamespace(pthread_create=create, **functions))
    with pytest.raises(BackendError, match="the system must allow 5 threads; got 3, then"):
        Team(5, own)
    assert_tasks(before)


PREPARE = """
import os, signal, subprocess, sys, threading, time, warnings
from lazygraph.backends.native import threads
from tests.native.test_threads import address, program_of_meetings, room

program = program_of_meetings(200)

def meet(count):
    context = room(count)
    threads.run(program.address, address(context), count)
    assert context[:, 0].tolist() == [199] * count
    assert not context[:, 1].any()
"""


BUSY = """
busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
try:
    for count in (1, 2, 3, 4):
        meet(count)
finally:
    for process in busy:
        process.kill()
        process.wait()
print("done")
"""


def test_busy_neighbours_do_not_stop_a_run() -> None:
    # One process for each core, each of which wants all of it.
    assert run_process(PREPARE + BUSY) == "done\n"


FORKED = """
warnings.simplefilter("ignore")  # newer Pythons warn of a fork with threads
meet(2), meet(3)
child = os.fork()
meet(2), meet(3), meet(4)
if child == 0:
    grandchild = os.fork()
    meet(2)
    if grandchild:
        os._exit(os.waitpid(grandchild, 0)[1] != 0)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
meet(2)
print("done")
"""


def test_after_a_fork_parent_and_child_go_on() -> None:
    assert run_process(PREPARE + FORKED) == "done\n"


def test_the_interpreter_ends_with_workers_asleep() -> None:
    assert run_process(PREPARE + "meet(4), meet(2); print('done')") == "done\n"


ENDLESS = """
def forever():
    while True:
        meet(2)

threading.Thread(target=forever, daemon=True).start()
meet(3)
print("done")
"""


def test_the_interpreter_ends_while_a_thread_of_python_runs_programs() -> None:
    assert run_process(PREPARE + ENDLESS) == "done\n"


# The program ends when a thread of Python says so, which interrupts before it does.
INTERRUPTED = """
import os, signal, threading
from llvmlite import ir
from lazygraph.backends.native import threads
from lazygraph.backends.native.waiting import I32, at, look
from tests.native.programs import Program, word
from tests.native.test_threads import address, program_of_meetings, room

def body(b, context, crew):
    b.atomic_rmw("add", at(b, context, 0), I32(1), "seq_cst")
    waiting = b.append_basic_block("waiting")
    b.branch(waiting)
    b.position_at_end(waiting)
    end = b.append_basic_block("end")
    b.cbranch(b.icmp_signed("==", look(b, at(b, context, 64)), I32(0)), waiting, end)
    b.position_at_end(end)

program, context = Program(body, {}), room(2)
started, released = word(address(context), 0), word(address(context), 8)

def interrupt():
    while started.value < 2:
        pass
    os.kill(os.getpid(), signal.SIGINT)
    released.value = 1

threading.Thread(target=interrupt).start()
try:
    threads.run(program.address, address(context), 2)
    print("not interrupted")
except KeyboardInterrupt:
    print("interrupted")
meetings, context = program_of_meetings(100), room(3)
for _ in range(3):
    threads.run(meetings.address, address(context), 3)
    threads.run(meetings.address, address(context), 2)
print(context[:, 1].tolist())
"""


def test_an_interrupt_inside_a_run_leaves_a_usable_process() -> None:
    assert run_process(INTERRUPTED) == "interrupted\n[0, 0, 0]\n"


def test_signals_are_for_threads_of_python() -> None:
    # What a worker blocks is in a line such as "SigBlk: fffffffe3bbafa07" of the system's.
    # A worker that is at work has left the preparations of the system behind.
    team, program, visits = Team(2, runtime()), Program(count_visits, {}), np.zeros(3, np.int64)
    team.run(program.address, address(visits))
    tasks = sorted(os.listdir("/proc/self/task"), key=int)
    with open(f"/proc/self/task/{tasks[-1]}/status") as status:
        lines = dict(line.split(":", 1) for line in status)
    blocked = int(lines["SigBlk"], 16)
    team.close()
    interrupt, fault = 2, 11
    assert blocked >> (interrupt - 1) & 1
    assert not blocked >> (fault - 1) & 1
