"""A file is whole or absent, whatever happens while it is written."""

import json
import os
from pathlib import Path

import pytest

from training import files


def test_the_content_is_what_was_written(tmp_path: Path) -> None:
    files.write_text(tmp_path / "a.txt", "caf\u00e9\r\n")
    files.write_json(tmp_path / "a.json", {"word": "caf\u00e9", "n": 1})
    assert (tmp_path / "a.txt").read_bytes() == b"caf\xc3\xa9\r\n"
    assert json.loads((tmp_path / "a.json").read_text("utf-8")) == {"word": "caf\u00e9", "n": 1}


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_interrupted_write_leaves_the_old_content_and_nothing_else(
    tmp_path: Path, error: type[BaseException]
) -> None:
    path = tmp_path / "a.txt"
    files.write_text(path, "old")

    def write_half() -> None:
        with files.whole_file(path) as draft:
            draft.write_text("ne")
            raise error

    with pytest.raises(error):
        write_half()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_the_draft_has_the_suffix_of_the_file_and_lies_beside_it(tmp_path: Path) -> None:
    with files.whole_file(tmp_path / "loss.png") as draft:
        assert draft.suffix == ".png"
        assert draft.parent == tmp_path
        draft.touch()


def test_a_file_may_be_read_by_those_who_may_read_new_files(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    files.write_text(tmp_path / "ours", "")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    missing = tmp_path / "missing" / "a.txt"
    with pytest.raises(FileNotFoundError) as caught:
        files.write_text(missing, "a")
    assert str(caught.value) == f"cannot write {missing}: No such file or directory"
    blocked = tmp_path / "file" / "a.txt"
    with pytest.raises(NotADirectoryError) as blocked_by_a_file:
        files.write_text(blocked, "a")
    assert str(blocked_by_a_file.value) == f"cannot write {blocked}: Not a directory"


def test_json_refuses_what_is_not_json_and_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        files.write_json(tmp_path / "a.json", {"loss": float("nan")})
    assert os.listdir(tmp_path) == []


def test_half_a_surrogate_pair_does_not_lose_the_rest(tmp_path: Path) -> None:
    files.write_text(tmp_path / "a.txt", "a\ud800b")
    assert (tmp_path / "a.txt").read_text() == "a?b"
