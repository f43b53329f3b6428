"""The few switches of the engine, each with a setter and a `with` form."""

import operator
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from lazygraph.errors import BackendError


@dataclass(frozen=True, slots=True)
class Settings:
    """All switches, as one value that a plan's key can hold."""

    backend: str = "numpy"
    verify: bool = False
    threads: int | None = None
    cache_folder: str | None = None


_process = Settings()
_local: ContextVar[Settings | None] = ContextVar("settings", default=None)

# The name of each backend, and what says what is missing before it can run; filled from above.
backends: dict[str, Callable[[], str | None]] = {}


def current() -> Settings:
    """The settings in force: those of the innermost `using`, else those of the process."""
    return _local.get() or _process


def _change(**changes: Any) -> None:
    global _process
    inner = _local.get()
    if inner is None:
        _process = replace(_process, **changes)
    else:
        _local.set(replace(inner, **changes))


def set_backend(name: str) -> None:
    """Choose how plans are run, from now on or to the end of the innermost `using`.

    Args:
        name: "numpy" or, with the extra of that name, "native".

    Raises:
        BackendError: there is no such backend, or it cannot run here.
    """
    _change(backend=_checked(name))


def set_verify(verify: bool) -> None:
    """Choose whether graphs are checked after every pass; off by default.

    Args:
        verify: whether to check, from now on or to the end of the innermost `using`.
    """
    _change(verify=bool(verify))


def set_num_threads(threads: int | None) -> None:
    """Choose how many threads a run may use; NumPy's matrix products have threads of their own.

    Same inputs and thread count give the same bits.

    Args:
        threads: at least 1, from now on or to the end of the innermost `using`. None, the
            default, means one for each core that the process may use.

    Raises:
        BackendError: the number is below 1.
    """
    _change(threads=_counted(threads))


def num_threads() -> int:
    """How many threads a run may use now."""
    chosen = current().threads
    return available_cores() if chosen is None else chosen


def available_cores() -> int:
    """The cores that this process may use, at least 1."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def set_cache_folder(path: str | os.PathLike[str] | None) -> None:
    """Choose where the native backend keeps machine code between processes.

    Args:
        path: a folder, from now on or to the end of the innermost `using`; it is made when it
            is needed. None, the default, means `$XDG_CACHE_HOME/lazygraph`, or else
            `~/.cache/lazygraph`.
    """
    _change(cache_folder=None if path is None else os.path.abspath(path))


@contextmanager
def using(
    *,
    backend: str | None = None,
    verify: bool | None = None,
    threads: int | None = None,
    cache_folder: str | os.PathLike[str] | None = None,
) -> Iterator[None]:
    """Change settings inside a `with` block of this thread.

    Args:
        backend: as for `set_backend`.
        verify: as for `set_verify`.
        threads: as for `set_num_threads`; None leaves the number as it is.
        cache_folder: as for `set_cache_folder`; None leaves the folder as it is.

    Raises:
        BackendError: there is no such backend, or it cannot run here; or fewer threads than 1.

    Example:
        >>> import lazygraph as lg
        >>> with using(verify=True):
        ...     (lg.ones((2,)) + 1).tolist()
        [2.0, 2.0]
    """
    changes: dict[str, Any] = {} if backend is None else {"backend": _checked(backend)}
    if verify is not None:
        changes["verify"] = bool(verify)
    if threads is not None:
        changes["threads"] = _counted(threads)
    if cache_folder is not None:
        changes["cache_folder"] = os.path.abspath(cache_folder)
    token = _local.set(replace(current(), **changes))
    try:
        yield
    finally:
        _local.reset(token)


def _counted(threads: int | None) -> int | None:
    if threads is None:
        return None
    count = operator.index(threads)
    if count < 1:
        raise BackendError(f"the number of threads must be at least 1; got {count}")
    return count


def _checked(name: str) -> str:
    if name not in backends:
        raise BackendError(f"the backend must be one of {', '.join(backends)}; got {name!r}")
    missing = backends[name]()
    if missing:
        raise BackendError(f"the backend {name!r} cannot run: {missing}")
    return name
