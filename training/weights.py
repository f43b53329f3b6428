"""Named arrays in a safetensors file."""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lazygraph import errors
from training import files
from training.extras import needs


def save_weights(
    path: str | os.PathLike[str],
    weights: Mapping[str, NDArray[Any]],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write named arrays to a safetensors file, all or nothing.

    Args:
        path: the file's name, in a folder that exists.
        weights: arrays of any shape and any layout: bool, integers, floats.
        metadata: short texts that describe them.

    Raises:
        CheckpointError: if an array or the file cannot be written.
        MissingExtraError: if safetensors is not installed.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_weights(f"{folder}/w.safetensors", {"w": np.ones(2)}, {"step": "7"})
        ...     load_weights(f"{folder}/w.safetensors")
        ({'w': array([1., 1.])}, {'step': '7'})
    """
    with needs("safetensors"):
        import safetensors
        import safetensors.numpy
    if "__metadata__" in weights:
        raise errors.CheckpointError(
            f"cannot write {path}: the format keeps the name __metadata__ for itself"
        )
    # The format stores bytes as they lie in memory, so strided views need a copy first.
    arrays = {name: np.asarray(array, order="C") for name, array in weights.items()}
    try:
        data = safetensors.numpy.save(arrays, metadata=dict(metadata or {}))
    except (safetensors.SafetensorError, TypeError, ValueError) as error:
        raise errors.CheckpointError(f"cannot write {path}: {_sentence(error)}") from error
    try:
        files.write_bytes(path, data)
    except OSError as error:
        raise errors.CheckpointError(str(error)) from error


def load_weights(
    path: str | os.PathLike[str],
) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """The named arrays of a safetensors file.

    Args:
        path: a file that `save_weights`, or another program, wrote.

    Returns:
        The arrays by name, and the metadata.

    Raises:
        CheckpointError: if the file is missing, damaged or of another kind.
        MissingExtraError: if safetensors is not installed.

    Example:
        >>> load_weights("missing.safetensors")
        Traceback (most recent call last):
        lazygraph.errors.CheckpointError: cannot read missing.safetensors: No such file ...
    """
    with needs("safetensors"):
        import safetensors
    try:
        open(path, "rb").close()  # Python words what the system refuses better than the format
        with safetensors.safe_open(path, framework="numpy") as file:
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return weights, dict(file.metadata() or {})
    except OSError as error:
        reason = error.strerror or _sentence(error)
        raise errors.CheckpointError(f"cannot read {path}: {reason}") from error
    except safetensors.SafetensorError as error:
        raise errors.CheckpointError(f"cannot read {path}: {_sentence(error)}") from error


def _sentence(error: Exception) -> str:
    return " ".join(str(error).split())
