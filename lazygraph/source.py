"""The user's line: captured when a node is recorded, formatted only when it is printed."""

import linecache
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import CodeType, FrameType

_SHOWN_FOLDERS: list[str] = []
_HIDDEN_FOLDERS = [os.path.dirname(os.path.abspath(__file__)) + os.sep]


@dataclass(frozen=True, slots=True)
class Place:
    """A line that was formatted or pickled: all that is left of it is text."""

    filename: str
    lineno: int
    function: str


# A raw line is the code object and the instruction in it: two pointers, no text. Derivatives
# and rewritten nodes share the very tuple of the node that they stem from, so that a step of a
# plan can be traced back to a node of the graph that is running.
Line = tuple[CodeType, int] | Place

NOWHERE = Place("<unknown>", 0, "<unknown>")


class _Visible(dict[str, bool]):
    """Whether the frames of a file are the user's, decided once a file."""

    def __missing__(self, filename: str) -> bool:
        if filename.startswith("<frozen "):  # what starts a program, such as runpy
            self[filename] = False
            return False
        path = filename if filename.startswith("<") else os.path.abspath(filename)
        hidden = any(path.startswith(folder) for folder in _HIDDEN_FOLDERS)
        self[filename] = not hidden or any(path.startswith(f) for f in _SHOWN_FOLDERS)
        return self[filename]


_visible = _Visible()

# The scope that new nodes belong to, and the line that they inherit, if any.
recording: ContextVar[tuple[str, Line | None]] = ContextVar("recording", default=("", None))


def hide_frames(folder: str, but: str | None = None) -> None:
    """Declare that frames of the files in a folder are never the user's line.

    Args:
        folder: a directory, as `os.path.dirname(__file__)` of a library built on this one.
        but: a directory inside of it whose frames stay visible.

    Example:
        >>> hide_frames("/opt/somewhere/my_layers")
    """
    _HIDDEN_FOLDERS.append(os.path.abspath(folder) + os.sep)
    if but is not None:
        _SHOWN_FOLDERS.append(os.path.abspath(but) + os.sep)
    _visible.clear()


def capture(above: int = 1) -> Line:
    """The innermost line on the stack that is not the library's own.

    Args:
        above: how many callers are known to be the library's, and need not be looked at.
    """
    frame = sys._getframe(above)
    while not _visible[frame.f_code.co_filename]:
        if frame.f_back is None:
            return _outside(sys._getframe(above))
        frame = frame.f_back
    return frame.f_code, frame.f_lasti


def _outside(frame: FrameType) -> Line:
    """The innermost line outside of this package, where libraries built on it run alone."""
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HIDDEN_FOLDERS[0]):
        frame = frame.f_back
    return frame.f_code, frame.f_lasti


@contextmanager
def inherit(line: Line) -> Iterator[None]:
    """Nodes recorded inside belong to `line`, whoever calls."""
    before = recording.get()
    try:
        recording.set((before[0], line))
        yield
    finally:
        recording.set(before)


@contextmanager
def scope(name: str) -> Iterator[None]:
    """Name the part of a model that the nodes recorded inside belong to.

    Scopes nest; listings and pictures show the path, joined by dots.

    Args:
        name: any text without a special meaning.

    Example:
        >>> with scope("encoder"), scope("attention"):
        ...     recording.get()[0]
        'encoder.attention'
    """
    before = recording.get()
    outer, line = before
    try:
        recording.set((f"{outer}.{name}" if outer else name, line))
        yield
    finally:
        recording.set(before)


def place(line: Line) -> Place:
    """The file, line number and function of a captured line."""
    if isinstance(line, Place):
        return line
    code, instruction = line
    for index, (start, *_) in enumerate(code.co_positions()):
        if index * 2 == instruction and start is not None:
            return Place(code.co_filename, start, code.co_name)
    return Place(code.co_filename, code.co_firstlineno, code.co_name)


class Places:
    """Formatted lines, each looked up in its code once, however many nodes it recorded."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], tuple[CodeType, Place]] = {}

    def __getitem__(self, line: Line) -> Place:
        if isinstance(line, Place):
            return line
        # Code compares by content, which is slow; the entry keeps the one of this id alive.
        key = (id(line[0]), line[1])
        if key not in self._known:
            self._known[key] = (line[0], place(line))
        return self._known[key][1]


def describe(line: Line, with_text: bool = True) -> str:
    """`model.py:16 in forward:  hidden = tanh(x @ w1)`, for people."""
    at = place(line)
    text = linecache.getline(at.filename, at.lineno).strip() if with_text else ""
    where = f"{os.path.basename(at.filename)}:{at.lineno}"
    where += "" if at.function.startswith("<") else f" in {at.function}"
    return f"{where}:  {text}" if text else where
