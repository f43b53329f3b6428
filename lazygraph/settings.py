"""The few switches of the engine, each with a setter and a `with` form."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Settings:
    """All switches, as one value that a plan's key can hold."""

    backend: str = "numpy"
    verify_passes: bool = False


_process = Settings()
_local: ContextVar[Settings | None] = ContextVar("settings", default=None)


def current() -> Settings:
    """The settings in force: those of the innermost `using`, else those of the process."""
    return _local.get() or _process


def change(**changes: str | bool) -> None:
    """Change switches for the whole process, or for the block of the innermost `using`."""
    global _process
    inner = _local.get()
    if inner is not None:
        _local.set(replace(inner, **changes))  # type: ignore[arg-type]
    else:
        _process = replace(_process, **changes)  # type: ignore[arg-type]


@contextmanager
def override(**changes: str | bool) -> Iterator[None]:
    """Change switches inside a `with` block of this thread."""
    token = _local.set(replace(current(), **changes))  # type: ignore[arg-type]
    try:
        yield
    finally:
        _local.reset(token)
