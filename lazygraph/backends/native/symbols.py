"""What a program may call that is not in its own code."""

import ctypes

from lazygraph.backends.native.barrier import BARRIER_NAME
from lazygraph.backends.native.products import library
from lazygraph.backends.native.threads import runtime


def symbols() -> dict[str, int]:
    """The addresses behind `barrier.barrier`, `contraction.emit_product` and of copies."""
    return {BARRIER_NAME: runtime().barrier, **library().addresses, **_of_memory()}


def _of_memory() -> dict[str, int]:
    """What LLVM calls for loops that copy or fill; a function that moves also copies."""
    move, fill = (
        ctypes.cast(f, ctypes.c_void_p).value or 0 for f in (ctypes.memmove, ctypes.memset)
    )
    return {"memcpy": move, "memmove": move, "memset": fill}
