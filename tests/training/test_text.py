"""Text becomes tokens and comes back; files that hold no text are refused."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from training.text import CharacterVocabulary, TokenFile, default_text, read_text

TEXT = "The caf\u00e9 \u2014 na\u00efve,\n\U0001f40d and \u4f60\u597d!"


class TestVocabulary:
    def test_holds_the_distinct_characters_in_order(self) -> None:
        assert CharacterVocabulary.of("banana\n").characters == "\nabn"
        assert len(CharacterVocabulary.of("banana\n")) == 4

    def test_decoding_undoes_encoding(self) -> None:
        vocabulary = CharacterVocabulary.of(TEXT)
        assert vocabulary.decode(vocabulary.encode(TEXT)) == TEXT
        assert vocabulary.decode(vocabulary.encode("")) == ""
        assert vocabulary.decode([]) == ""

    def test_a_token_is_the_place_in_the_order(self) -> None:
        assert CharacterVocabulary.of("cab").encode("abcab").tolist() == [0, 1, 2, 0, 1]

    @pytest.mark.parametrize(
        ("size", "dtype"),
        [(1, np.uint8), (256, np.uint8), (257, np.uint16), (65537, np.uint32)],
    )
    def test_tokens_are_as_small_as_can_be(self, size: int, dtype: type) -> None:
        characters = "".join(map(chr, range(0x20000, 0x20000 + size)))
        tokens = CharacterVocabulary(characters).encode(characters)
        assert tokens.dtype == dtype
        assert tokens.tolist() == list(range(size))

    @pytest.mark.parametrize(
        ("text", "named"),
        [
            ("bd?", "'?' at position 2"),  # before the first that is known
            ("dcb", "'c' at position 1"),  # between two
            ("~bc", "'~' at position 0"),  # after the last
            ("\U0010ffff", "'\\U0010ffff' at position 0"),
        ],
    )
    def test_the_first_unknown_character_is_named(self, text: str, named: str) -> None:
        message = f"the character {named} is not among the 2 of the vocabulary"
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            CharacterVocabulary.of("bd").encode(text)

    @pytest.mark.parametrize("token", [-1, 3])
    def test_an_unknown_token_is_named(self, token: int) -> None:
        with pytest.raises(ValueError, match=f"at least 0 and below 3, got {token}$"):
            CharacterVocabulary.of("abc").decode([0, token, 7])

    def test_survives_json(self) -> None:
        vocabulary = CharacterVocabulary.of(TEXT)
        state = json.loads(json.dumps(vocabulary.to_dict()))
        assert CharacterVocabulary.from_dict(state) == vocabulary

    @pytest.mark.parametrize(
        ("state", "message"),
        [
            ({}, "a vocabulary needs its 'characters' as a string, got None"),
            (
                {"characters": ["a"]},
                "a vocabulary needs its 'characters' as a string, got ['a']",
            ),
            ({"characters": ""}, "a vocabulary needs at least one character, got none"),
            (
                {"characters": "ba"},
                "the characters of a vocabulary must be sorted and distinct, got 'ba'",
            ),
        ],
    )
    def test_refuses_a_state_that_is_none(self, state: dict[str, object], message: str) -> None:
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            CharacterVocabulary.from_dict(state)


class TestDefaultText:
    def test_is_english_and_long_enough_to_learn_from(self) -> None:
        text = default_text()
        assert text.startswith('The "assert" statement\n')
        assert len(text) > 300_000
        assert text.count(" the ") > 3000
        assert text.endswith("\n")

    def test_is_the_same_in_another_process(self) -> None:
        program = "import sys, training.text as t; sys.stdout.write(t.default_text())"
        other = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": "7", "PYTHONIOENCODING": "utf-8"},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            check=True,
        )
        assert other.stdout.decode("utf-8") == default_text()


class TestReadText:
    def test_lines_end_alike_and_the_byte_order_mark_is_gone(self, tmp_path: Path) -> None:
        path = tmp_path / "a.txt"
        path.write_bytes(b"\xef\xbb\xbfcaf\xc3\xa9\r\nb\rc\n")
        assert read_text(path) == "caf\u00e9\nb\nc\n"

    def test_a_missing_file_is_named(self, tmp_path: Path) -> None:
        path = tmp_path / "no.txt"
        with pytest.raises(FileNotFoundError) as caught:
            read_text(path)
        assert str(caught.value) == f"cannot read {path}: No such file or directory"

    def test_a_folder_is_not_a_text(self, tmp_path: Path) -> None:
        with pytest.raises(IsADirectoryError) as caught:
            read_text(tmp_path)
        assert str(caught.value) == f"cannot read {tmp_path}: Is a directory"

    @pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf"])
    def test_an_empty_file_is_refused(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "a.txt"
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"a\.txt is empty$"):
            read_text(path)

    def test_the_first_byte_that_is_not_utf8_is_named(self, tmp_path: Path) -> None:
        path = tmp_path / "a.txt"
        path.write_bytes(b"caf\xe9 au lait")
        message = f"{path} is not UTF-8 text: byte 0xe9 at position 3"
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            read_text(path)


class TestTokenFile:
    @pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
    def test_gives_back_what_it_got_as_a_read_only_map(
        self, tmp_path: Path, dtype: type[np.unsignedinteger]
    ) -> None:
        tokens = np.arange(200, dtype=dtype)
        file = TokenFile(tmp_path / "tokens.npy")
        file.write(tokens)
        mapped = file.open()
        assert isinstance(mapped, np.memmap)
        assert mapped.dtype == dtype
        assert (mapped == tokens).all()
        with pytest.raises(ValueError, match="read-only"):
            mapped[0] = 1
        assert os.listdir(tmp_path) == ["tokens.npy"]

    def test_keeps_its_name_whatever_it_ends_in(self, tmp_path: Path) -> None:
        TokenFile(tmp_path / "tokens.bin").write(np.zeros(3, np.uint8))
        assert os.listdir(tmp_path) == ["tokens.bin"]

    def test_a_missing_file_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(
            FileNotFoundError, match=r"^cannot read .*tokens\.npy: No such file"
        ):
            TokenFile(tmp_path / "tokens.npy").open()

    @pytest.mark.parametrize("damage", ["empty", "short", "other"])
    def test_a_damaged_file_is_refused(self, tmp_path: Path, damage: str) -> None:
        path = tmp_path / "tokens.npy"
        TokenFile(path).write(np.zeros(9, np.uint8))
        whole = path.read_bytes()
        path.write_bytes({"empty": b"", "short": whole[:-1], "other": b"hello"}[damage])
        with pytest.raises(ValueError, match=r"is not a file of tokens, or is damaged$"):
            TokenFile(path).open()

    def test_an_array_that_is_not_of_tokens_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "tokens.npy"
        np.save(path, np.zeros((2, 2)))
        with pytest.raises(
            ValueError, match="does not hold tokens: unsigned integers in a row"
        ):
            TokenFile(path).open()
