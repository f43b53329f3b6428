"""Raises KeyboardInterrupt at one chosen line of the library."""

import linecache
import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import lazygraph
import training

_FOLDERS = tuple(
    os.path.dirname(os.path.abspath(module.__file__)) + os.sep
    for module in (lazygraph, training)
    if module.__file__ is not None
)
# Where a step is judged and committed.
_COMMIT = ("loop.py", "window.py", "outcome.py", "cell.py")


class Interrupt:
    """Interrupts a call when it reaches its `at`-th line, counted as `stride` says.

    Args:
        at: which of the counted lines, from 1.
        stride: only each `stride`-th line is counted,
        closely: and each line of the modules that commit.

    Attributes:
        where: file and number of the line, or None if the call was over before.
    """

    def __init__(self, at: int, stride: int = 1, closely: bool = False) -> None:
        self.where: str | None = None
        self._at, self._stride = at, stride
        self._closely = _COMMIT if closely else ()
        self._lines = self._counted = 0
        self._inside: set[tuple[FrameType, int]] = set()

    def call(self, function: Callable[[], object]) -> None:
        """Call the function, and pass over the interrupt that it may end with."""
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            function()
        except KeyboardInterrupt:
            assert self.where is not None
        finally:
            sys.settrace(before)
            self._inside.clear()

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        return self._visit if frame.f_code.co_filename.startswith(_FOLDERS) else None

    def _visit(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line" and not self._leaves_block(frame) and self._counts(frame):
            self._counted += 1
            if self._counted == self._at:
                self.where = f"{frame.f_code.co_filename}:{frame.f_lineno}"
                raise KeyboardInterrupt
        return self._visit

    def _counts(self, frame: FrameType) -> bool:
        self._lines += 1
        close = frame.f_code.co_filename.endswith(self._closely)
        return close or self._lines % self._stride == 0

    def _leaves_block(self, frame: FrameType) -> bool:
        # A `with` is visited once more on the way out. There, the interpreter looks for no
        # interrupt before `__exit__` has run: an error at that visit would skip it, as none
        # ever does.
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
        if not line.lstrip().startswith("with "):
            return False
        visit = (frame, frame.f_lineno)
        leaves = visit in self._inside
        (self._inside.discard if leaves else self._inside.add)(visit)
        return leaves
