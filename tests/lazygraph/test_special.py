"""The error function: accuracy, symmetry, special values, and bits of each element alone."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lazygraph.ops.special import erf

Array = NDArray[Any]
FLOATS = pytest.mark.parametrize("dtype", [np.float32, np.float64])

# erf of the double on the left, computed in forty digits and rounded once.
KNOWN = (
    (1e-300, 1.1283791670955126e-300),
    (1e-9, 1.1283791670955127e-09),
    (0.125, 0.1403162048013338),
    (0.5, 0.5204998778130465),
    (1.0, 0.8427007929497149),
    (1.149, 0.8958228197172526),
    (1.151, 0.8964241745988837),
    (1.25, 0.9229001282564583),
    (1.75, 0.9866716712191824),
    (2.5, 0.999593047982555),
    (4.0, 0.9999999845827421),
    (5.5, 0.9999999999999927),
)


@pytest.fixture(autouse=True)
def _as_in_a_run() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def value(x: Array) -> Array:
    out = np.full_like(x, 7.0, order="C")
    erf(x, out)
    return out


def exact(x: Array) -> Array:
    return np.array([math.erf(v) for v in x.ravel().tolist()]).reshape(x.shape)


def same_bits(a: Array, b: Array) -> bool:
    return a.shape == b.shape and a.tobytes() == b.tobytes()


def units_off(found: Array, wanted: Array) -> float:
    """The largest error in units in the last place of the wanted value; below one for 1."""
    below = np.nextafter(wanted.astype(found.dtype), found.dtype.type(0))
    return float(np.max(np.abs(found - wanted) / np.spacing(np.abs(below).astype(found.dtype))))


def magnitudes(dtype: Any) -> Array:
    """Floats of every magnitude up to 8, and all the neighbours of the seam and of the end."""
    bits = np.dtype(f"uint{np.dtype(dtype).itemsize * 8}").type
    eight = int(np.array(8, dtype).view(bits))
    spread = np.linspace(0, eight, 40_001).astype(bits).view(dtype)
    tiny = np.arange(200).astype(bits).view(dtype)
    centres = [int(np.array(c, dtype).view(bits)) for c in (1.15, 1.1500216, 3.95, 5.95)]
    near = np.concatenate([np.arange(c - 1000, c + 1000) for c in centres])
    even = np.linspace(0, 6.5, 60_000).astype(dtype)
    return np.sort(np.concatenate([spread, tiny, near.astype(bits).view(dtype), even]))


def test_float32_is_within_two_units_in_the_last_place() -> None:
    x = magnitudes(np.float32)
    assert units_off(value(x)[x > 0], exact(x)[x > 0]) <= 2.0


def test_float64_is_within_two_units_in_the_last_place_of_a_library_within_one() -> None:
    x = magnitudes(np.float64)
    assert units_off(value(x)[x > 0], exact(x)[x > 0]) <= 3.0


def test_float64_is_within_two_units_in_the_last_place_of_known_values() -> None:
    x, wanted = np.array(KNOWN).T
    assert units_off(value(x), wanted) <= 2.0


@FLOATS
def test_it_is_odd_in_every_bit(dtype: Any) -> None:
    x = magnitudes(dtype)
    assert same_bits(value(-x), -value(x))


@FLOATS
def test_zeros_keep_their_sign_infinities_give_one_and_nan_stays(dtype: Any) -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, 1e30, -1e30], dtype)
    assert same_bits(value(x), np.array([0.0, -0.0, 1.0, -1.0, 1.0, -1.0], dtype))
    assert np.isnan(value(np.array([np.nan, -np.nan], dtype))).all()


@FLOATS
def test_it_grows_to_one_and_stays_there(dtype: Any) -> None:
    y = value(magnitudes(dtype))
    first = int(np.argmax(y == 1.0))
    assert np.all(y[:first] < 1.0)
    assert np.all(y[first:] == 1.0)
    # Neighbouring floats may swap by rounding, by no more than the error bound allows.
    assert np.all(np.diff(y) >= -4 * np.spacing(y[1:]))


LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "reversed": lambda x: np.ascontiguousarray(x[::-1])[::-1],
    "strided": lambda x: np.repeat(x, 3)[::3],
    "a column": lambda x: np.stack([x, x], axis=1)[:, 0],
    "unaligned with vectors": lambda x: np.concatenate([x[:1], x])[1:],
    "transposed": lambda x: np.ascontiguousarray(x.reshape(7, -1).T).T.reshape(-1),
    "read-only": lambda x: np.frombuffer(x.tobytes(), x.dtype),
}


@FLOATS
@pytest.mark.parametrize("name", LAYOUTS)
def test_bits_do_not_depend_on_the_layout(
    dtype: Any, name: str, rng: np.random.Generator
) -> None:
    x = rng.normal(0.0, 1.5, 7 * 10_007).astype(dtype)
    moved = LAYOUTS[name](x)
    out = LAYOUTS[name](np.zeros_like(x)) if name != "read-only" else np.zeros_like(x)
    erf(moved, out)
    assert same_bits(np.ascontiguousarray(out), value(x))


@FLOATS
def test_bits_do_not_depend_on_the_place_in_the_array(
    dtype: Any, rng: np.random.Generator
) -> None:
    x = rng.normal(0.0, 1.5, 40_000).astype(dtype)
    whole = value(x)
    for start, stop in [(0, 1), (16_383, 16_385), (32_767, 32_769), (5, 333), (1, 39_999)]:
        assert same_bits(value(x[start:stop]), whole[start:stop])
    assert same_bits(np.concatenate([value(x[i : i + 1]) for i in range(50)]), whole[:50])


@FLOATS
def test_a_matrix_may_be_transposed_broadcast_or_its_own_result(
    dtype: Any, rng: np.random.Generator
) -> None:
    x = rng.normal(0.0, 1.5, (130, 170)).astype(dtype)
    wanted = value(x.reshape(-1)).reshape(x.shape)
    out = np.zeros((170, 130), dtype)
    erf(x, out.T)
    assert np.array_equal(out.T, wanted)
    row = np.broadcast_to(x[0], (5, 170))
    assert np.array_equal(value(row), np.broadcast_to(wanted[0], (5, 170)))
    erf(x.T, x.T)
    assert same_bits(x, wanted)


@FLOATS
def test_memory_shared_with_a_shift_is_read_before_it_is_written(
    dtype: Any, rng: np.random.Generator
) -> None:
    x = rng.normal(0.0, 1.5, 50_001).astype(dtype)
    wanted = value(x[:-1])
    erf(x[:-1], x[1:])
    assert same_bits(x[1:], wanted)


@FLOATS
@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1, 1)])
def test_every_shape_is_welcome(dtype: Any, shape: tuple[int, ...]) -> None:
    out = value(np.full(shape, 0.5, dtype))
    assert np.array_equal(out, np.full(shape, 0.5204998778130465, dtype))
