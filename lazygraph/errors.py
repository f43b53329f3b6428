"""Every deliberate exception of the library, as one tree.

LazyGraphError
├── ShapeError         (ValueError)       shapes that do not fit
├── DTypeError         (TypeError)        dtypes that do not fit
├── BoundsError        (IndexError)       an index outside its axis
├── GradientError      (RuntimeError)     a gradient that does not exist
├── RealizationError   (RuntimeError)     a value asked for where none may be computed
├── NonFiniteError     (ArithmeticError)  NaN or infinity where a policy forbids them
├── BackendError       (RuntimeError)     a backend that cannot do what it was asked
├── MissingExtraError  (ImportError)      an optional dependency that is not installed
├── CheckpointError    (OSError)          a file of weights that cannot be used
└── InternalError      (RuntimeError)     a broken invariant of our own
"""


class LazyGraphError(Exception):
    """The root of all errors that lazygraph raises on purpose."""


class ShapeError(LazyGraphError, ValueError):
    """Shapes that do not fit the operation."""


class DTypeError(LazyGraphError, TypeError):
    """Dtypes that do not fit the operation."""


class BoundsError(LazyGraphError, IndexError):
    """An index outside of the axis that it points into."""


class GradientError(LazyGraphError, RuntimeError):
    """A gradient that does not exist, or that nobody can define."""


class RealizationError(LazyGraphError, RuntimeError):
    """A value asked for where `no_realize` forbids to compute one."""


class NonFiniteError(LazyGraphError, ArithmeticError):
    """NaN or infinity where the policy in force forbids them."""


class BackendError(LazyGraphError, RuntimeError):
    """A backend that is unknown, or cannot run here."""


class MissingExtraError(LazyGraphError, ImportError):
    """An optional dependency that is not installed."""


class CheckpointError(LazyGraphError, OSError):
    """A file of weights or state that cannot be used."""


class InternalError(LazyGraphError, RuntimeError):
    """A broken invariant of the library itself: please report it."""


def missing_extra(package: str, extra: str) -> MissingExtraError:
    """The error for an optional package that is not there, with the command that brings it.

    Args:
        package: the name of the package that failed to import.
        extra: the extra of lazygraph that contains it.

    Returns:
        The exception, to be raised by the caller.

    Example:
        >>> missing_extra("rich", "train").args[0]
        "rich is not installed; pip install 'lazygraph[train]' brings it"
    """
    return MissingExtraError(
        f"{package} is not installed; pip install 'lazygraph[{extra}]' brings it"
    )
