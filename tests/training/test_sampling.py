"""Tokens are drawn as often as the model believes, and a window never looks ahead."""

from typing import Any

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray

from lazygraph import errors
from training.sampling import continuation, draw

LOGITS = np.log(np.array([0.1, 0.2, 0.7]))


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_tokens_come_as_often_as_the_softmax_says(temperature: float, rng: Generator) -> None:
    expected = np.exp(LOGITS / temperature) / np.exp(LOGITS / temperature).sum()
    drawn = np.bincount([draw(LOGITS, temperature, rng) for _ in range(4000)], minlength=3)
    assert drawn / 4000 == pytest.approx(expected, abs=5 * 0.5 / np.sqrt(4000))


def test_at_temperature_zero_the_likeliest_comes_without_chance(rng: Generator) -> None:
    before = rng.bit_generator.state
    assert draw(LOGITS, 0.0, rng) == 2
    assert rng.bit_generator.state == before


def test_a_tiny_temperature_is_the_limit(rng: Generator) -> None:
    assert {draw(LOGITS, 1e-320, rng) for _ in range(20)} == {2}


def test_a_shift_of_all_scores_changes_nothing() -> None:
    def drawn(shift: float) -> list[int]:
        rng = np.random.default_rng(0)
        return [draw(LOGITS + shift, 1.0, rng) for _ in range(50)]

    assert drawn(0.0) == drawn(1024.0) == drawn(-1024.0)


def test_a_forbidden_token_never_comes(rng: Generator) -> None:
    logits = np.array([0.0, -np.inf, 0.0, -np.inf])
    assert {draw(logits, 1.0, rng) for _ in range(100)} == {0, 2}


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_scores_that_are_no_numbers_are_refused(bad: float, rng: Generator) -> None:
    with pytest.raises(errors.NonFiniteError, match=r"^the scores of tokens must be finite"):
        draw(np.array([0.0, bad]), 1.0, rng)


class Recorder:
    """Believes that n + 1 follows n, and remembers what it was shown."""

    def __init__(self) -> None:
        self.windows: list[list[int]] = []

    def __call__(self, window: NDArray[np.int32]) -> NDArray[Any]:
        self.windows.append(window[0].tolist())
        scores: NDArray[Any] = 9.0 * np.eye(100)[window[0] + 1]
        return scores


def test_the_window_has_one_size_and_slides(rng: Generator) -> None:
    seen = Recorder()
    assert continuation(seen, [5, 6], 4, 3, 0.0, rng) == [7, 8, 9, 10]
    assert seen.windows == [[5, 6, 0], [5, 6, 7], [6, 7, 8], [7, 8, 9]]


def test_of_a_long_prompt_the_end_counts(rng: Generator) -> None:
    seen = Recorder()
    assert continuation(seen, [1, 2, 3, 4, 5], 1, 3, 0.0, rng) == [6]
    assert seen.windows == [[3, 4, 5]]


def test_nothing_is_asked_for_nothing(rng: Generator) -> None:
    seen = Recorder()
    assert continuation(seen, [1], 0, 3, 1.0, rng) == []
    assert seen.windows == []


def test_a_prompt_must_hold_a_token(rng: Generator) -> None:
    with pytest.raises(ValueError, match=r"^a prompt must hold at least one token, got none$"):
        continuation(Recorder(), [], 3, 3, 1.0, rng)
