"""Files that are whole or absent, never half-written."""

import contextlib
import json
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path whose file takes the name `path` when the block ends well.

    The file is synced to the disk before the rename, so a reader meets the old content or
    the new, even after a power cut; when the block raises, the old content stays.

    Args:
        path: the final name, in a folder that exists.

    Returns:
        A context manager around the path to write to, which has the same suffix.

    Raises:
        OSError: if it cannot be written, in one sentence that names `path`.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with whole_file(f"{folder}/answer.txt") as draft:
        ...         characters = draft.write_text("42")
        ...     [path.name for path in Path(folder).iterdir()]
        ['answer.txt']
    """
    path = Path(path)
    draft = path.with_name(f".{path.stem}-{secrets.token_hex(4)}{path.suffix}")
    try:
        yield draft
        _sync(draft, os.O_RDWR)
        os.replace(draft, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            draft.unlink()
        if isinstance(error, OSError) and error.strerror:  # the system's, not yet a sentence
            raise type(error)(f"cannot write {path}: {error.strerror}") from error
        raise
    if os.name == "posix":  # elsewhere a folder cannot be opened
        _sync(path.parent, os.O_RDONLY)


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write bytes to a file, all or nothing.

    Args:
        path: the file's name, in a folder that exists.
        data: its whole content.

    Raises:
        OSError: if it cannot be written, in one sentence that names `path`.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_bytes(f"{folder}/answer.bin", b"42")
        ...     Path(folder, "answer.bin").read_bytes()
        b'42'
    """
    with whole_file(path) as draft:
        draft.write_bytes(data)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write text as UTF-8, all or nothing.

    Args:
        path: the file's name, in a folder that exists.
        text: its whole content; lines end as they are given.

    Raises:
        OSError: if it cannot be written, in one sentence that names `path`.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_text(f"{folder}/answer.txt", "forty-two")
        ...     Path(folder, "answer.txt").read_text()
        'forty-two'
    """
    # Half a surrogate pair has no UTF-8 form; a question mark there keeps all the rest.
    write_bytes(path, text.encode("utf-8", errors="replace"))


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    """Write a value as indented JSON, all or nothing.

    Args:
        path: the file's name, in a folder that exists.
        value: dicts, lists, strings, finite numbers, booleans and None.

    Raises:
        OSError: if it cannot be written, in one sentence that names `path`.
        ValueError: if a number is not finite, which JSON cannot say.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_json(f"{folder}/answer.json", [42])
        ...     json.loads(Path(folder, "answer.json").read_text())
        [42]
    """
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def _sync(path: Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
