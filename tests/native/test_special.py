"""Calls with machine code of their own mean there what they mean in NumPy."""

from typing import Any

import numpy as np
import pytest

import lazygraph as lg
from lazygraph.backends.native.special import PLANNERS
from lazygraph.errors import BoundsError
from lazygraph.graph.engine import OPS
from lazygraph.graph.op import Kind, Sample
from tests.lazygraph.exactness import assert_same_bits
from tests.native.specials import Array, expected, outcome, planned

FLOATS = (np.float32, np.float64)


def cast(array: Array, dtype: Any) -> Array:
    return array.astype(dtype) if array.dtype.kind == "f" else array


def check(name: str, params: Any, inputs: list[Array], *, threads: tuple[int, ...]) -> None:
    """The bits are the same for all thread counts, and NumPy's where nothing is rounded."""
    op = OPS[name]
    wanted = expected(op, params, inputs)
    first = outcome(op, params, inputs, wanted, threads[0]).out
    if op.kind is Kind.CONTRACTION:
        close_to(first, wanted, inputs)
    else:
        assert_same_bits(first, wanted)
    for count in threads[1:]:
        assert_same_bits(outcome(op, params, inputs, wanted, count).out, first)


def close_to(found: Array, wanted: Array, inputs: list[Array]) -> None:
    """As near as sums of so many products in another order are."""
    size = float(np.prod([np.abs(x).max() for x in inputs]))
    terms = max(x[0].size for x in inputs) * max(1, len(inputs[0]))
    bound = 4 * np.finfo(wanted.dtype).eps * size * terms**0.5
    np.testing.assert_allclose(found, wanted, rtol=0, atol=bound)


def samples() -> list[Any]:
    cases = []
    for name in PLANNERS:
        rows = OPS[name].samples
        assert rows is not None
        for i, sample in enumerate(rows(np.random.default_rng(0))):
            cases.append(pytest.param(name, sample, id=f"{name}-{i}"))
    return cases


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("name", "sample"), samples())
def test_samples_of_the_table_are_done_as_by_numpy(
    name: str, sample: Sample, dtype: Any
) -> None:
    inputs = [cast(x, dtype) for x in sample.inputs]
    wanted = expected(OPS[name], sample.params, inputs)
    if planned(OPS[name], sample.params, inputs, wanted) is None:
        axes = OPS[name].named(sample.params).get("axes", (0,))
        several = len(axes) > 1
        assert name == "sum" or several or not (wanted.size and all(x.size for x in inputs))
    else:
        check(name, sample.params, inputs, threads=(1, 3))


def convolution(rng: np.random.Generator) -> tuple[list[Array], Any, Any]:
    """Images, a weight and what has the shape of the result; a stride; a padding."""
    batch, channels, outputs = (int(n) for n in rng.integers(1, 6, 3))
    size = rng.integers(1, 5, 2)
    lengths = size + rng.integers(0, 20, 2)
    stride, padding = (
        tuple(int(n) for n in rng.integers(*ends, 2)) for ends in ((1, 4), (0, 3))
    )
    x = rng.standard_normal((batch * int(rng.integers(1, 9)), channels, *lengths))
    w = rng.standard_normal((outputs, channels, *size))
    y = expected(OPS["conv2d"], (stride, padding), [x, w])
    return [x, w, np.asarray(rng.standard_normal(y.shape))], stride, padding


@pytest.mark.parametrize("seed", range(4))
def test_convolutions_of_any_size_have_the_same_bits_for_all_thread_counts(seed: int) -> None:
    (x, w, g), stride, padding = convolution(np.random.default_rng(seed))
    dtype = FLOATS[seed % 2]
    x, w, g = (a.astype(dtype) for a in (x, w, g))
    where = (stride, padding)
    check("conv2d", where, [x, w], threads=(1, 2, 3, 4))
    check("conv2d_input", (*where, x.shape[2:]), [g, w], threads=(1, 2, 3, 4))
    check("conv2d_weight", (*where, w.shape[2:]), [x, g], threads=(1, 2, 3, 4))


@pytest.mark.parametrize("seed", range(4))
def test_pooling_of_any_size_has_the_bits_of_numpy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = tuple(int(n) for n in rng.integers(1, 5, 2))
    window = (size, tuple(int(n) for n in rng.integers(1, 4, 2)))
    padding = tuple(int(rng.integers(0, n // 2 + 1)) for n in size)
    params = (*window, padding, bool(seed % 2))
    x = special_values(rng, (2, 3, *(int(n) for n in rng.integers(5, 45, 2))), seed)
    for name in ("max_pool2d", "sum_pool2d"):
        check(name, params, [x], threads=(1, 2, 4))
    y = expected(OPS["max_pool2d"], params, [x])
    check("max_position2d", params, [x, y], threads=(1, 2))
    position = expected(OPS["max_position2d"], params, [x, y])
    check("pick2d", params, [x, position], threads=(1, 2))
    g = special_values(rng, y.shape, seed)
    check("unpool2d", (*params, x.shape[2:]), [g, position], threads=(1, 3))
    check("spread2d", (*params, x.shape[2:]), [g], threads=(1, 2, 3))


def special_values(rng: np.random.Generator, shape: tuple[int, ...], seed: int) -> Array:
    """Small numbers with ties, zeros of both signs, infinities and NaN."""
    x = rng.integers(-2, 3, shape).astype(FLOATS[seed % 2])
    x[rng.random(shape) < 0.1] = -0.0
    x[rng.random(shape) < 0.02] = np.nan
    x[rng.random(shape) < 0.02] = np.inf
    x[rng.random(shape) < 0.02] = -np.inf
    return x


@pytest.mark.parametrize("index", [np.int32, np.int64, np.uint8])
def test_indices_of_every_dtype_pick_and_add_as_numpy_does(index: Any) -> None:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((9, 37)).astype(np.float32)
    i = rng.integers(0, 9, (3, 4)).astype(index)
    check("gather", ((0,), True), [x, i], threads=(1, 2, 4))
    check("gather", ((1,), False), [x.T, i], threads=(1, 2))
    values = rng.standard_normal((3, 4, 37)).astype(np.float32)
    check("scatter_add", ((0,), True), [x, i, values], threads=(1, 2, 3, 4))
    wide = np.broadcast_to(np.float32(0.5), (37, 3, 4))
    check("scatter_add", ((1,), True), [x.T, i, wide], threads=(1, 2, 3))
    check("take_along_axis", (0, True), [x, i[:2].repeat(10, 1)[:, :37]], threads=(1, 3))


@pytest.mark.parametrize(
    ("name", "params", "shapes"),
    [
        ("gather", ((0,), True), [(4, 3), (5,)]),
        ("take_along_axis", (1, False), [(4, 3), (4, 1)]),
        ("scatter_add", ((0,), True), [(4, 3), (5,), (5, 3)]),
    ],
)
@pytest.mark.parametrize("wrong", [-7, 4, 1000])
def test_an_index_outside_is_told_and_leads_nowhere(
    name: str, params: Any, shapes: list[tuple[int, ...]], wrong: int
) -> None:
    arrays: list[Array] = [np.ones(shape) for shape in shapes]
    good = np.zeros(shapes[1], np.int64)
    out = expected(OPS[name], params, [arrays[0], good, *arrays[2:]])
    bad = good.copy()
    bad[3:] = wrong
    result = outcome(OPS[name], params, [arrays[0], bad, *arrays[2:]], out, 2)
    assert result.fault[0] != 0
    assert result.fault[1] == wrong


def test_a_run_with_an_index_outside_raises_what_numpy_raises_and_the_next_run_works() -> None:
    x, bad = np.ones((4, 3)), np.array([1, 9, -8])
    with lg.using(backend="native"):
        picked = lg.take(lg.asarray(x), lg.asarray(bad), axis=0)
        with pytest.raises(
            BoundsError, match="index 9 is out of bounds for axis 0 with size 4"
        ):
            picked.numpy()
        again = lg.take(lg.asarray(x), lg.asarray(np.array([1, 3, -4])), axis=0)
        assert_same_bits(again, np.ones((3, 3)))


@pytest.mark.parametrize(
    ("shape", "bounds", "turned"),
    [
        ((3, 4, 5), ((1, 1, 1), (0, 4, 1), (0, 5, 1)), False),
        ((20, 7, 6), ((18, 6, -3), (1, 3, 2), (5, 6, -1)), False),
        ((3, 40, 8), ((2, 1, 1), (0, 40, 1), (0, 8, 1)), True),
        ((50,), ((7, 20, 2),), False),
    ],
)
def test_slices_are_placed_into_zeros(shape: Any, bounds: Any, turned: bool) -> None:
    g = np.random.default_rng(0).standard_normal([count for _, count, _ in bounds])
    if turned:
        g = g.swapaxes(-1, -2).copy().swapaxes(-1, -2)
    check("place", (shape, bounds), [g], threads=(1, 2, 3, 4))


def test_random_words_are_those_of_threefry_at_every_length() -> None:
    key, counter = np.array([7, 9], np.uint32), np.array(2**35 + 1, np.uint64)
    for shape in ((1,), (31,), (32,), (5, 13), (3, 100)):
        check("random_bits", (shape,), [key, counter], threads=(1, 2, 4))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(50, 5, 7, 11), (3, 40, 1, 1), (17, 2, 20, 20)])
def test_sums_around_channels_are_those_of_numpy(shape: Any, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    whole = rng.integers(-99, 100, shape).astype(dtype)  # sums are exact, in whatever order
    check("sum", ((0, 2, 3),), [whole], threads=(1, 2, 3, 4))
    x = rng.standard_normal(shape).astype(dtype)
    found = [outcome(OPS["sum"], ((0, 2, 3),), [x], x[:1, :, :1, :1], n).out for n in (1, 2, 4)]
    exact = x.sum((0, 2, 3), np.float64, keepdims=True)
    bound = np.finfo(dtype).eps * np.abs(x).sum((0, 2, 3), keepdims=True)
    assert np.all(np.abs(found[0] - exact) <= bound)
    assert_same_bits(found[1], found[0])
    assert_same_bits(found[2], found[0])


def test_a_new_batch_size_needs_no_new_code() -> None:
    rng = np.random.default_rng(0)
    w = rng.standard_normal((3, 2, 3, 3))
    keys = set()
    for batch in (1, 5, 40):
        x = rng.standard_normal((batch, 2, 8, 8))
        y = expected(OPS["conv2d"], ((1, 1), (0, 0)), [x, w])
        work = planned(OPS["conv2d"], ((1, 1), (0, 0)), [x, w], y)
        assert work is not None
        keys.add(work.key)
    assert len(keys) == 1
