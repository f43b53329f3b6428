"""The library of matrix products, one thread a call."""

import ctypes
from functools import cache
from pathlib import Path

from lazygraph.backends.native.extra import package
from lazygraph.errors import BackendError

# Every symbol of the wheel begins so.
PREFIX = "scipy_"
GEMM = {"float": "scipy_cblas_sgemm", "double": "scipy_cblas_dgemm"}


@cache
def library() -> ctypes.CDLL:
    """OpenBLAS, set to one thread: the threads are ours.

    The file is loaded without importing its package, which would show its symbols to all
    libraries that are loaded later; SciPy's own OpenBLAS calls itself by the same names. That
    of NumPy and that of SciPy stay as they are.

    Raises:
        MissingExtraError: the wheel is not installed.
    """
    found = package("scipy_openblas32")
    for folder in found.submodule_search_locations or ():
        for path in sorted(Path(folder, "lib").glob("*scipy_openblas.*")):
            if path.suffix in (".so", ".dylib", ".dll"):
                loaded = ctypes.CDLL(str(path))
                getattr(loaded, f"{PREFIX}openblas_set_num_threads")(1)
                return loaded
    raise BackendError(f"scipy-openblas32 must hold its library; got none in {found.origin}")


def gemm_addresses() -> dict[str, int]:
    """The addresses of the functions that machine code calls, by their names."""
    found = {
        name: ctypes.cast(getattr(library(), name), ctypes.c_void_p) for name in GEMM.values()
    }
    return {name: pointer.value for name, pointer in found.items() if pointer.value}
