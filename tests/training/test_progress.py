"""Progress is a bar for people, lines for files, and never eats a text."""

import io
import subprocess
import sys
from pathlib import Path

import pytest

from training.progress import PlainProgress, Report, TerminalProgress, duration, progress


class Terminal(io.StringIO):
    """A stream that says that people watch it."""

    def isatty(self) -> bool:
        return True


def report(step: int, total: int = 100) -> Report:
    return Report(step, total, 2.5, 1e-3, tokens_per_second=48_000.0, seconds_left=75.0)


def test_a_report_is_one_line_that_stays_in_its_columns() -> None:
    line = "step   7/100  loss 2.5000  lr 1.0e-03  48,000 tokens/s  1:15 left"
    assert str(report(7)) == line
    assert len(str(report(100))) == len(line)


def test_what_is_unknown_is_left_out() -> None:
    assert str(Report(1, 9, float("nan"), 0.0)) == "step 1/9  loss nan  lr 0.0e+00"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "0:00"),
        (0.2, "0:01"),
        (59.0, "0:59"),
        (59.5, "1:00"),
        (3599.1, "1:00:00"),
        (86_400.0, "24:00:00"),
    ],
)
def test_a_duration_counts_the_second_that_has_begun(seconds: float, words: str) -> None:
    assert duration(seconds) == words


class TestPlainLines:
    def test_come_first_last_and_every_few_seconds(self) -> None:
        seconds = iter([0.0, 0.1, 1.0, 4.9, 5.2, 6.0, 10.3, 10.4])
        stream = io.StringIO()
        plain = PlainProgress(stream, every_seconds=5.0, clock=seconds.__next__)
        for step in (1, 2, 3, 4, 5, 6, 100):
            plain.update(report(step))
        shown = [line.split("/")[0] for line in stream.getvalue().splitlines()]
        assert shown == ["step   1", "step   4", "step   6", "step 100"]

    def test_hold_no_control_codes(self) -> None:
        stream = io.StringIO()
        with progress(stream) as shown:
            shown.update(report(1))
            shown.say("[bold]a[/bold] :smile:")
        assert stream.getvalue() == f"{report(1)}\n[bold]a[/bold] :smile:\n"

    def test_do_not_load_rich(self) -> None:
        program = (
            "import sys; from training.progress import progress\n"
            "with progress() as shown: shown.say('x')\n"
            "sys.exit('rich' in sys.modules)"
        )
        root = Path(__file__).parents[2]
        process = subprocess.run(
            [sys.executable, "-c", program], cwd=root, capture_output=True, check=False
        )
        assert (process.returncode, process.stdout) == (0, b"x\n")


class TestBar:
    def test_shows_steps_and_figures(self) -> None:
        stream = Terminal()
        with progress(stream) as shown:
            assert isinstance(shown, TerminalProgress)
            shown.update(report(40))
        assert "40/100" in stream.getvalue()
        assert "loss 2.5000" in stream.getvalue()

    def test_shows_a_sample_as_it_is(self) -> None:
        # Brackets, colons and addresses of a learnt text must not be read as markup.
        text = "def f(x)[bold]: :smile: [/] 'http://x.org' 12"
        stream = Terminal()
        with progress(stream) as shown:
            shown.say(text)
        assert text in stream.getvalue()

    def test_leaves_the_terminal_in_order_after_an_interrupt(self) -> None:
        stream = Terminal()

        def stop_early() -> None:
            with progress(stream) as shown:
                shown.update(report(1))
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            stop_early()
        hidden, visible = "\x1b[?25l", "\x1b[?25h"
        assert stream.getvalue().count(hidden) == stream.getvalue().count(visible)
