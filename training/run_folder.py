"""The folder of a run: which file holds what."""

import itertools
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from training.options import UsageError, about

DEFAULT = Path("runs", "gpt")


@dataclass(frozen=True)
class RunFolder:
    """Names for the files of a run.

    Args:
        path: the folder.

    Example:
        >>> RunFolder(Path("runs/gpt")).metrics.as_posix()
        'runs/gpt/metrics.jsonl'
    """

    path: Path

    @property
    def config(self) -> Path:
        """The options, the model's sizes and the schedule."""
        return self.path / "config.json"

    @property
    def vocabulary(self) -> Path:
        """The characters behind the tokens."""
        return self.path / "vocabulary.json"

    @property
    def tokens(self) -> Path:
        """The text as tokens."""
        return self.path / "tokens.npy"

    @property
    def metrics(self) -> Path:
        """A row a logged step."""
        return self.path / "metrics.jsonl"

    @property
    def weights(self) -> Path:
        """What was learnt."""
        return self.path / "weights.safetensors"

    @property
    def plot(self) -> Path:
        """The loss over the steps, as a picture."""
        return self.path / "loss.png"

    @property
    def graph(self) -> Path:
        """The listing of one step's graph."""
        return self.path / "graph.txt"

    @property
    def samples(self) -> Path:
        """Texts that the model wrote on its way."""
        return self.path / "samples.txt"

    def files(self) -> tuple[Path, ...]:
        """All files that a run may write."""
        return (
            self.config,
            self.vocabulary,
            self.tokens,
            self.metrics,
            self.weights,
            self.plot,
            self.graph,
            self.samples,
        )

    def read_json(self, path: Path) -> dict[str, Any]:
        """The content of one of the folder's JSON files.

        Raises:
            UsageError: if the folder or the file is missing, or the file is damaged.
        """
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise UsageError(
                f"{self.path} is not the folder of a run: cannot read {path.name}: "
                f"{error.strerror}"
            ) from error
        except ValueError as error:
            raise UsageError(f"{path} is damaged: {error}") from error
        if not isinstance(content, dict):
            raise UsageError(f"{path} is damaged: it must hold an object")
        return content


def claim(out: Path | None, overwrite: bool) -> RunFolder:
    """Make the folder of a new run, or empty that of an old one.

    Args:
        out: the folder that was asked for; None for runs/gpt, or runs/gpt-2 if that holds
            files, and so on.
        overwrite: whether an earlier run there may be deleted. Other files always stay.

    Returns:
        A folder that can be written to and holds nothing of an earlier run.

    Raises:
        UsageError: if it holds files that may not be deleted, or cannot be written to.
    """
    with about("out"):
        path = out or (DEFAULT if overwrite else _first_free(DEFAULT))
        try:
            if not overwrite and _holds_files(path):
                raise UsageError(
                    f"--out: {path} holds files already; name another folder, "
                    f"or replace the run in it by --overwrite"
                )
            path.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=path):
                pass  # whoever may do this may write the run's files
            folder = RunFolder(path)
            for file in folder.files():
                file.unlink(missing_ok=True)
        except OSError as error:
            raise type(error)(f"cannot write to {path}: {error.strerror}") from error
    return folder


def _first_free(path: Path) -> Path:
    numbered = (path.with_name(f"{path.name}-{i}") for i in itertools.count(2))
    return next(folder for folder in itertools.chain([path], numbered) if _is_free(folder))


def _is_free(path: Path) -> bool:
    return not path.exists() or (path.is_dir() and not _holds_files(path))


def _holds_files(path: Path) -> bool:
    return path.exists() and any(path.iterdir())
