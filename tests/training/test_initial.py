"""First values: repeatable from a seed, of the size that the formula says."""

import math

import numpy as np
import pytest

import lazygraph as lg
from lazygraph import errors
from training import initial
from training.initial import Initializer

BOUNDED: list[tuple[Initializer, float]] = [
    (initial.uniform(0.3), 0.3),
    (initial.xavier_uniform(), math.sqrt(6 / 500)),
    (initial.xavier_uniform(5 / 3), 5 / 3 * math.sqrt(6 / 500)),
    (initial.kaiming_uniform(), math.sqrt(6 / 200)),
    (initial.kaiming_uniform(1.0), math.sqrt(3 / 200)),
]
DRAWING = [initial.normal(0.02), *[draw for draw, _ in BOUNDED]]


@pytest.mark.parametrize("draw", DRAWING)
def test_a_seed_repeats_and_a_generator_goes_on(draw: Initializer) -> None:
    first, again, other = draw(7, (3, 4)), draw(7, (3, 4)), draw(8, (3, 4))
    assert first.tolist() == again.tolist() != other.tolist()
    generator = lg.random.Generator(7)
    assert draw(generator, (3, 4)).tolist() == first.tolist()
    assert draw(generator, (3, 4)).tolist() != first.tolist()


@pytest.mark.parametrize(("draw", "bound"), BOUNDED)
def test_even_draws_fill_their_interval(draw: Initializer, bound: float) -> None:
    values = draw(0, (200, 300)).numpy()
    assert -bound <= values.min() < -0.999 * bound
    assert 0.999 * bound < values.max() <= bound
    # The standard error of the mean of 60,000 draws is 0.0024 of the bound.
    assert abs(values.mean()) < 0.01 * bound
    assert values.std() == pytest.approx(bound / math.sqrt(3), rel=0.01)


def test_normal_draws_have_their_mean_and_deviation() -> None:
    values = initial.normal(0.02)(0, (200, 300)).numpy()
    assert abs(values.mean()) < 0.0004
    assert values.std() == pytest.approx(0.02, rel=0.01)
    assert np.mean(np.abs(values) < 0.02) == pytest.approx(0.6827, abs=0.01)


@pytest.mark.parametrize("draw", [*DRAWING, initial.zeros, initial.ones])
def test_shape_and_dtype_are_those_asked_for(draw: Initializer) -> None:
    assert (draw(0, (3, 4)).shape, draw(0, (3, 4)).dtype) == ((3, 4), lg.float32)
    assert draw(0, (3, 4), lg.float64).dtype is lg.float64


def test_zeros_and_ones_draw_nothing() -> None:
    generator = lg.random.Generator(0)
    assert initial.zeros(generator, (2,)).tolist() == [0.0, 0.0]
    assert initial.ones(generator, (2,)).tolist() == [1.0, 1.0]
    assert generator.state_dict()["counter"] == 0


@pytest.mark.parametrize("name", ["xavier_uniform", "kaiming_uniform"])
@pytest.mark.parametrize("shape", [(3,), (3, 4, 5), (0, 4)])
def test_what_goes_by_inputs_and_outputs_needs_both(name: str, shape: tuple[int, ...]) -> None:
    message = rf"^{name}: the shape must be \(inputs, outputs\), neither of them 0; got \("
    with pytest.raises(errors.ShapeError, match=message):
        getattr(initial, name)()(0, shape)
