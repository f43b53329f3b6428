"""Places for buffers: never two at once in one place, and little room wasted."""

import numpy as np
import pytest

import lazygraph as lg
from lazygraph.passes.memory import ALIGNMENT, Interval, aligned, place


def random_intervals(rng: np.random.Generator, count: int) -> list[Interval]:
    starts = np.sort(rng.integers(0, count, count))
    lengths = rng.geometric(0.2, count) - 1
    sizes = rng.choice([0, 1, 63, 64, 65, 1000, 4096, 100_000], count)
    return [
        Interval(int(size), int(start), int(start + length))
        for size, start, length in zip(sizes, starts, lengths, strict=True)
    ]


def most_alive(intervals: list[Interval]) -> int:
    """The bytes that are needed at the fullest step, whatever the places."""
    return max(
        sum(aligned(y.nbytes) for y in intervals if y.start <= x.start <= y.end)
        for x in intervals
    )


@pytest.mark.parametrize("count", [1, 2, 5, 30, 200])
def test_buffers_alive_together_lie_apart(count: int, rng: np.random.Generator) -> None:
    for _ in range(20):
        intervals = random_intervals(rng, count)
        offsets, size = place(intervals)
        for i, (x, at) in enumerate(zip(intervals, offsets, strict=True)):
            assert at % ALIGNMENT == 0
            assert 0 <= at <= at + x.nbytes <= size
            for y, other in zip(intervals[:i], offsets[:i], strict=True):
                if y.end >= x.start and x.nbytes and y.nbytes:  # y was there before
                    assert at + x.nbytes <= other or other + y.nbytes <= at


def test_the_block_is_hardly_larger_than_what_is_alive(rng: np.random.Generator) -> None:
    ratios = []
    for _ in range(50):
        intervals = random_intervals(rng, 100)
        ratios.append(place(intervals)[1] / max(1, most_alive(intervals)))
    assert min(ratios) >= 1.0
    assert max(ratios) < 1.5
    assert np.mean(ratios) < 1.15


def test_equal_buffers_of_a_chain_need_two_places() -> None:
    offsets, size = place([Interval(640, i, i + 1) for i in range(100)])
    assert size == 1280
    assert set(offsets) == {0, 640}


def test_nothing_needs_no_memory() -> None:
    assert place([]) == ([], 0)
    assert place([Interval(0, 0, 5), Interval(0, 1, 2)])[1] == 0


def test_gaps_that_touch_become_one() -> None:
    intervals = [
        Interval(64, 0, 1),
        Interval(64, 0, 1),
        Interval(64, 0, 9),
        Interval(128, 2, 3),
    ]
    offsets, size = place(intervals)
    assert (offsets, size) == ([0, 64, 128, 0], 192)


def test_a_long_chain_runs_in_the_memory_of_one_value() -> None:
    x = lg.asarray(np.ones(1000, np.float32))
    y = x
    for _ in range(50):
        y = lg.sin(y)
    explained = lg.explain(lg.sum(y))
    assert explained.arena_bytes <= 2 * 4096
    assert [step.where for step in explained.steps[1:50]] == ["in place"] * 49


def test_memory_is_reused_only_after_the_last_reading() -> None:
    # Each value is read again at the end, in the order in which they were made.
    x = lg.asarray(np.arange(4096, dtype=np.float32))
    made = [x]
    for i in range(12):
        made.append(lg.sin(made[-1]) * (i + 1.0))
    total = made[0]
    for y in made[1:]:
        total = total + y * y
    wanted = [x.numpy()]
    for i in range(12):
        wanted.append(np.sin(wanted[-1]) * np.float32(i + 1.0))
    expected = wanted[0]
    for array in wanted[1:]:
        expected = expected + array * array
    assert np.array_equal(total.numpy(), expected)
