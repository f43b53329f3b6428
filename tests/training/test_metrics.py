"""Rows of numbers are valid JSON, line by line; the pace is that of the latest steps."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from training.metrics import JsonLines, Throughput


def refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")


def read(path: Path) -> list[object]:
    return [json.loads(line, parse_constant=refuse) for line in path.read_text().splitlines()]


class TestJsonLines:
    def test_every_value_is_valid_json(self, tmp_path: Path) -> None:
        path = tmp_path / "rows.jsonl"
        with JsonLines(path) as rows:
            rows.write({"step": 1, "loss": math.nan, "norm": math.inf, "low": -math.inf})
            rows.write(
                {
                    "loss": np.float32(0.5),
                    "norm": np.float32(np.inf),
                    "wide": np.longdouble(0.25),
                    "step": np.int64(2),
                    "flag": np.bool_(True),
                    "array": np.array([1.0, np.nan]),
                    "nested": {"a": (1, math.nan)},
                    "text": "caf\u00e9",
                    "none": None,
                }
            )
        assert read(path) == [
            {"step": 1, "loss": None, "norm": None, "low": None},
            {
                "loss": 0.5,
                "norm": None,
                "wide": 0.25,
                "step": 2,
                "flag": True,
                "array": [1.0, None],
                "nested": {"a": [1, None]},
                "text": "caf\u00e9",
                "none": None,
            },
        ]

    def test_a_row_can_be_read_as_soon_as_it_is_written(self, tmp_path: Path) -> None:
        path = tmp_path / "rows.jsonl"
        with JsonLines(path) as rows:
            for step in range(3):
                rows.write({"step": step})
                assert len(read(path)) == step + 1

    def test_an_opened_file_is_continued(self, tmp_path: Path) -> None:
        path = tmp_path / "rows.jsonl"
        for step in (1, 2):
            with JsonLines(path) as rows:
                rows.write({"step": step})
        assert read(path) == [{"step": 1}, {"step": 2}]

    def test_a_row_that_is_no_json_leaves_no_half_line(self, tmp_path: Path) -> None:
        path = tmp_path / "rows.jsonl"
        with JsonLines(path) as rows:
            with pytest.raises(TypeError):
                rows.write({"step": 1, "loss": object()})
            rows.write({"step": 2})
        assert read(path) == [{"step": 2}]

    def test_a_file_that_cannot_be_opened_is_named(self, tmp_path: Path) -> None:
        path = tmp_path / "no" / "rows.jsonl"
        with pytest.raises(FileNotFoundError) as caught:
            JsonLines(path)
        assert str(caught.value) == f"cannot write {path}: No such file or directory"

    def test_the_file_is_closed_when_the_block_fails(self, tmp_path: Path) -> None:
        rows = JsonLines(tmp_path / "rows.jsonl")
        with pytest.raises(KeyboardInterrupt), rows:
            raise KeyboardInterrupt
        with pytest.raises(ValueError, match="closed file"):
            rows.write({})


def clock_of(*seconds: float) -> Callable[[], float]:
    return iter(seconds).__next__


class TestThroughput:
    def test_is_tokens_over_seconds(self) -> None:
        throughput = Throughput(clock=clock_of(10.0, 12.0, 14.0))
        throughput.advance(100)
        throughput.advance(300)
        assert throughput.tokens_per_second() == 100.0
        assert throughput.seconds_for(250) == 2.5
        assert throughput.seconds_for(0) == 0.0

    def test_looks_back_on_the_window_only(self) -> None:
        throughput = Throughput(window=2, clock=clock_of(0.0, 100.0, 103.0, 104.0))
        for _ in range(3):
            throughput.advance(10)
        assert throughput.tokens_per_second() == 5.0  # 20 in 4 seconds, not 30 in 104

    def test_is_unknown_before_time_has_passed(self) -> None:
        throughput = Throughput(clock=clock_of(1.0, 1.0))
        assert throughput.tokens_per_second() is None
        throughput.advance(5)
        assert throughput.tokens_per_second() is None
        assert throughput.seconds_for(5) is None

    def test_the_real_clock_runs(self) -> None:
        throughput = Throughput()
        while throughput.tokens_per_second() is None:
            throughput.advance(1)
        assert (throughput.tokens_per_second() or 0.0) > 0.0

    def test_refuses_an_empty_window(self) -> None:
        with pytest.raises(ValueError, match=r"^window must be at least 1, got 0$"):
            Throughput(window=0)
