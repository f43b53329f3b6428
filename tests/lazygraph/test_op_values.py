"""Values of ops against definitions that share no code with them."""

import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazygraph as lg
from lazygraph.extend import OPS, apply
from tests.lazygraph import op_cases
from tests.lazygraph.exactness import Array


def _sign(x: float) -> float:
    return float(x > 0) - float(x < 0)


# One element, by Python and its `math`.
ELEMENTS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "multiply_no_nan": lambda a, b: a * b if a else 0.0,
    "divide": operator.truediv,
    "reciprocal": lambda x: 1.0 / x,
    "negative": operator.neg,
    "square": lambda x: x * x,
    "abs": abs,
    "sign": _sign,
    "power": math.pow,
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
    "rsqrt": lambda x: 1.0 / math.sqrt(x),
    "sin": math.sin,
    "cos": math.cos,
    "tanh": math.tanh,
    "erf": math.erf,
    "sigmoid": lambda x: 1.0 / (1.0 + math.exp(-x)),
    "relu": lambda x: max(x, 0.0),
    "maximum": max,
    "minimum": min,
    "floor_at": max,
    "cap_at": min,
    "where": lambda c, a, b: a if c else b,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "isfinite": math.isfinite,
    "logical_and": lambda a, b: a and b,
    "logical_or": lambda a, b: a or b,
    "logical_xor": operator.ne,
    "logical_not": operator.not_,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "bitwise_invert": operator.inv,
    "bitwise_left_shift": operator.lshift,
    "bitwise_right_shift": operator.rshift,
}


@pytest.mark.parametrize("name", ELEMENTS)
def test_an_elementwise_op_is_the_function_of_one_number(
    name: str, rng: np.random.Generator
) -> None:
    op = OPS[name]
    for sample in op_cases.samples(op, rng):
        found = op_cases.applied(op, sample.inputs).numpy()
        rows = zip(*(x.ravel() for x in np.broadcast_arrays(*sample.inputs)), strict=True)
        wanted = [ELEMENTS[name](*(x.item() for x in row)) for row in rows]
        assert np.allclose(found.ravel(), wanted, rtol=1e-15, atol=0.0)
        narrow = op_cases.cast(sample, np.float32)
        again = op_cases.applied(op, narrow.inputs).numpy()
        rows = zip(*(x.ravel() for x in np.broadcast_arrays(*narrow.inputs)), strict=True)
        wanted = [ELEMENTS[name](*(x.item() for x in row)) for row in rows]
        assert np.allclose(again.ravel(), wanted, rtol=3e-7, atol=0.0)


def _reduced(reduce: Callable[[list[Any]], Any]) -> Callable[..., Array]:
    """A reduction to length 1, one element of the result at a time."""

    def reduced(x: Array, axes: tuple[int, ...]) -> Array:
        shape = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
        out = np.empty(shape)
        for place in np.ndindex(*shape):
            key = tuple(slice(None) if i in axes else k for i, k in enumerate(place))
            out[place] = reduce(x[key].ravel().tolist())
        return out

    return reduced


def _product(a: Array, b: Array) -> Array:
    rows = a if a.ndim > 1 else a[np.newaxis]
    columns = b if b.ndim > 1 else b[:, np.newaxis]
    y: Array = np.sum(rows[..., :, :, np.newaxis] * columns[..., np.newaxis, :, :], axis=-2)
    y = y if a.ndim > 1 else y[..., 0, :]
    return y if b.ndim > 1 else y[..., 0]


def _turned_product(a: Array, b: Array, turned: tuple[bool, bool]) -> Array:
    a, b = (np.swapaxes(x, -1, -2) if t else x for x, t in zip((a, b), turned, strict=True))
    return _product(a, b)


def _placed(g: Array, shape: Any, bounds: Any) -> Array:
    out = np.zeros(shape)
    places = [range(first, first + n * step, step) for first, n, step in bounds]
    for place, value in zip(itertools.product(*places), g.ravel(), strict=True):
        out[place] = value
    return out


def _sliced(x: Array, bounds: Any) -> Array:
    return x[np.ix_(*[[first + i * step for i in range(n)] for first, n, step in bounds])]


def _permuted(x: Array, axes: tuple[int, ...]) -> Array:
    out = np.empty([x.shape[axis] for axis in axes])
    for place in np.ndindex(*x.shape):
        out[tuple(place[axis] for axis in axes)] = x[place]
    return out


# Whole arrays, and the parameters by name.
ARRAYS: dict[str, Callable[..., Any]] = {
    "sum": _reduced(math.fsum),
    "max": _reduced(max),
    "min": _reduced(min),
    "argmax": lambda x, axis: _reduced(lambda row: row.index(max(row)))(x, (axis,)),
    "norm": lambda x, dtype: math.hypot(*x.ravel().tolist()),
    "matmul": _product,
    "turned_matmul": _turned_product,
    "reshape": lambda x, shape: np.array(x.ravel().tolist()).reshape(shape),
    "permute_dims": _permuted,
    "broadcast_to": lambda x, shape: x + np.zeros(shape),
    "slice": _sliced,
    "place": _placed,
    "concat": lambda *pieces, axis: np.moveaxis(
        np.array([row for x in pieces for row in np.moveaxis(x, axis, 0)]), 0, axis
    ),
    "stop_gradient": lambda x: x,
    "astype": lambda x, dtype: x.astype(dtype.name),
    "arange": lambda start, step, length, dtype: [start + i * step for i in range(length)],
}


@pytest.mark.parametrize("name", ARRAYS)
def test_an_op_on_arrays_is_its_definition(name: str, rng: np.random.Generator) -> None:
    op = OPS[name]
    for sample in op_cases.samples(op, rng):
        found = op_cases.applied(op, sample.inputs, sample.params).numpy()
        if found.size:
            wanted = np.asarray(ARRAYS[name](*sample.inputs, **op.named(sample.params)))
            assert found.shape == wanted.shape
            assert np.allclose(found, wanted, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=op_cases.name)
def test_a_gather_and_its_transpose_go_to_the_named_places(
    dtype: Any, rng: np.random.Generator
) -> None:
    x = rng.standard_normal((4, 3, 5)).astype(dtype)
    for axis in range(3):
        ids = rng.integers(-x.shape[axis], x.shape[axis], (2, 6))
        tensor = lg.asarray(x)
        y = lg.take(tensor, ids, axis=axis)
        places: Any = (slice(None),) * axis + (ids,)
        assert np.array_equal(y.numpy(), x[places])
        u = rng.standard_normal(y.shape)
        wanted = np.zeros(x.shape)
        np.add.at(wanted, places, u)
        found = y.backward(lg.asarray(u, dtype=y.dtype))[tensor]
        assert np.allclose(found.numpy(), wanted, rtol=1e-5 if dtype is np.float32 else 1e-14)


def test_a_gather_along_an_axis_takes_one_element_for_each_index(
    rng: np.random.Generator,
) -> None:
    x = rng.standard_normal((4, 5))
    ids = rng.integers(-5, 5, (4, 3))
    tensor = lg.asarray(x)
    y = lg.take_along_axis(tensor, ids, axis=1)
    wanted = [[x[i, k] for k in row] for i, row in enumerate(ids.tolist())]
    assert y.tolist() == wanted
    counts = [[row.count(k) + row.count(k - 5) for k in range(5)] for row in ids.tolist()]
    assert lg.sum(y).backward()[tensor].tolist() == counts


def test_two_operands_of_any_rank_multiply_as_matrices(rng: np.random.Generator) -> None:
    for a_batch, b_batch in itertools.product([(), (1,), (3,), (2, 1), (2, 3)], repeat=2):
        a = rng.standard_normal((*a_batch, 4, 5))
        b = rng.standard_normal((*b_batch, 5, 2))
        found = apply(OPS["matmul"], lg.asarray(a), lg.asarray(b))
        assert np.allclose(found.numpy(), _product(a, b), rtol=1e-12)


CHOOSING = [op for op in op_cases.TABLE if op.choose is not None]


@pytest.mark.parametrize("dtype", op_cases.FLOATS)
@pytest.mark.parametrize("op", CHOOSING, ids=op_cases.name)
def test_what_an_op_chooses_for_a_layout_gives_the_bits_of_its_meaning(
    op: lg.extend.Op, dtype: Any, rng: np.random.Generator
) -> None:
    assert op.choose is not None
    for sample in op_cases.samples(op, rng):
        inputs = op_cases.cast(sample, dtype).inputs
        named = op.named(sample.params)
        spec = op.infer(*[lg.asarray(x).node.spec for x in inputs], **named)
        meant, chosen = (np.empty(spec.shape, spec.dtype.dtype) for _ in range(2))
        op.evaluate(*inputs, meant, **named)
        op.choose(*inputs, **named)(*inputs, chosen)
        assert chosen.tobytes() == meant.tobytes()
