"""Exponential, one-cycle, warm-restart and sequence schedules: values at every joint."""

import math
import re
from collections.abc import Callable
from dataclasses import FrozenInstanceError

import pytest

from training.schedules import (
    ConstantSchedule,
    CosineSchedule,
    ExponentialSchedule,
    LinearWarmupSchedule,
    LrSchedule,
    OneCycleSchedule,
    SequenceSchedule,
    WarmRestartsSchedule,
)


def rates(schedule: LrSchedule, steps: range) -> list[float]:
    return [schedule.lr_at(step) for step in steps]


SCHEDULES: list[LrSchedule] = [
    ExponentialSchedule(0.1, 0.9, warmup_steps=4, min_lr=0.01),
    OneCycleSchedule(0.1, 20),
    WarmRestartsSchedule(0.1, 5, factor=2, warmup_steps=4, min_lr=0.01),
    SequenceSchedule([LinearWarmupSchedule(0.1, 4), CosineSchedule(0.1, 0, 8)], [6]),
]


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda s: type(s).__name__)
class TestEverySchedule:
    def test_depends_on_nothing_but_the_step(self, schedule: LrSchedule) -> None:
        forward = rates(schedule, range(60))
        assert [schedule.lr_at(step) for step in reversed(range(60))] == forward[::-1]

    def test_never_leaves_its_range(self, schedule: LrSchedule) -> None:
        assert max(rates(schedule, range(300))) == 0.1
        assert min(rates(schedule, range(300))) >= 0.0
        assert math.isfinite(schedule.lr_at(10**12))

    def test_cannot_be_changed(self, schedule: LrSchedule) -> None:
        hash(schedule)
        with pytest.raises(FrozenInstanceError):
            schedule.base_lr = 1.0  # type: ignore[attr-defined]

    def test_has_no_rate_before_the_first_step(self, schedule: LrSchedule) -> None:
        with pytest.raises(ValueError, match=r"^step must be a whole number of at least 0, g"):
            schedule.lr_at(-1)


class TestExponential:
    def test_has_its_first_rate_once_and_its_floor_for_ever(self) -> None:
        schedule = ExponentialSchedule(0.8, 0.5, warmup_steps=2, min_lr=0.15)
        assert rates(schedule, range(7)) == [0.4, 0.8, 0.8, 0.4, 0.2, 0.15, 0.15]
        assert schedule.lr_at(10**9) == 0.15
        assert ExponentialSchedule(0.8, 0.5).lr_at(10**9) == 0.0

    def test_with_a_factor_of_one_is_constant_and_of_zero_is_one_step(self) -> None:
        assert rates(ExponentialSchedule(0.3, 1.0), range(3)) == [0.3, 0.3, 0.3]
        assert rates(ExponentialSchedule(0.3, 0.0), range(3)) == [0.3, 0.0, 0.0]


class TestOneCycle:
    def test_meets_its_joints_exactly(self) -> None:
        schedule = OneCycleSchedule(0.3, 101, rise=0.5, start_factor=10.0, end_factor=100.0)
        top = 0.5 * 101 - 1.0  # 49.5: between two steps
        assert schedule.lr_at(0) == 0.3 / 10.0
        assert 0.2999 < schedule.lr_at(49) < 0.3
        assert 0.2999 < schedule.lr_at(50) < 0.3
        share = (1.0 + math.cos(math.pi * (75 - top) / (100 - top))) / 2.0
        expected = 0.0003 * (1.0 - share) + 0.3 * share
        assert schedule.lr_at(75) == pytest.approx(expected, rel=1e-14)
        assert schedule.lr_at(100) == schedule.lr_at(101) == schedule.lr_at(10**9) == 0.0003

    def test_is_at_its_top_where_a_step_meets_it(self) -> None:
        assert OneCycleSchedule(0.3, 10, rise=0.5).lr_at(4) == 0.3
        assert OneCycleSchedule(0.3, 10, rise=0.3).lr_at(2) == 0.3

    @pytest.mark.parametrize("rise", [0.0, 0.05])
    def test_without_a_rise_begins_at_its_top(self, rise: float) -> None:
        found = rates(OneCycleSchedule(1.0, 3, rise, 2.0, 5.0), range(4))
        assert found == pytest.approx([1.0, 0.55, 0.1, 0.1], rel=1e-15)

    @pytest.mark.parametrize("steps", [0, 1])
    def test_of_no_length_is_at_its_end(self, steps: int) -> None:
        assert rates(OneCycleSchedule(1.0, steps, 0.3, 2.0, 5.0), range(2)) == [0.1, 0.1]


class TestWarmRestarts:
    def test_begins_each_period_at_the_top(self) -> None:
        schedule = WarmRestartsSchedule(0.3, 10, factor=2, warmup_steps=5, min_lr=0.1)
        assert schedule.lr_at(0) == pytest.approx(0.06, rel=1e-15)
        for start in (4, 5, 15, 35, 75):
            assert schedule.lr_at(start) == 0.3
        for middle in (10, 25, 55):
            assert schedule.lr_at(middle) == pytest.approx(0.2, rel=1e-15)
        for last in (14, 34, 74):
            assert 0.1 < schedule.lr_at(last) < 0.106

    def test_of_equal_periods_repeats_for_ever(self) -> None:
        schedule = WarmRestartsSchedule(1.0, 4)
        first = rates(schedule, range(4))
        assert first == pytest.approx([1.0, 0.8535534, 0.5, 0.1464466], rel=1e-7)
        assert rates(schedule, range(4, 8)) == first
        assert rates(schedule, range(4 * 10**9, 4 * 10**9 + 4)) == first

    def test_of_one_step_is_constant(self) -> None:
        assert rates(WarmRestartsSchedule(0.7, 1), range(5)) == [0.7] * 5


class TestSequence:
    def test_counts_each_part_from_its_own_start(self) -> None:
        schedule = SequenceSchedule(
            [LinearWarmupSchedule(1.0, 2), CosineSchedule(0.8, 0, 4), ConstantSchedule(0.1)],
            [3, 6],
        )
        cosine = [0.8, 0.8 * 0.8535534, 0.8 * 0.5]
        expected = [0.5, 1.0, 1.0, *cosine, 0.1, 0.1]
        assert rates(schedule, range(8)) == pytest.approx(expected, rel=1e-7)
        assert schedule.lr_at(10**9) == 0.1

    def test_leaves_out_parts_without_steps(self) -> None:
        parts = [ConstantSchedule(0.1), ConstantSchedule(0.2), ConstantSchedule(0.3)]
        assert rates(SequenceSchedule(parts, [0, 2]), range(4)) == [0.2, 0.2, 0.3, 0.3]
        assert rates(SequenceSchedule(parts, [1, 1]), range(3)) == [0.1, 0.3, 0.3]
        assert rates(SequenceSchedule(parts[:1], []), range(2)) == [0.1, 0.1]

    def test_keeps_its_parts_when_the_lists_change(self) -> None:
        parts: list[LrSchedule] = [ConstantSchedule(0.1), ConstantSchedule(0.2)]
        milestones = [2]
        schedule = SequenceSchedule(parts, milestones)
        parts[0], milestones[0] = ConstantSchedule(9.0), 0
        assert rates(schedule, range(3)) == [0.1, 0.1, 0.2]

    def test_may_stand_in_a_sequence(self) -> None:
        inner = SequenceSchedule([ConstantSchedule(0.1), ConstantSchedule(0.2)], [1])
        outer = SequenceSchedule([ConstantSchedule(0.5), inner], [2])
        assert rates(outer, range(5)) == [0.5, 0.5, 0.1, 0.2, 0.2]


ONE = ConstantSchedule(1.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ExponentialSchedule(1.0, 1.5), "gamma must be at most 1, got 1.5"),
        (
            lambda: ExponentialSchedule(1.0, -0.5),
            "gamma must be finite and at least 0, got -0.5",
        ),
        (
            lambda: ExponentialSchedule(1.0, 0.5, min_lr=2.0),
            "min_lr must be at most base_lr, got 2.0 and 1.0",
        ),
        (lambda: OneCycleSchedule(1.0, 5, rise=1.0), "rise must be in [0, 1), got 1.0"),
        (lambda: OneCycleSchedule(1.0, 5, rise=math.nan), "rise must be in [0, 1), got nan"),
        (
            lambda: OneCycleSchedule(1.0, 5, start_factor=0.5),
            "start_factor must be at least 1, got 0.5",
        ),
        (
            lambda: OneCycleSchedule(1.0, 5, end_factor=math.inf),
            "end_factor must be finite and at least 0, got inf",
        ),
        (
            lambda: OneCycleSchedule(-1.0, 5),
            "base_lr must be finite and at least 0, got -1.0",
        ),
        (
            lambda: WarmRestartsSchedule(1.0, 0),
            "period must be a whole number of at least 1, got 0",
        ),
        (
            lambda: WarmRestartsSchedule(1.0, 3, factor=1.5),  # type: ignore[arg-type]
            "factor must be a whole number of at least 1, got 1.5",
        ),
        (
            lambda: SequenceSchedule([ONE, ONE], []),
            "there must be one milestone between each two schedules, "
            "got 2 schedules and 0 milestones",
        ),
        (
            lambda: SequenceSchedule([], []),
            "there must be one milestone between each two schedules, "
            "got 0 schedules and 0 milestones",
        ),
        (
            lambda: SequenceSchedule([ONE, ONE, ONE], [3, 2]),
            "milestones must not decrease, got [3, 2]",
        ),
        (
            lambda: SequenceSchedule([ONE, ONE], [-1]),
            "milestones must be a whole number of at least 0, got -1",
        ),
    ],
)
def test_a_wrong_argument_is_named(make: Callable[[], LrSchedule], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        make()
