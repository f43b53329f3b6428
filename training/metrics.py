"""What a run measures: rows of numbers kept in a file, tokens counted by the clock."""

import json
import math
import os
import time
from collections import deque
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

import numpy as np


class JsonLines:
    r"""A file to which each call adds one line of JSON, readable by others at once.

    Args:
        path: the file's name; what it holds already is kept.

    Raises:
        OSError: if the file cannot be opened for writing, in one sentence.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with JsonLines(f"{folder}/metrics.jsonl") as rows:
        ...         rows.write({"step": 1, "loss": float("nan")})
        ...     pathlib.Path(folder, "metrics.jsonl").read_text()
        '{"step": 1, "loss": null}\n'
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        try:
            self._file = open(path, "a", encoding="utf-8", newline="\n")  # noqa: SIM115
        except OSError as error:
            raise type(error)(f"cannot write {path}: {error.strerror}") from error

    def write(self, row: Mapping[str, Any]) -> None:
        """Add a row; NumPy's numbers become Python's, NaN and infinities become null.

        Raises:
            TypeError: if a value has no form in JSON; nothing is written then.
        """
        # One write of the whole line: an interrupt leaves no half of it.
        self._file.write(json.dumps(_plain(row), ensure_ascii=False, allow_nan=False) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file; closing twice is harmless."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class Throughput:
    """Tokens per second over the latest steps.

    Args:
        window: how many steps to look back on.
        clock: a function that gives seconds, and never runs backwards.

    Raises:
        ValueError: if `window` is below 1.

    Example:
        >>> seconds = iter([0.0, 2.0, 4.0])
        >>> throughput = Throughput(clock=lambda: next(seconds))
        >>> throughput.advance(100)
        >>> throughput.advance(100)
        >>> throughput.tokens_per_second(), throughput.seconds_for(500)
        (50.0, 10.0)
    """

    def __init__(self, window: int = 50, clock: Callable[[], float] = time.monotonic) -> None:
        if window < 1:
            raise ValueError(f"window must be at least 1, got {window}")
        self._clock = clock
        self._tokens = 0
        self._marks: deque[tuple[float, int]] = deque([(clock(), 0)], maxlen=window + 1)

    def advance(self, tokens: int) -> None:
        """Count the tokens of a step that has just ended."""
        self._tokens += tokens
        self._marks.append((self._clock(), self._tokens))

    def tokens_per_second(self) -> float | None:
        """The rate over the window, or None before any time has passed."""
        (first_time, first_tokens), (last_time, last_tokens) = self._marks[0], self._marks[-1]
        if last_time <= first_time:
            return None
        return (last_tokens - first_tokens) / (last_time - first_time)

    def seconds_for(self, tokens: int) -> float | None:
        """How long so many more tokens will take at this rate, or None if nobody can say."""
        rate = self.tokens_per_second()
        return tokens / rate if rate else None


def _plain(value: Any) -> Any:
    match value:
        case np.floating():
            return _plain(float(value))
        case np.ndarray() | np.generic():
            return _plain(value.tolist())
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            return {str(key): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            return value
