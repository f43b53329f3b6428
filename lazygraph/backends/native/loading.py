"""Machine code in memory."""

import itertools
from collections.abc import Iterable, Mapping

import llvmlite.binding as llvm

from lazygraph.backends.native import targets
from lazygraph.locks import lock_across_forks

_lock = lock_across_forks()
_linkers: list[llvm.LLJIT] = []
_numbers = itertools.count()


def _linker() -> llvm.LLJIT:
    with _lock:
        if not _linkers:
            machine = targets.host().machine(effort=0)
            _linkers.append(llvm.create_lljit_compiler(machine, use_jit_link=True))
        return _linkers[0]


class Library:
    """Functions that can be called, for as long as this object lives.

    Args:
        code: an object file.
        exports: the functions that are wanted.
        imports: the addresses of what the code calls and does not hold itself.
    """

    __slots__ = ("__weakref__", "_tracker", "addresses")

    def __init__(
        self, code: bytes, exports: Iterable[str], imports: Mapping[str, int] | None = None
    ) -> None:
        builder = llvm.JITLibraryBuilder().add_object_img(code)
        for name, address in (imports or {}).items():
            builder.import_symbol(name, address)
        names = list(exports)
        for name in names:
            builder.export_symbol(name)
        self._tracker = builder.link(_linker(), f"library{next(_numbers)}")
        self.addresses = {name: int(self._tracker[name]) for name in names}
