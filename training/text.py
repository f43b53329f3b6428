"""Text as a sequence of small integers, one a character."""

import os
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from training import files


@dataclass(frozen=True)
class CharacterVocabulary:
    """The distinct characters of a text in the order of their code points; a token is an index.

    Args:
        characters: the distinct characters, sorted.

    Raises:
        ValueError: if there are none, or they are not sorted and distinct.

    Example:
        >>> vocabulary = CharacterVocabulary.of("banana")
        >>> vocabulary.encode("nab").tolist(), vocabulary.decode([1, 0, 2])
        ([2, 0, 1], 'ban')
    """

    characters: str

    def __post_init__(self) -> None:
        if not self.characters:
            raise ValueError("a vocabulary needs at least one character, got none")
        if "".join(sorted(set(self.characters))) != self.characters:
            raise ValueError(
                f"the characters of a vocabulary must be sorted and distinct, "
                f"got {reprlib.repr(self.characters)}"
            )

    @classmethod
    def of(cls, text: str) -> "CharacterVocabulary":
        """The vocabulary of all characters that `text` holds."""
        return cls("".join(sorted(set(text))))

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> "CharacterVocabulary":
        """The vocabulary that `to_dict` described.

        Raises:
            ValueError: if `state` does not describe one.
        """
        characters = state.get("characters")
        if not isinstance(characters, str):
            raise ValueError(
                f"a vocabulary needs its 'characters' as a string, got {characters!r}"
            )
        return cls(characters)

    def to_dict(self) -> dict[str, Any]:
        """All that `from_dict` needs, ready for JSON."""
        return {"kind": "characters", "characters": self.characters}

    def __len__(self) -> int:
        return len(self.characters)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The smallest unsigned integer type that holds every token."""
        return np.min_scalar_type(len(self) - 1)

    def encode(self, text: str) -> NDArray[Any]:
        """The tokens of a text.

        Args:
            text: any text over the vocabulary.

        Returns:
            Tokens of shape `(len(text),)` and of the vocabulary's dtype.

        Raises:
            ValueError: if a character is not in the vocabulary; names the first of them.
        """
        known, codes = _code_points(self.characters), _code_points(text)
        beyond = int(known[-1]) + 1  # one entry for all characters after the last known one
        token_of = np.full(beyond + 1, -1, np.int32)
        token_of[known] = np.arange(len(self), dtype=np.int32)
        tokens = token_of[np.minimum(codes, beyond)]
        strange = np.flatnonzero(tokens < 0)
        if strange.size:
            where = int(strange[0])
            raise ValueError(
                f"the character {text[where]!r} at position {where} is not among the "
                f"{len(self)} of the vocabulary"
            )
        return tokens.astype(self.dtype)

    def decode(self, tokens: ArrayLike) -> str:
        """The text of some tokens.

        Args:
            tokens: integers of shape `(n,)`, each at least 0 and below the vocabulary's size.

        Returns:
            A text of `n` characters.

        Raises:
            ValueError: if a token stands for no character; names the first of them.
        """
        flat = np.asarray(tokens).ravel()
        strange = flat[(flat < 0) | (flat >= len(self))]
        if strange.size:
            raise ValueError(
                f"tokens must be at least 0 and below {len(self)}, got {strange[0]}"
            )
        return "".join(self.characters[token] for token in flat.tolist())


@dataclass(frozen=True)
class TokenFile:
    """Tokens in a `.npy` file, read by mapping it into memory.

    Args:
        path: the file's name.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = TokenFile(Path(folder, "tokens.npy"))
        ...     file.write(np.array([3, 1, 2], np.uint8))
        ...     file.open().tolist()
        [3, 1, 2]
    """

    path: Path

    def write(self, tokens: NDArray[Any]) -> None:
        """Write tokens of shape `(n,)`, all or nothing.

        Raises:
            OSError: if the file cannot be written.
        """
        with files.whole_file(self.path) as draft, draft.open("wb") as file:
            np.save(file, tokens, allow_pickle=False)

    def open(self) -> NDArray[Any]:
        """The tokens, of shape `(n,)`, read-only; the disk is read where they are looked at.

        Raises:
            OSError: if the file cannot be read.
            ValueError: if it does not hold tokens.
        """
        try:
            tokens = np.load(self.path, mmap_mode="r", allow_pickle=False)
        except OSError as error:
            raise _unreadable(self.path, error) from error
        except (ValueError, EOFError) as error:
            raise ValueError(f"{self.path} is not a file of tokens, or is damaged") from error
        if not isinstance(tokens, np.ndarray) or tokens.ndim != 1 or tokens.dtype.kind != "u":
            raise ValueError(f"{self.path} does not hold tokens: unsigned integers in a row")
        return tokens


def default_text() -> str:
    """The English text that ships inside Python: its help topics, in alphabetic order.

    Returns:
        About half a million characters, the same ones in every run of one Python version.

    Example:
        >>> default_text()[:22]
        'The "assert" statement'
    """
    # Here, for a quick import: the topics are one big module.
    from pydoc_data.topics import topics

    return "\n\n".join(topics[name].strip("\n") for name in sorted(topics)) + "\n"


def read_text(path: str | os.PathLike[str]) -> str:
    r"""A text file's content, with every line ended by `\n` and no byte-order mark.

    Args:
        path: a file of UTF-8 text.

    Returns:
        At least one character.

    Raises:
        OSError: if there is no such file, or it cannot be read.
        ValueError: if it is empty or not UTF-8.

    Example:
        >>> read_text("missing.txt")
        Traceback (most recent call last):
        FileNotFoundError: cannot read missing.txt: No such file or directory
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not UTF-8 text: byte {data[error.start]:#04x} at position {error.start}"
        ) from error
    if not text:
        raise ValueError(f"{path} is empty")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _unreadable(path: str | os.PathLike[str], error: OSError) -> OSError:
    return type(error)(f"cannot read {path}: {error.strerror}")


def _code_points(text: str) -> NDArray[np.uint32]:
    # The C speed of a codec, instead of a Python loop over characters.
    return np.frombuffer(text.encode("utf-32-le", errors="surrogatepass"), dtype="<u4")
