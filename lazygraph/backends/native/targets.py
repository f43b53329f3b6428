"""The processor that machine code is made for."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache

from lazygraph.backends.native.extra import package

package("llvmlite")
import llvmlite.binding as llvm  # noqa: E402 (its absence has a sentence of ours)
from llvmlite.binding import ffi  # noqa: E402


@dataclass(slots=True)
class _Fork:
    """Forks wait for the lock of llvmlite, which a child could otherwise find taken for ever.

    They wait a second at most: the thread inside may itself wait for the one that forks.
    """

    held: bool = False

    def prepare(self) -> None:
        self.held = ffi.lib._lock._lock.acquire(timeout=1.0)

    def finish(self) -> None:
        if self.held:
            ffi.lib._lock._lock.release()


_fork = _Fork()
if hasattr(os, "register_at_fork"):  # where processes can fork
    os.register_at_fork(
        before=_fork.prepare, after_in_parent=_fork.finish, after_in_child=_fork.finish
    )


@dataclass(frozen=True, slots=True)
class Target:
    """A processor.

    Attributes:
        triple: architecture, vendor and system, as LLVM names them.
        cpu: the model, which decides how instructions are ordered.
        features: what it can do beyond the least of its kind, such as "+avx2,+fma".
    """

    triple: str
    cpu: str
    features: str

    @property
    def has_fused_multiply_add(self) -> bool:
        """Whether one instruction multiplies and adds, rounding once."""
        return "+fma" in self.features.split(",") or self.triple.startswith("aarch64")

    def machine(self, effort: int) -> llvm.TargetMachine:
        """What makes code for the processor. Each belongs to one thread at a time."""
        _initialize()
        # Code is loaded near what it calls through stubs, so that small addresses are enough.
        return llvm.Target.from_triple(self.triple).create_target_machine(
            cpu=self.cpu, features=self.features, opt=effort, reloc="pic", codemodel="small"
        )


@cache
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()  # without it, assembly within a module ends the process


@cache
def host() -> Target:
    """The processor that we run on, with all that it can do."""
    _initialize()
    features = llvm.get_host_cpu_features().flatten()
    return Target(llvm.get_process_triple(), llvm.get_host_cpu_name(), features)


@cache
def baseline() -> Target:
    """The least processor of this architecture: on x86-64, one without AVX."""
    triple = host().triple
    cpu = "x86-64" if triple.startswith("x86_64") else "generic"
    return Target(triple, cpu, "")


_chosen: ContextVar[Target | None] = ContextVar("target", default=None)


def current() -> Target:
    """The processor that code is made for now: the host, unless within `using`."""
    return _chosen.get() or host()


@contextmanager
def using(target: Target) -> Iterator[None]:
    """Make code for another processor inside a `with` block of this thread.

    Args:
        target: the processor. What it can do must be possible here, too, if the code is to run.

    Example:
        >>> with using(baseline()):
        ...     "avx" in current().features
        False
    """
    token = _chosen.set(target)
    try:
        yield
    finally:
        _chosen.reset(token)
