"""Batches are pure functions of seed and step, and never mix training with validation."""

from pathlib import Path

import numpy as np
import pytest

from training.data import TextBatches
from training.text import TokenFile

TOKENS = np.arange(1000, dtype=np.uint16)


def make(
    block_size: int = 8, batch_size: int = 4, seed: int = 0, split: float = 0.9
) -> TextBatches:
    return TextBatches(TOKENS, block_size, batch_size, seed, split)


def test_the_target_of_a_token_is_the_next_one() -> None:
    x, y = make().batch(0)
    assert x.shape == y.shape == (4, 8)
    assert x.dtype == y.dtype == np.int32
    assert (np.diff(x, axis=1) == 1).all()  # the tokens count up, so windows are whole
    assert (y == x + 1).all()


def test_a_batch_depends_on_seed_and_step_only() -> None:
    forward = [make().batch(step)[0] for step in range(20)]
    used = make()
    for step in (13, 2, 13, 19, 0):
        assert (used.batch(step)[0] == forward[step]).all()


def test_other_steps_and_other_seeds_give_other_batches() -> None:
    seen = {make(seed=s).batch(n)[0].tobytes() for s in range(10) for n in range(10)}
    assert len(seen) == 100


def test_a_far_step_costs_no_more_than_the_first() -> None:
    assert make(seed=2**63).batch(2**62)[0].shape == (4, 8)


def test_training_batches_reach_every_training_token_and_no_other() -> None:
    batches = make(batch_size=500)
    x, y = zip(*(batches.batch(step) for step in range(40)), strict=True)
    assert set(np.unique(x)) == set(range(899))
    assert set(np.unique(y)) == set(range(1, 900))  # the first has nothing before it


def test_windows_start_everywhere_with_equal_chance() -> None:
    # 892 places; 40,000 draws give about 45 each: chi-square stays near its 891 degrees.
    starts = np.concatenate([make(batch_size=4000).batch(n)[0][:, 0] for n in range(10)])
    counts = np.bincount(starts, minlength=892)
    expected = len(starts) / 892
    assert len(counts) == 892
    assert ((counts - expected) ** 2 / expected).sum() < 891 + 5 * np.sqrt(2 * 891)


def test_validation_meets_every_target_once_and_in_order() -> None:
    batches = make()
    x, y = zip(*batches.validation_batches(), strict=True)
    assert batches.validation_windows() == 12
    assert [len(rows) for rows in x] == [4, 4, 4]
    assert np.concatenate(x).ravel().tolist() == list(range(900, 996))
    assert np.concatenate(y).ravel().tolist() == list(range(901, 997))


def test_the_last_validation_window_needs_one_token_more_for_its_target() -> None:
    # 96 tokens hold twelve windows of 8, but the twelfth would have no last target.
    batches = TextBatches(np.arange(960), block_size=8, batch_size=4, seed=0)
    assert batches.validation_windows() == 11
    assert [*batches.validation_batches()][-1][1].max() == 952


def test_only_the_last_validation_batch_is_short() -> None:
    assert [len(x) for x, _ in make(batch_size=5).validation_batches()] == [5, 5, 2]


def test_a_limited_validation_spreads_over_the_whole_part() -> None:
    batches = make(batch_size=3)
    starts = [x[:, 0].tolist() for x, _ in batches.validation_batches(limit=2)]
    assert starts == [[900, 916, 932], [948, 964, 980]]
    everything = [x.tolist() for x, _ in batches.validation_batches()]
    assert [x.tolist() for x, _ in batches.validation_batches(limit=99)] == everything


def test_validation_can_be_repeated() -> None:
    batches = make()
    first, second = ([x.tolist() for x, _ in batches.validation_batches(2)] for _ in range(2))
    assert first == second


def test_tokens_may_lie_on_the_disk(tmp_path: Path) -> None:
    file = TokenFile(tmp_path / "tokens.npy")
    file.write(TOKENS)
    mapped = TextBatches(file.open(), 8, 4, seed=0)
    for here, there in zip(mapped.batch(3), make().batch(3), strict=True):
        assert type(here) is np.ndarray
        assert (here == there).all()


def test_the_shortest_text_that_works_works() -> None:
    batches = TextBatches(np.arange(90), block_size=8, batch_size=2, seed=0)
    assert batches.batch(0)[1].max() < 81
    assert [x.tolist() for x, _ in batches.validation_batches()] == [[[*range(81, 89)]]]


@pytest.mark.parametrize(
    ("length", "split", "part", "has"),
    [(80, 0.9, "validation", 8), (80, 0.1, "training", 8), (0, 0.9, "training", 0)],
)
def test_a_text_that_is_too_short_says_both_lengths(
    length: int, split: float, part: str, has: int
) -> None:
    tokens = np.zeros(length, np.uint8)
    message = (
        f"a text of {length} tokens is too short: its {part} part has {has}, "
        f"and a block of 8 needs 9"
    )
    with pytest.raises(ValueError, match=f"^{message}$"):
        TextBatches(tokens, 8, 4, seed=0, split=split)


def test_a_wrong_argument_is_named() -> None:
    with pytest.raises(ValueError, match=r"^block_size must be at least 1, got 0$"):
        make(block_size=0)
    with pytest.raises(ValueError, match=r"^batch_size must be at least 1, got -1$"):
        make(batch_size=-1)
    with pytest.raises(
        ValueError, match=r"^seed must be at least 0 and below 2\*\*64, got -1$"
    ):
        make(seed=-1)
    with pytest.raises(ValueError, match=r"^split must be between 0 and 1, got 1\.0$"):
        make(split=1.0)
    with pytest.raises(ValueError, match=r"^step must be at least 0, got -1$"):
        make().batch(-1)
    with pytest.raises(ValueError, match=r"^limit must be at least 1 or None, got 0$"):
        make().validation_batches(limit=0)
