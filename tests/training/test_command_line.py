"""What is typed becomes choices; what cannot be followed is one sentence and code 2."""

import math
import os
from pathlib import Path

import pytest

from training import cli
from training.options import GptRun, SampleRun, UsageError
from training.schedules import CosineSchedule


def complaint(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What the command says, having made sure that it is one line, with exit code 2."""
    assert cli.main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("python -m training: ")
    assert err.count("\n") == 1
    return err.removeprefix("python -m training: ").removesuffix("\n")


def test_nothing_typed_means_the_defaults() -> None:
    assert cli.parse(["gpt"]) == GptRun()
    assert cli.parse(["sample", "runs/gpt"]) == SampleRun(Path("runs/gpt"))


def test_every_option_reaches_its_field() -> None:
    typed = """gpt --text a.txt --out b --overwrite --steps 10 --batch 2 --block 3 --layers 4
        --heads 5 --width 10 --dropout 0.5 --lr 0.25 --min-lr 0.125 --warmup 6
        --weight-decay 0.75 --clip inf --log-every 7 --eval-every 8 --eval-batches 0
        --sample-every 9 --sample-length 11 --temperature 0 --seed 12"""
    assert cli.parse(typed.split()) == GptRun(
        text=Path("a.txt"),
        out=Path("b"),
        overwrite=True,
        steps=10,
        batch=2,
        block=3,
        layers=4,
        heads=5,
        width=10,
        dropout=0.5,
        lr=0.25,
        min_lr=0.125,
        warmup=6,
        weight_decay=0.75,
        clip=math.inf,
        log_every=7,
        eval_every=8,
        eval_batches=0,
        sample_every=9,
        sample_length=11,
        temperature=0.0,
        seed=12,
    )
    typed = "sample r --prompt=--x --length 0 --temperature 2 --seed 3"
    assert cli.parse(typed.split()) == SampleRun(Path("r"), "--x", 0, 2.0, 3)


def test_the_schedule_fills_in_what_was_left_open() -> None:
    assert GptRun(steps=400, lr=0.5).schedule() == CosineSchedule(0.5, 20, 400, 0.05)
    assert GptRun(steps=1).schedule().warmup_steps == 0
    chosen = GptRun(steps=9, lr=0.5, min_lr=0.0, warmup=9)
    assert chosen.schedule() == CosineSchedule(0.5, 9, 9, 0.0)


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("--steps 0", "--steps must be at least 1, got 0"),
        ("--batch -2", "--batch must be at least 1, got -2"),
        ("--block 0", "--block must be at least 1, got 0"),
        ("--layers 0", "--layers must be at least 1, got 0"),
        ("--heads 0", "--heads must be at least 1, got 0"),
        ("--width 97", "--width must be a multiple of --heads, got 97 and 4"),
        ("--dropout 1", "--dropout must be at least 0 and below 1, got 1.0"),
        ("--lr nan", "--lr must be finite and above 0, got nan"),
        ("--lr inf", "--lr must be finite and above 0, got inf"),
        ("--lr 0.1 --min-lr 0.2", "--min-lr must be at most --lr, got 0.2 and 0.1"),
        ("--steps 5 --warmup 6", "--warmup must be at most --steps, got 6 and 5"),
        ("--clip 0", "--clip must be above 0, got 0.0"),
        ("--weight-decay -1", "--weight-decay must be finite and at least 0, got -1.0"),
        ("--log-every 0", "--log-every must be at least 1, got 0"),
        ("--sample-length -1", "--sample-length must be at least 0, got -1"),
        ("--temperature -1", "--temperature must be finite and at least 0, got -1.0"),
        ("--seed -1", "--seed must be at least 0 and below 2**63, got -1"),
        ("--steps many", "--steps: needs a whole number, got 'many'"),
        ("--steps 1.5", "--steps: needs a whole number, got '1.5'"),
        ("--lr fast", "--lr: needs a number, got 'fast'"),
        ("--stps 5", "unknown option --stps; did you mean --steps?"),
        ("--stps=5", "unknown option --stps; did you mean --steps?"),
        ("--step 5", "unknown option --step; did you mean --steps?"),  # no abbreviations
        ("--qqq", "unknown option --qqq"),
        ("more", "one argument too many: 'more'"),
    ],
)
def test_a_wrong_option_is_named(
    typed: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert complaint(capsys, "gpt", *typed.split()) == message


def test_a_value_that_is_missing_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert complaint(capsys, "gpt", "--steps").startswith("--steps: ")
    assert complaint(capsys, "sample").endswith(" run")


def test_a_command_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    assert complaint(capsys) == "a command is needed: gpt or sample"
    assert complaint(capsys, "--steps", "3") == "a command comes before --steps: gpt or sample"
    assert "'gtp'" in complaint(capsys, "gtp")


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("--length -1", "--length must be at least 0, got -1"),
        ("--temperature nan", "--temperature must be finite and at least 0, got nan"),
        ("--steps 5", "unknown option --steps"),
    ],
)
def test_a_wrong_option_of_sample_is_named(
    typed: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert complaint(capsys, "sample", "runs/gpt", *typed.split()) == message


@pytest.mark.parametrize("command", ["gpt", "sample"])
def test_the_help_page_names_every_option(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        cli.main([command, "--help"])
    assert left.value.code == 0
    words = capsys.readouterr().out.split()
    fields = (GptRun if command == "gpt" else SampleRun).__dataclass_fields__
    named = {"--" + name.replace("_", "-") for name in fields} - {"--run"}
    assert named <= set(words)


def test_choices_made_in_python_are_checked_too() -> None:
    with pytest.raises(UsageError, match=r"^--steps must be at least 1, got 0$"):
        GptRun(steps=0)


def test_a_wrong_option_touches_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    complaint(capsys, "gpt", "--out", "run", "--steps", "0")
    assert os.listdir(tmp_path) == []
