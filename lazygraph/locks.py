"""Locks that a forked process finds open, and what they guard whole."""

import os
import threading
import weakref

_locks: "weakref.WeakSet[threading.RLock]" = weakref.WeakSet()
_held: "list[threading.RLock]" = []


def lock_across_forks() -> "threading.RLock":
    """A lock that a fork of the process waits for, and lets go of on both sides.

    A child has none but the thread that forked. Were another one caught inside of the lock, it
    would stay locked there for ever, and what it guards half changed. The lock is reentrant, so
    that a handler of signals may fork inside of it.

    Example:
        >>> lock = lock_across_forks()
        >>> with lock:
        ...     pass
    """
    lock = threading.RLock()
    _locks.add(lock)
    return lock


def _hold() -> None:
    waiting = list(_locks)
    for lock in waiting:
        lock.acquire()
    _held.extend(waiting)


def _let_go() -> None:
    waiting = list(_held)
    _held.clear()  # before others that fork get in
    for lock in waiting:
        lock.release()


if hasattr(os, "register_at_fork"):  # where processes can fork
    os.register_at_fork(before=_hold, after_in_parent=_let_go, after_in_child=_let_go)
