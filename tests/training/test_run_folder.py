"""A run gets a folder of its own and never takes another's."""

import os
from pathlib import Path

import pytest

from training.options import UsageError
from training.run_folder import RunFolder, claim


def refusal(out: Path | None, overwrite: bool = False) -> str:
    with pytest.raises(UsageError) as caught:
        claim(out, overwrite)
    return str(caught.value)


def test_a_new_folder_is_made_with_all_above_it(tmp_path: Path) -> None:
    folder = claim(tmp_path / "a" / "b", overwrite=False)
    assert folder.path == tmp_path / "a" / "b"
    assert os.listdir(folder.path) == []


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    assert claim(tmp_path, overwrite=False).path == tmp_path


def test_a_folder_with_files_is_refused_and_kept(tmp_path: Path) -> None:
    (tmp_path / "weights.safetensors").write_text("precious")
    assert refusal(tmp_path) == (
        f"--out: {tmp_path} holds files already; name another folder, "
        f"or replace the run in it by --overwrite"
    )
    assert (tmp_path / "weights.safetensors").read_text() == "precious"


def test_overwriting_deletes_the_files_of_a_run_and_no_other(tmp_path: Path) -> None:
    for file in RunFolder(tmp_path).files():
        file.write_text("old")
    (tmp_path / "notes.txt").write_text("mine")
    claim(tmp_path, overwrite=True)
    assert os.listdir(tmp_path) == ["notes.txt"]


def test_without_a_name_the_next_free_one_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    taken = []
    for _ in range(3):
        folder = claim(None, overwrite=False)
        folder.config.write_text("{}")
        taken.append(folder.path.as_posix())
    assert taken == ["runs/gpt", "runs/gpt-2", "runs/gpt-3"]
    assert claim(None, overwrite=True).path == Path("runs/gpt")
    assert not Path("runs/gpt/config.json").exists()


def test_a_free_name_left_between_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("runs/gpt-3").mkdir(parents=True)
    Path("runs/gpt").write_text("a file, not a folder")
    assert claim(None, overwrite=False).path == Path("runs/gpt-2")


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_place_that_cannot_be_written_to_is_named(tmp_path: Path, overwrite: bool) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    below = file / "run"
    assert refusal(below, overwrite) == f"--out: cannot write to {below}: Not a directory"
    assert refusal(file, overwrite).startswith(f"--out: cannot write to {file}: ")
    assert file.read_text() == "mine"


class TestReadJson:
    def test_names_the_folder_that_is_missing(self, tmp_path: Path) -> None:
        folder = RunFolder(tmp_path / "no")
        with pytest.raises(UsageError) as caught:
            folder.read_json(folder.config)
        assert str(caught.value) == (
            f"{tmp_path / 'no'} is not the folder of a run: cannot read config.json: "
            f"No such file or directory"
        )

    @pytest.mark.parametrize("content", ["", "{", "[]", "3"])
    def test_names_the_file_that_is_damaged(self, tmp_path: Path, content: str) -> None:
        folder = RunFolder(tmp_path)
        folder.config.write_text(content)
        with pytest.raises(UsageError) as caught:
            folder.read_json(folder.config)
        assert str(caught.value).startswith(f"{folder.config} is damaged: ")
