"""The kinds behind reported faults of indices, axes and shapes, each in every form."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazygraph as lg
import training
from tests.lazygraph import op_cases
from tests.lazygraph.exactness import Array, assert_same_bits
from tests.lazygraph.op_cases import ELEMENTWISE, FLOATS, INTEGERS

DTYPES = pytest.mark.parametrize("dtype", FLOATS, ids=op_cases.name)
EARLY = pytest.mark.parametrize("early", [False, True], ids=["lazy", "realized early"])


def pulled(function: Callable[[lg.Tensor], lg.Tensor], x: Array, early: bool) -> Any:
    """The value of a function that moves elements, and its gradient for a drawn upstream."""
    leaf = lg.asarray(x)
    inner = leaf + 0.0
    if early:
        inner.realize()
    y = function(inner)
    u = np.random.default_rng(y.size).integers(-4, 5, y.shape).astype(x.dtype)
    return y.numpy(), lg.grad(y, leaf, upstream=u).numpy(), u


INDICES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "rows": (lambda i: (i,), lambda x: x),
    "columns": (lambda i: (slice(None), i), lambda x: x),
    "rows and a column": (lambda i: (i, 1), lambda x: x),
    "pairs": (lambda i: (i, (i + 1) % 3), lambda x: x),
    "a column of rows": (lambda i: (i[:, np.newaxis], i % 3), lambda x: x),
    "behind a slice backwards": (lambda i: (slice(None, None, -1), i % 3), lambda x: x),
}


@DTYPES
@EARLY
@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint16], ids=op_cases.name)
def test_an_element_that_is_picked_again_and_again_gets_every_gradient(
    name: str, kind: Any, early: bool, dtype: Any, rng: np.random.Generator
) -> None:
    x = rng.integers(-4, 5, (3, 3, 2)).astype(dtype)
    low = 0 if np.dtype(kind).kind == "u" else -3
    for size in (1, 9, 0):
        key = INDICES[name][0](rng.integers(low, 3, size).astype(kind))
        tensors = tuple(lg.asarray(k) if isinstance(k, np.ndarray) else k for k in key)
        for given in (key, tensors):
            y, dx, u = pulled(lambda t, g=given: t[g], x, early)  # type: ignore[misc]
            wanted = np.zeros_like(x)
            np.add.at(wanted, key, u)
            assert_same_bits(y, x[key] + 0.0)
            assert np.array_equal(dx, wanted)


def outside() -> dict[str, Callable[[Any], Any]]:
    """What looks 7 up in a table of 3 rows."""
    table = lg.asarray(np.arange(6.0).reshape(3, 2))
    layer = training.Embedding(3, 2)
    return {
        "key": lambda i: table[i],
        "key of two": lambda i: table[i, lg.asarray([0, 1])],
        "take": lambda i: lg.take(table, i, axis=0),
        "take_along_axis": lambda i: lg.take_along_axis(table, i, axis=0),
        "at, set": lambda i: table.at[i].set(1.0),
        "at, add": lambda i: table.at[i].add(1.0),
        "embedding": lambda i: layer(i),
        "cross_entropy": lambda i: training.cross_entropy(table.mT, i),
    }


@pytest.mark.parametrize("computed", [False, True], ids=["known", "computed"])
@pytest.mark.parametrize("name", outside())
def test_an_index_outside_is_an_error_that_names_it_and_the_length(
    name: str, computed: bool
) -> None:
    # Where the indices are known, the error may come at once; else when values do.
    i: Any = np.array([[1, 1], [7, 0]]) if name == "take_along_axis" else np.array([1, 7])
    given = lg.asarray(i - 1) + 1 if computed else i
    with pytest.raises(IndexError, match=r"\b7\b.*\b3\b"):
        outside()[name](given).realize()


@EARLY
def test_every_slice_of_a_short_axis_is_that_of_numpy_and_so_is_its_gradient(
    early: bool,
) -> None:
    x = np.arange(1.0, 6.0)
    ends = (None, *range(-7, 8))
    for start, stop, step in itertools.product(ends, ends, (None, 1, 2, 3, -1, -2, -4)):
        key = slice(start, stop, step)
        places = np.arange(5)[key]
        t = lg.asarray(x)
        y = (t.realize() if early else t)[key]
        assert y.shape == places.shape
        if early or start is None or abs(start) == 2:
            wanted = np.zeros(5)
            wanted[places] = np.arange(1.0, places.size + 1)
            assert y.tolist() == x[places].tolist()
            g = lg.grad(y, t, upstream=np.arange(1.0, places.size + 1))
            assert g.tolist() == wanted.tolist()


SINGLE = [op for op in ELEMENTWISE if op.gradient is not None and op.domain]


@DTYPES
@pytest.mark.parametrize("op", SINGLE, ids=op_cases.name)
def test_a_tensor_without_axes_stays_one_and_so_does_its_gradient(
    op: lg.extend.Op, dtype: Any, rng: np.random.Generator
) -> None:
    if dtype not in op_cases.dtypes_of(op):
        return
    arrays = op_cases.drawn(op, dtype, [()] * op_cases.operand_count(op), rng)
    xs = [lg.asarray(x) for x in arrays]
    y = lg.extend.apply(op, *xs)
    slopes = y.backward()
    assert y.shape == y.numpy().shape == ()
    for x in xs:
        assert slopes[x].shape == slopes[x].numpy().shape == ()
        assert slopes[x].dtype is x.dtype


@pytest.mark.parametrize(
    "make",
    [
        lambda: lg.asarray(2.0),
        lambda: lg.asarray(np.float32(2.0)),
        lambda: lg.full((), 2.0),
        lambda: lg.ones(()) + 1.0,
        lambda: lg.full((3,), 2.0)[1],
        lambda: lg.Var("s", 2.0).tensor(),
        lambda: lg.sum(lg.asarray([0.5, 1.5])),
        lambda: lg.random.Generator(1).uniform((), 2.0, 2.0),
    ],
)
def test_a_number_that_somebody_holds_has_a_place_in_the_map(make: Any) -> None:
    # However it was made.
    s = make()
    y = lg.sum(s * s * lg.asarray([1.0, 2.0, 4.0]))
    assert s.shape == ()
    assert y.backward()[s].item() == lg.grad(y, s).item() == 28.0


REDUCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    name: (getattr(lg, name), getattr(np, name))
    for name in ("sum", "prod", "mean", "max", "min", "any", "all", "argmax", "argmin")
}


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("shape", [(0, 4), (3, 0), (0,), (2, 0, 3), (0, 0)], ids=str)
@pytest.mark.filterwarnings("ignore:Mean of empty slice:RuntimeWarning")
def test_an_empty_axis_is_an_error_just_where_it_is_one_for_numpy(
    name: str, shape: tuple[int, ...]
) -> None:
    # For each axis and for all of them.
    ours, numpys = REDUCTIONS[name]
    x = np.zeros(shape, np.float32)
    for axis in (None, *range(-len(shape), len(shape))):
        try:
            with np.errstate(invalid="ignore"):
                wanted = numpys(x, axis=axis)
        except ValueError:
            with pytest.raises(lg.errors.ShapeError, match="must not be empty"):
                ours(lg.asarray(x), axis=axis)
        else:
            found = ours(lg.asarray(x), axis=axis).numpy()
            assert found.shape == np.shape(wanted)
            assert np.array_equal(found, wanted, equal_nan=True)


@pytest.mark.parametrize("dtype", [*FLOATS, np.int8, np.uint64], ids=op_cases.name)
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_the_first_of_equal_elements_is_found_and_nan_before_all(
    dtype: Any, axis: Any, rng: np.random.Generator
) -> None:
    for _ in range(20):
        x = rng.integers(0, 3, (4, 5, 3)).astype(dtype)
        if np.dtype(dtype).kind == "f":
            x[rng.random(x.shape) < 0.1] = np.nan
        for ours, numpys in ((lg.argmax, np.argmax), (lg.argmin, np.argmin)):
            assert ours(lg.asarray(x), axis=axis).tolist() == numpys(x, axis=axis).tolist()
        place = lg.argmax(lg.permute_dims(lg.asarray(x), (2, 0, 1)), axis=1)
        assert place.tolist() == np.argmax(x.transpose(2, 0, 1), axis=1).tolist()


@pytest.mark.parametrize("dtype", [np.bool_, *INTEGERS], ids=op_cases.name)
def test_integers_add_up_beyond_their_dtype_and_average_to_floats(dtype: Any) -> None:
    x = np.ones((300, 2), dtype)
    if dtype is not np.bool_:
        x[:] = min(np.iinfo(dtype).max, 2**40)
    exact = [int(x[0, 0]) * 300] * 2
    t = lg.asarray(x)
    unsigned = np.dtype(dtype).kind == "u"
    for total in (lg.sum(t, axis=0), lg.cumulative_sum(t, axis=0)[-1]):
        assert total.tolist() == exact
        assert total.dtype is (lg.uint64 if unsigned else lg.int64)
    assert lg.mean(t, axis=0).dtype is lg.float32
    assert np.allclose(lg.mean(t, axis=0).numpy(), int(x[0, 0]), rtol=1e-6)
    assert lg.count_nonzero(t).item() == 600


RANKS = [(3,), (2, 3), (4, 2, 3), (1, 2, 3), (5, 1, 2, 3)]


@EARLY
@pytest.mark.parametrize("left", RANKS, ids=str)
@pytest.mark.parametrize("right", RANKS, ids=str)
def test_vectors_and_stacks_of_matrices_multiply_as_in_numpy_with_gradients_of_their_shape(
    left: tuple[int, ...], right: tuple[int, ...], early: bool, rng: np.random.Generator
) -> None:
    # Whole numbers: every sum is exact.
    a = rng.integers(-4, 5, left).astype(float)
    b = rng.integers(-4, 5, (*right[:-2], 3, *right[-2:-1])).astype(float)
    leaves = [lg.asarray(a), lg.asarray(b)]
    x, y = (leaf * 1.0 for leaf in leaves)
    if early:
        lg.realize(x, y)
    z = x @ y
    wanted = a @ b
    u = rng.integers(-4, 5, wanted.shape).astype(float)
    da, db = (g.numpy() for g in lg.grad(z, leaves, upstream=u))
    assert np.array_equal(z.numpy(), wanted)
    assert z.shape == wanted.shape
    # Both are linear: their slopes are differences.
    moves: list[tuple[Array, Array, Callable[[Array], Array]]] = [
        (da, a, lambda d: (a + d) @ b),
        (db, b, lambda d: a @ (b + d)),
    ]
    for share, operand, moved in moves:
        assert share.shape == operand.shape
        for place in np.ndindex(operand.shape):
            d = np.zeros_like(operand)
            d[place] = 1.0
            assert share[place] == np.sum(u * (moved(d) - wanted))
