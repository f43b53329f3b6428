"""Optional packages: where one is missing, the error says what to install."""

import contextlib
import importlib
from collections.abc import Iterator

from lazygraph import errors


@contextlib.contextmanager
def needs(package: str, extra: str = "train") -> Iterator[None]:
    """Around the import of an optional package: its absence is one sentence.

    Args:
        package: the package that the block imports.
        extra: the extra of lazygraph that brings it.

    Raises:
        MissingExtraError: if the package is not installed.

    Example:
        >>> with needs("a_package_nobody_has"):
        ...     import a_package_nobody_has
        Traceback (most recent call last):
        lazygraph.errors.MissingExtraError: a_package_nobody_has is not installed; pip ...
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise  # the package is there, but something that it needs is not
        raise errors.missing_extra(package, extra) from error


def require(*packages: str, extra: str = "train") -> None:
    """Make sure that optional packages are there, before work begins that needs them late.

    Args:
        packages: names of packages to import.
        extra: the extra of lazygraph that brings them.

    Raises:
        MissingExtraError: if one of them is not installed.

    Example:
        >>> require("json", "math")
    """
    for package in packages:
        with needs(package, extra):
            importlib.import_module(package)
