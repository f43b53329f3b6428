"""Learning-rate schedules: the values at every joint, and what is refused."""

import math
import re
from collections.abc import Callable
from dataclasses import FrozenInstanceError

import pytest

from training.schedules import (
    ConstantSchedule,
    CosineSchedule,
    LinearWarmupSchedule,
    LrSchedule,
    PolynomialSchedule,
    StepSchedule,
    get_lr,
)

SCHEDULES: list[LrSchedule] = [
    ConstantSchedule(0.1),
    LinearWarmupSchedule(0.1, 4),
    CosineSchedule(0.1, 4, 20, min_lr=0.01),
    PolynomialSchedule(0.1, 20, power=2.0, warmup_steps=4, min_lr=0.01),
    StepSchedule(0.1, (8, 16), warmup_steps=4),
]
WARMING = SCHEDULES[1:]


def rates(schedule: LrSchedule, steps: range) -> list[float]:
    return [schedule.lr_at(step) for step in steps]


def kind(schedule: LrSchedule) -> str:
    return type(schedule).__name__


@pytest.mark.parametrize("schedule", WARMING, ids=kind)
def test_the_first_update_of_a_warm_up_already_moves(schedule: LrSchedule) -> None:
    # Base .1, warm-up 4; the fault is 0, .025, .05, .075, .1.
    assert rates(schedule, range(5)) == pytest.approx([0.025, 0.05, 0.075, 0.1, 0.1], abs=1e-15)
    assert schedule.lr_at(3) == 0.1  # the top is met exactly, not up to rounding


def test_a_cosine_stays_down_after_its_end() -> None:
    # Base 1, total 4; the fault is to rise again: .1464466, .5.
    expected = [1.0, 0.8535534, 0.5, 0.1464466, 0.0, 0.0, 0.0]
    assert rates(CosineSchedule(1.0, 0, 4), range(7)) == pytest.approx(expected, abs=5e-8)
    assert CosineSchedule(1.0, 0, 4).lr_at(10**9) == 0.0


def test_a_cosine_meets_its_top_and_its_floor_exactly() -> None:
    schedule = CosineSchedule(0.3, 10, 110, min_lr=0.07)
    assert schedule.lr_at(0) == pytest.approx(0.03, rel=1e-15)
    assert schedule.lr_at(1) == pytest.approx(0.06, rel=1e-15)
    assert schedule.lr_at(9) == schedule.lr_at(10) == 0.3
    assert schedule.lr_at(60) == pytest.approx((0.3 + 0.07) / 2, rel=1e-15)
    assert 0.07 < schedule.lr_at(109) < 0.071
    assert schedule.lr_at(110) == schedule.lr_at(111) == schedule.lr_at(10**6) == 0.07


def test_no_rounding_stands_between_a_schedule_and_its_top() -> None:
    # 0.03 + (0.3 - 0.03) rounds to just below 0.3: the top must not be computed so.
    for low in (0.03, 0.07):
        assert CosineSchedule(0.3, 10, 110, low).lr_at(10) == 0.3
        assert PolynomialSchedule(0.3, 110, warmup_steps=10, min_lr=low).lr_at(10) == 0.3


def test_a_polynomial_meets_its_top_and_its_floor_exactly() -> None:
    straight = PolynomialSchedule(0.3, 110, warmup_steps=10, min_lr=0.1)
    assert straight.lr_at(9) == straight.lr_at(10) == 0.3
    assert straight.lr_at(60) == pytest.approx(0.2, rel=1e-15)
    assert straight.lr_at(109) == pytest.approx(0.102, rel=1e-15)
    assert straight.lr_at(110) == straight.lr_at(10**6) == 0.1


@pytest.mark.parametrize(
    ("power", "expected"),
    [
        (0.0, [1.0, 1.0, 1.0, 1.0, 0.0, 0.0]),
        (0.5, [1.0, math.sqrt(0.75), math.sqrt(0.5), 0.5, 0.0, 0.0]),
        (1.0, [1.0, 0.75, 0.5, 0.25, 0.0, 0.0]),
        (2.0, [1.0, 0.5625, 0.25, 0.0625, 0.0, 0.0]),
    ],
)
def test_a_polynomial_falls_as_a_power_of_what_is_left(
    power: float, expected: list[float]
) -> None:
    schedule = PolynomialSchedule(1.0, 4, power=power)
    assert rates(schedule, range(6)) == pytest.approx(expected, rel=1e-15)


def test_a_milestone_is_the_first_step_at_the_next_rate() -> None:
    schedule = StepSchedule(0.5, [3, 5], gamma=0.1)
    expected = [0.5, 0.5, 0.5, 0.05, 0.05, 0.005, 0.005]
    assert rates(schedule, range(7)) == pytest.approx(expected, rel=1e-15)


def test_a_milestone_inside_the_warm_up_counts_after_it() -> None:
    schedule = StepSchedule(1.0, [1], gamma=0.5, warmup_steps=2)
    assert rates(schedule, range(4)) == [0.5, 1.0, 0.5, 0.5]


def test_a_step_schedule_keeps_its_milestones_when_the_list_changes() -> None:
    milestones = [3]
    schedule = StepSchedule(1.0, milestones)
    milestones[0] = 1
    assert schedule.lr_at(2) == 1.0
    assert hash(schedule) == hash(StepSchedule(1.0, (3,)))


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        (LinearWarmupSchedule(1.0, 0), [1.0, 1.0]),
        (CosineSchedule(1.0, 0, 0, min_lr=0.5), [0.5, 0.5]),  # over before it began
        (CosineSchedule(1.0, 1, 1), [1.0, 0.0]),  # a climb and no descent
        (PolynomialSchedule(1.0, 0, min_lr=0.5), [0.5, 0.5]),
        (PolynomialSchedule(1.0, 1, warmup_steps=1), [1.0, 0.0]),
        (StepSchedule(1.0, []), [1.0, 1.0]),
        (StepSchedule(1.0, [0]), [0.1, 0.1]),
        (StepSchedule(1.0, [1], gamma=0.0), [1.0, 0.0]),
    ],
    ids=str,
)
def test_phases_of_length_zero_are_safe(schedule: LrSchedule, expected: list[float]) -> None:
    assert rates(schedule, range(2)) == expected


@pytest.mark.parametrize("schedule", SCHEDULES, ids=kind)
class TestEverySchedule:
    def test_depends_on_nothing_but_the_step(self, schedule: LrSchedule) -> None:
        forward = rates(schedule, range(30))
        assert [schedule.lr_at(step) for step in reversed(range(30))] == forward[::-1]

    def test_climbs_then_never_rises(self, schedule: LrSchedule) -> None:
        after = rates(schedule, range(3, 40))
        assert after == sorted(after, reverse=True)
        assert max(after) == 0.1

    def test_cannot_be_changed(self, schedule: LrSchedule) -> None:
        with pytest.raises(FrozenInstanceError):
            schedule.base_lr = 1.0  # type: ignore[attr-defined]

    def test_has_no_rate_before_the_first_step(self, schedule: LrSchedule) -> None:
        with pytest.raises(
            ValueError, match=r"^step must be a whole number of at least 0, got -1$"
        ):
            schedule.lr_at(-1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ConstantSchedule(-0.1), "base_lr must be finite and at least 0, got -0.1"),
        (lambda: ConstantSchedule(math.nan), "base_lr must be finite and at least 0, got nan"),
        (
            lambda: LinearWarmupSchedule(math.inf, 1),
            "base_lr must be finite and at least 0, got inf",
        ),
        (
            lambda: LinearWarmupSchedule(1.0, -1),
            "warmup_steps must be a whole number of at least 0, got -1",
        ),
        (
            lambda: CosineSchedule(1.0, 1.5, 2),  # type: ignore[arg-type]
            "warmup_steps must be a whole number of at least 0, got 1.5",
        ),
        (
            lambda: CosineSchedule(1.0, 0, -3),
            "total_steps must be a whole number of at least 0, got -3",
        ),
        (
            lambda: CosineSchedule(1.0, 5, 4),
            "warmup_steps must be at most total_steps, got 5 and 4",
        ),
        (
            lambda: CosineSchedule(1.0, 0, 4, min_lr=2.0),
            "min_lr must be at most base_lr, got 2.0 and 1.0",
        ),
        (
            lambda: CosineSchedule(1.0, 0, 4, min_lr=-1.0),
            "min_lr must be finite and at least 0, got -1.0",
        ),
        (
            lambda: PolynomialSchedule(1.0, 4, power=-1.0),
            "power must be finite and at least 0, got -1.0",
        ),
        (
            lambda: PolynomialSchedule(1.0, 4, warmup_steps=5),
            "warmup_steps must be at most total_steps, got 5 and 4",
        ),
        (
            lambda: StepSchedule(1.0, [1], gamma=math.nan),
            "gamma must be finite and at least 0, got nan",
        ),
        (lambda: StepSchedule(1.0, [2, 2]), "milestones must increase, got [2, 2]"),
        (
            lambda: StepSchedule(1.0, [-1]),
            "milestones must be a whole number of at least 0, got -1",
        ),
    ],
)
def test_a_wrong_argument_is_named(make: Callable[[], LrSchedule], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        make()


class TestGetLr:
    """`get_lr` equals nanoGPT's formula, edge by edge."""

    @pytest.mark.parametrize(
        ("it", "expected"),
        [
            (0, 6e-4 / 101),
            (1, 6e-4 * 2 / 101),
            (99, 6e-4 * 100 / 101),  # one short of the top
            (100, 6e-4),
            (325, 6e-5 + 5.4e-4 * (2 + math.sqrt(2)) / 4),
            (550, 3.3e-4),
            (1000, 6e-5),
            (1001, 6e-5),
            (10**9, 6e-5),
        ],
    )
    def test_golden_values(self, it: int, expected: float) -> None:
        assert get_lr(it, 6e-4, 6e-5, 100, 1000) == pytest.approx(expected, rel=1e-14)

    def test_has_the_rate_between_when_warm_up_ends_with_the_decay(self) -> None:
        # There the original divides zero by zero; the climb goes on to its top.
        values = [get_lr(it, 1.0, 0.1, 2, 2) for it in range(4)]
        assert values == pytest.approx([1 / 3, 2 / 3, 1.0, 0.1], rel=1e-15)

    def test_without_any_length_only_the_first_step_is_at_the_top(self) -> None:
        assert [get_lr(it, 1.0, 0.1, 0, 0) for it in range(3)] == [1.0, 0.1, 0.1]

    def test_a_warm_up_longer_than_the_decay_falls_to_the_floor(self) -> None:
        assert [get_lr(it, 1.0, 0.1, 3, 1) for it in range(5)] == [0.25, 0.5, 0.75, 0.1, 0.1]
