"""The plot of the loss is a picture of what was logged."""

import math
import os
from pathlib import Path
from typing import Any

import pytest

from training.plots import loss_plot

PNG = b"\x89PNG\r\n\x1a\n"


def logged(steps: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [
        {"step": n, "loss": 4.0 * 0.99**n, "lr": 1e-3 * (1 - n / steps)} for n in range(steps)
    ]
    rows[-1]["validation_loss"] = 1.0
    return rows


@pytest.mark.parametrize("steps", [1, 2, 99, 100, 1000])
def test_a_run_of_any_length_is_drawn(tmp_path: Path, steps: int) -> None:
    loss_plot(logged(steps), tmp_path / "loss.png")
    assert (tmp_path / "loss.png").read_bytes().startswith(PNG)
    assert os.listdir(tmp_path) == ["loss.png"]


def test_gaps_are_left_out(tmp_path: Path) -> None:
    whole, gaps = tmp_path / "whole.png", tmp_path / "gaps.png"
    rows = logged(10)
    loss_plot(rows, whole)
    bad = {"step": 3.5, "loss": math.nan, "lr": None, "validation_loss": math.inf}
    loss_plot([*rows[:4], bad, *rows[4:]], gaps)
    assert gaps.read_bytes() == whole.read_bytes()


def test_rows_without_losses_still_make_a_picture(tmp_path: Path) -> None:
    loss_plot([{"step": 1, "loss": math.nan}], tmp_path / "loss.png")
    assert (tmp_path / "loss.png").read_bytes().startswith(PNG)


def test_no_rows_make_no_picture(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"^a plot of the loss needs at least one row, got none$"
    ):
        loss_plot([], tmp_path / "loss.png")
    assert os.listdir(tmp_path) == []


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    path = tmp_path / "no" / "loss.png"
    with pytest.raises(FileNotFoundError) as caught:
        loss_plot(logged(2), path)
    assert str(caught.value) == f"cannot write {path}: No such file or directory"
