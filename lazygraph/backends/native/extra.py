"""What the extra `native` brings, and the sentence that says what is missing."""

import os
from importlib.machinery import ModuleSpec
from importlib.util import find_spec

from lazygraph.errors import missing_extra

PACKAGES = ("llvmlite", "scipy_openblas32")


def missing() -> str | None:
    """What the native backend lacks here, as one sentence, or None."""
    for name in PACKAGES:
        if find_spec(name) is None:
            return str(_missing(name))
    if os.name != "posix":
        return f"it needs the threads of POSIX; got the system {os.name!r}"
    return None


def package(name: str) -> ModuleSpec:
    """Where a package of the extra is; it is not imported.

    Args:
        name: the package, as it is imported.

    Raises:
        MissingExtraError: it is not installed.

    Example:
        >>> package("llvmlite").name
        'llvmlite'
    """
    found = find_spec(name)
    if found is None:
        raise _missing(name)
    return found


def _missing(name: str) -> ImportError:
    return missing_extra(name.replace("_", "-"), "native")
