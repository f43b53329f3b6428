"""What a program may call that is not in its own code."""

from lazygraph.backends.native.barrier import BARRIER_NAME
from lazygraph.backends.native.products import library
from lazygraph.backends.native.threads import runtime


def symbols() -> dict[str, int]:
    """The addresses behind `barrier.barrier` and `contraction.emit_product`, by name."""
    return {BARRIER_NAME: runtime().barrier, **library().addresses}
