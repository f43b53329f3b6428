"""Machine code on disk, so that a new process need not compile what another one has.

An entry is a file of its own, named after all that the code depends on:

    magic, name of the entry, SHA-256 of the code, code

It is written under another name and then renamed, so that no process sees half of it. Whatever
does not fit (damaged, cut short, put there under a wrong name, writable by others) counts as
not there. A folder that cannot be used costs one warning and no more.
"""

import hashlib
import os
import stat
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from lazygraph.settings import current

MOST_BYTES = 128 * 2**20
FORMAT = 1  # of entries; another number makes all others unreadable
_MAGIC = b"lazygraph machine code %d\n" % FORMAT
_SUFFIX, _UNFINISHED = ".object", ".unfinished"
_ABANDONED = 3600.0  # seconds after which nobody finishes a file any more
_warned: set[Path] = set()


def folder() -> Path | None:
    """Where machine code is kept: in the folder that was set, else in the user's own cache.

    None if neither is known: some services have no home.
    """
    chosen = current().cache_folder
    if chosen is not None:
        return Path(chosen, "native")
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # by the rule of XDG, a relative path counts as none
        base = os.path.expanduser("~/.cache")
    return Path(base, "lazygraph", "native") if os.path.isabs(base) else None


def clear() -> None:
    """Delete the entries, and nothing else."""
    where = folder()
    for entry in _files(where) if where else ():
        with suppress(OSError):
            os.unlink(entry.path)


def entry_name(*parts: str) -> str:
    """The name of the entry that depends on the parts, and on nothing else."""
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode()
        digest.update(b"%d:" % len(encoded) + encoded)
    return digest.hexdigest()


def read(where: Path | None, name: str) -> bytes | None:
    """The code of an entry, which becomes the last used; None if there is none to trust."""
    if where is None:
        return None
    try:
        descriptor = os.open(where / (name + _SUFFIX), os.O_RDONLY | _NO_LINKS)
    except OSError:
        return None
    with open(descriptor, "rb") as file:
        if not _is_private(os.fstat(descriptor)):
            return None
        try:
            code = _unwrap(name, file.read())
        except OSError:
            return None
    if code is not None:
        with suppress(OSError):
            os.utime(where / (name + _SUFFIX))
    return code


def write(where: Path | None, entries: Mapping[str, bytes]) -> None:
    """Keep code under its names; those used longest ago may have to go."""
    if not entries:
        return
    if where is None:
        _warn(Path("~"), "there is no such folder")
        return
    try:
        os.makedirs(where, mode=0o700, exist_ok=True)
        if not _is_private(os.stat(where)):
            _warn(where, "others may write there")
            return
        for name, code in entries.items():
            _write(where, name, code)
    except OSError as error:
        _warn(where, error.strerror or str(error))
    _trim(where)


def _write(where: Path, name: str, code: bytes) -> None:
    descriptor, unfinished = tempfile.mkstemp(_UNFINISHED, dir=where)  # for us alone: 0600
    try:
        with open(descriptor, "wb") as file:
            file.write(_wrap(name, code))
        os.replace(unfinished, where / (name + _SUFFIX))
    except BaseException:
        with suppress(OSError):
            os.unlink(unfinished)
        raise


def _wrap(name: str, code: bytes) -> bytes:
    return _MAGIC + name.encode() + hashlib.sha256(code).digest() + code


def _unwrap(name: str, content: bytes) -> bytes | None:
    code = content[len(_MAGIC) + len(name) + hashlib.sha256().digest_size :]
    return code if content == _wrap(name, code) else None


# A link could lead to a file of somebody else.
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def _is_private(status: os.stat_result) -> bool:
    """Whether nobody but us could have written it: what is there will be run."""
    if os.name != "posix":
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _files(where: Path) -> Iterator[os.DirEntry[str]]:
    """Our files in the folder, finished or not."""
    try:
        with os.scandir(where) as entries:
            yield from [e for e in entries if e.name.endswith((_SUFFIX, _UNFINISHED))]
    except OSError:
        return


def _trim(where: Path) -> None:
    """Delete what was used longest ago, till a quarter is free, and what nobody finished."""
    found: list[tuple[float, int, str]] = []
    for entry in _files(where):
        with suppress(OSError):
            status = entry.stat(follow_symlinks=False)
            abandoned = time.time() - status.st_mtime > _ABANDONED
            if entry.name.endswith(_SUFFIX):
                found.append((status.st_mtime, status.st_size, entry.path))
            elif abandoned:
                os.unlink(entry.path)
    total = sum(size for _, size, _ in found)
    if total <= MOST_BYTES:
        return
    for _, size, path in sorted(found):
        with suppress(OSError):
            os.unlink(path)
        total -= size
        if total <= MOST_BYTES * 3 // 4:
            return


def _warn(where: Path, reason: str) -> None:
    """Say once for each folder what its failure costs."""
    if where not in _warned:
        _warned.add(where)
        warnings.warn(
            f"machine code cannot be kept in {where}: {reason}; every process compiles anew",
            RuntimeWarning,
            stacklevel=2,
        )
