"""The main job, small: what it leaves behind, how it repeats, how it ends."""

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from training import cli
from training.run_folder import RunFolder
from training.text import read_text
from training.weights import load_weights

ROOT = Path(__file__).parents[2]
TEXT = "the quick brown fox jumps over the lazy dog\n" * 40
SIZES = {"layers": 1, "heads": 2, "width": 8, "block": 8, "batch": 4, "steps": 6}
PACE = {"eval-every": 4, "eval-batches": 2, "sample-every": 4, "sample-length": 20}
SMALL = [f"--{name}={value}" for name, value in {**SIZES, **PACE}.items()]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    return path


def train(text: Path, out: Path, *more: str) -> RunFolder:
    arguments = ["gpt", "--text", str(text), "--out", str(out), *SMALL, *more]
    assert cli.main(arguments) == 0
    return RunFolder(out)


def read_rows(folder: RunFolder) -> list[dict[str, Any]]:
    return [json.loads(line) for line in folder.metrics.read_text().splitlines()]


def test_a_run_leaves_everything_in_its_folder(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = train(text, tmp_path / "run")
    assert sorted(os.listdir(folder.path)) == sorted(file.name for file in folder.files())
    rows = read_rows(folder)
    assert [row["step"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert all(row["loss"] > 0 and row["lr"] > 0 and row["grad_norm"] > 0 for row in rows)
    assert [row["step"] for row in rows if "validation_loss" in row] == [4, 6]
    assert json.loads(folder.config.read_text())["options"]["steps"] == 6
    assert load_weights(folder.weights)[1] == {"step": "6"}
    assert folder.plot.read_bytes().startswith(b"\x89PNG")
    assert folder.samples.read_text().count("--- step ") == 2
    assert len(folder.graph.read_text().splitlines()) > 10
    out = capsys.readouterr().out
    assert "validation loss" in out
    assert "done after 6 of 6 steps" in out


def test_a_model_learns(text: Path, tmp_path: Path) -> None:
    rows = read_rows(train(text, tmp_path / "run", "--steps", "80", "--lr", "0.02"))
    assert rows[0]["loss"] == pytest.approx(np.log(len(set(TEXT))), rel=0.1)  # knows nothing
    assert rows[-1]["loss"] < 0.6 * rows[0]["loss"]
    assert rows[-1]["validation_loss"] < 0.6 * rows[0]["loss"]


def test_the_same_seed_gives_the_same_run_to_the_bit(text: Path, tmp_path: Path) -> None:
    first = train(text, tmp_path / "1", "--dropout", "0.1")
    second = train(text, tmp_path / "2", "--dropout", "0.1")
    other = train(text, tmp_path / "3", "--dropout", "0.1", "--seed", "7")
    assert first.weights.read_bytes() == second.weights.read_bytes()
    assert first.samples.read_bytes() == second.samples.read_bytes()
    assert first.weights.read_bytes() != other.weights.read_bytes()


def test_looking_at_a_run_does_not_change_it(text: Path, tmp_path: Path) -> None:
    often = train(text, tmp_path / "1", "--eval-every", "1", "--sample-every", "1")
    seldom = train(text, tmp_path / "2", "--log-every", "5", "--sample-length", "0")
    assert often.weights.read_bytes() == seldom.weights.read_bytes()
    assert [row["step"] for row in read_rows(seldom)] == [1, 4, 5, 6]


def test_a_finished_run_writes_text(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = train(text, tmp_path / "run")
    command = ["sample", str(folder.path), "--prompt", "the ", "--length", "30"]
    written = []
    for more in ([], [], ["--seed", "7"]):
        capsys.readouterr()
        assert cli.main([*command, *more]) == 0
        written.append(capsys.readouterr().out)
    assert written[0].startswith("the ")
    assert len(written[0]) == len("the ") + 30 + len("\n")
    assert written[0] == written[1] != written[2]


def test_an_existing_run_is_replaced_only_when_asked(text: Path, tmp_path: Path) -> None:
    folder = train(text, tmp_path / "run")
    before = folder.weights.read_bytes()
    again = ["gpt", "--text", str(text), "--out", str(folder.path), *SMALL, "--seed", "7"]
    assert cli.main(again) == 2
    assert folder.weights.read_bytes() == before
    assert cli.main([*again, "--overwrite"]) == 0
    assert folder.weights.read_bytes() != before
    assert len(read_rows(folder)) == 6


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot read {path}: No such file or directory"),
        (b"", "{path} is empty"),
        (b"\xff\xfe", "{path} is not UTF-8 text: byte 0xff at position 0"),
        (
            b"too short",
            "a text of 9 tokens is too short: its training part has 8, "
            "and a block of 8 needs 9",
        ),
    ],
)
def test_a_text_that_cannot_be_learnt_is_refused_before_a_file_is_made(
    content: bytes | None, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "text.txt"
    if content is not None:
        path.write_bytes(content)
    out = tmp_path / "run"
    assert cli.main(["gpt", "--text", str(path), "--out", str(out), *SMALL]) == 2
    expected = f"python -m training: --text: {message.format(path=path)}\n"
    assert capsys.readouterr().err == expected
    assert not out.exists()


def test_a_folder_that_cannot_be_written_to_is_refused(
    text: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = text / "run"
    assert cli.main(["gpt", "--text", str(text), "--out", str(out), *SMALL]) == 2
    expected = f"python -m training: --out: cannot write to {out}: Not a directory\n"
    assert capsys.readouterr().err == expected


def test_a_prompt_of_strange_characters_or_none_is_refused(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = train(text, tmp_path / "run")
    capsys.readouterr()
    assert cli.main(["sample", str(folder.path), "--prompt", "a?"]) == 2
    assert capsys.readouterr().err.startswith(
        "python -m training: --prompt: the character '?' "
    )


@pytest.mark.parametrize("name", ["config.json", "vocabulary.json", "weights.safetensors"])
def test_a_run_that_lacks_a_file_is_refused(
    name: str, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = train(text, tmp_path / "run")
    (folder.path / name).unlink()
    capsys.readouterr()
    assert cli.main(["sample", str(folder.path)]) == 2
    err = capsys.readouterr().err
    assert name in err
    assert err.count("\n") == 1


def test_an_interrupt_keeps_what_was_learnt(text: Path, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    command = [sys.executable, "-m", "training", "gpt", "--text", str(text)]
    command += ["--out", str(folder.path), *SMALL, "--steps", "1000000"]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Where the tests run in the background of a shell, they are deaf to it themselves.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 300
    while not (folder.metrics.exists() and len(folder.metrics.read_text().splitlines()) > 5):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)  # impatience must not spoil it
    out, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (130, "")
    assert "of 1000000 steps; all is kept in" in out
    steps = int(load_weights(folder.weights)[1]["step"])
    assert steps - len(read_rows(folder)) in (0, 1)  # at most the row of the last is missing
    assert folder.plot.read_bytes().startswith(b"\x89PNG")
    assert not [file for file in os.listdir(folder.path) if file.startswith(".")]
    assert cli.main(["sample", str(folder.path), "--length", "5"]) == 0


def test_the_text_of_a_run_is_what_was_read(text: Path, tmp_path: Path) -> None:
    folder = train(text, tmp_path / "run")
    characters = json.loads(folder.vocabulary.read_text())["characters"]
    tokens = np.load(folder.tokens)
    assert "".join(characters[token] for token in tokens) == read_text(text)
