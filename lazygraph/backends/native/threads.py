"""Threads that run programs of machine code, out of reach of Python and its lock.

A team is one thread that calls and the workers that help it. A worker is a thread of the
system's whose whole life is machine code: it waits, takes part in a run, and waits again. Each
run has a team to itself, as large as was asked for, so that bits depend on that number alone;
several Python threads may run programs at once.
"""

import atexit
import ctypes
import os
import signal
from functools import cache

from lazygraph.backends.native.barrier import (
    BARRIER_NAME,
    runtime_module,
    team_bytes,
)
from lazygraph.backends.native.building import build, unit
from lazygraph.backends.native.loading import Library
from lazygraph.backends.native.waiting import CONDITION, MUTEX, Sleep, sleep_here
from lazygraph.errors import BackendError

_ALIGNMENT = 128
_MOST_IDLE = 8  # teams of one size that are kept for the next run
_EXPORTS = (BARRIER_NAME, "start", "run", "worker")
_RUN = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
# What the system sends to the thread at fault; all other signals are Python's business.
_FAULTS = {
    getattr(signal, name)
    for name in ("SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT", "SIGTRAP")
    if hasattr(signal, name)
}


class Runtime:
    """The functions that teams are made of, and those of the system that start threads."""

    def __init__(self, sleep: Sleep) -> None:
        self.system = ctypes.CDLL(None)
        imports = {name: _address(self.system, name) for name in sleep.imports}
        code = build([unit(runtime_module(sleep), effort=0)])[0]
        self._library = Library(code, _EXPORTS, imports)
        addresses = self._library.addresses
        self.barrier = addresses[BARRIER_NAME]
        self.start = _RUN(addresses["start"])
        self.run = _RUN(addresses["run"])
        self.worker = ctypes.c_void_p(addresses["worker"])
        self.system.pthread_create.argtypes = (ctypes.c_void_p,) * 4
        for name in ("pthread_join", "pthread_mutex_init", "pthread_cond_init"):
            getattr(self.system, name).argtypes = (ctypes.c_void_p,) * 2


@cache
def runtime() -> Runtime:
    """That of this system."""
    return Runtime(sleep_here())


def _address(library: ctypes.CDLL, name: str) -> int:
    address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    assert address is not None
    return address


class Team:
    """The calling thread and its workers."""

    def __init__(self, threads: int, runtime: Runtime) -> None:
        self._workers: list[ctypes.c_void_p] = []
        self.process = os.getpid()
        self.threads = threads
        self._runtime = runtime
        whole = ctypes.create_string_buffer(team_bytes(threads) + _ALIGNMENT)
        self._whole = whole
        self.memory = ctypes.addressof(whole) + -ctypes.addressof(whole) % _ALIGNMENT
        self._runtime.system.pthread_mutex_init(self.memory + MUTEX, None)
        self._runtime.system.pthread_cond_init(self.memory + CONDITION, None)
        self._seats = ((ctypes.c_int64 * 2) * threads)()
        # Workers inherit the mask; a signal is for a thread that can run Python's handler.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals() - _FAULTS)
        try:
            for thread in range(1, threads):
                self._hire(thread)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _hire(self, thread: int) -> None:
        seat = self._seats[thread]
        seat[0], seat[1] = self.memory, thread
        worker = ctypes.c_void_p()
        refusal = self._runtime.system.pthread_create(
            ctypes.byref(worker), None, self._runtime.worker, ctypes.addressof(seat)
        )
        if refusal:
            raise BackendError(
                f"the system must allow {self.threads} threads; got {thread}, then "
                f"{os.strerror(refusal)!r}"
            )
        self._workers.append(worker)

    def run(self, program: int, context: int) -> None:
        """Run a program on all threads; see `threads.run`."""
        self._runtime.run(self.memory, program, context, self.threads)

    def close(self) -> None:
        """End the workers. Not to be called while they run."""
        workers, self._workers = self._workers, []
        if workers and self.process == os.getpid():
            self._runtime.start(self.memory, None, None, self.threads)
            for worker in workers:
                self._runtime.system.pthread_join(worker, None)

    def __del__(self) -> None:
        self.close()


# Teams that nobody uses now, by their number of threads.
_idle: dict[int, list[Team]] = {}


def run(program: int, context: int, threads: int) -> None:
    """Run a program on so many threads at once; returns when the last of them has ended.

        void program(void* context, int64 thread, int64 threads, void* team)

    Python's lock is free meanwhile. A `KeyboardInterrupt` is raised behind the end of the run.

    Args:
        program: the address of machine code.
        context: an address for the program to make sense of.
        threads: how many threads take part, the calling one included: number 0.

    Raises:
        BackendError: the system does not allow so many threads.
    """
    idle = _idle.setdefault(threads, [])
    try:
        team = idle.pop()
    except IndexError:
        team = Team(threads, runtime())
    team.run(program, context)
    if len(idle) < _MOST_IDLE:
        idle.append(team)


@atexit.register
def _close_all() -> None:
    for idle in _idle.values():
        while idle:
            idle.pop().close()


def _forget_all() -> None:
    """Threads do not outlive a fork: the child makes teams of its own."""
    _idle.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
