"""Pictures of a finished run."""

import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from training import files
from training.extras import needs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOSS, VALIDATION, RATE = "tab:blue", "tab:red", "tab:gray"


def loss_plot(
    rows: Sequence[Mapping[str, Any]], path: str | os.PathLike[str], title: str = "Loss"
) -> None:
    """Draw training loss, validation loss and learning rate over the steps, as a PNG file.

    Args:
        rows: what was logged: each with `step`, and any of `loss`, `lr`, `validation_loss`;
            values that are missing, None or not finite leave a gap.
        path: the file's name, in a folder that exists.
        title: what stands above the picture.

    Raises:
        ValueError: if there is no row.
        OSError: if the file cannot be written.
        MissingExtraError: if matplotlib is not installed.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     loss_plot([{"step": 1, "loss": 4.0, "lr": 0.1}], f"{folder}/loss.png")
        ...     pathlib.Path(folder, "loss.png").read_bytes()[1:4]
        b'PNG'
    """
    if not rows:
        raise ValueError("a plot of the loss needs at least one row, got none")
    with needs("matplotlib"):
        from matplotlib.figure import Figure  # not pyplot: no windows, no global state
    figure = Figure(figsize=(9.0, 5.0), dpi=120, layout="constrained")
    left = figure.subplots()
    right = left.twinx()
    left.set_zorder(right.get_zorder() + 1)
    left.patch.set_visible(False)  # else the axes in front would hide the rate behind
    _draw_losses(left, rows)
    _draw_rate(right, rows)
    left.set_title(title)
    lines = [*left.get_lines(), *right.get_lines()]
    named = [line for line in lines if not str(line.get_label()).startswith("_")]
    left.legend(handles=named, loc="upper right")
    with files.whole_file(path) as draft:
        figure.savefig(draft, format="png")


def _draw_losses(axes: "Axes", rows: Sequence[Mapping[str, Any]]) -> None:
    steps, losses = _series(rows, "loss")
    if len(steps) >= 100:
        axes.plot(steps, losses, color=LOSS, alpha=0.3, linewidth=0.8)
        axes.plot(
            *_smooth(steps, losses), color=LOSS, label="training loss, mean of nearby steps"
        )
    else:
        axes.plot(steps, losses, color=LOSS, marker=".", label="training loss")
    checked, validation = _series(rows, "validation_loss")
    if checked:
        axes.plot(checked, validation, "o-", color=VALIDATION, label="validation loss")
    axes.set_xlabel("step")
    axes.set_ylabel("loss (nats a token)")
    axes.grid(alpha=0.3)


def _draw_rate(axes: "Axes", rows: Sequence[Mapping[str, Any]]) -> None:
    steps, rates = _series(rows, "lr")
    axes.plot(steps, rates, color=RATE, linestyle="--", linewidth=1.0, label="learning rate")
    axes.set_ylabel("learning rate", color=RATE)
    axes.set_ylim(bottom=0.0)
    axes.tick_params(axis="y", labelcolor=RATE)
    axes.ticklabel_format(axis="y", style="sci", scilimits=(-2, 3))


def _series(rows: Sequence[Mapping[str, Any]], name: str) -> tuple[list[float], list[float]]:
    pairs = [(row["step"], row[name]) for row in rows if row.get(name) is not None]
    finite = [(step, value) for step, value in pairs if math.isfinite(value)]
    return [step for step, _ in finite], [value for _, value in finite]


def _smooth(steps: list[float], values: list[float]) -> tuple[list[float], list[float]]:
    # Means of about a hundred neighbouring bins, each drawn at the middle of its steps.
    width = max(len(values) // 100, 5)
    bins = range(0, len(values), width)
    means = [math.fsum(v) / len(v) for v in (values[i : i + width] for i in bins)]
    middles = [math.fsum(s) / len(s) for s in (steps[i : i + width] for i in bins)]
    return middles, means
