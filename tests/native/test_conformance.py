"""Every backend computes what the records of the ops say, in every layout."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import lazygraph as lg
from lazygraph.extend import OPS, Kind, Op, apply
from lazygraph.plan import BACKENDS
from tests.lazygraph.exactness import Array, assert_same_bits
from tests.lazygraph.op_cases import (
    DIFFERENTIABLE,
    DTYPES,
    ELEMENTWISE,
    FLOATS,
    TABLE,
    applied,
    cast,
    drawn,
    dtypes_of,
    evaluated,
    grid,
    name,
    operand_count,
    samples,
    takes_floats,
)

RUNNABLE = [backend.name for backend in BACKENDS.values() if backend.missing() is None]
UNITS = 4  # in the last place: two of the record's own, and two of the backend's


@pytest.fixture(params=RUNNABLE, autouse=True)
def backend(request: pytest.FixtureRequest) -> Iterator[str]:
    with lg.using(backend=request.param):
        yield request.param


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


CANCELLING = [OPS["logaddexp"]]


def assert_conforms(op: Op, found: lg.Tensor, inputs: Any, params: Any = ()) -> None:
    """Units in the last place for elements, the bound of any order of adding for sums."""
    y, wanted = found.numpy(), evaluated(op, inputs, params)
    assert (y.shape, y.dtype) == (wanted.shape, wanted.dtype)
    finite = np.isfinite(wanted) if wanted.dtype.kind == "f" else np.zeros(y.shape, bool)
    assert_same_bits(np.where(finite, 0, y), np.where(finite, 0, wanted))
    sizes = np.abs(wanted)[finite]
    if op.kind is not Kind.POINTWISE and op.kind is not Kind.VIEW:
        floats = [np.abs(x) if x.dtype.kind == "f" else x for x in inputs]
        sizes = np.maximum(sizes, np.abs(evaluated(op, floats, params))[finite])
    elif op in CANCELLING:
        # An operand plus a logarithm: the last place is that of the operands.
        operands = np.minimum(*(np.broadcast_to(np.abs(x), y.shape) for x in inputs))
        sizes = np.maximum(sizes, np.where(np.isfinite(operands), operands, 0.0)[finite])
    terms = 1 if op.kind is Kind.POINTWISE else max([1, *(x.size for x in inputs)])
    with np.errstate(all="ignore"):
        off = np.abs(y[finite].astype(np.float64) - wanted[finite].astype(np.float64))
        assert (off <= UNITS * terms * np.spacing(sizes)).all(), f"{y}\n{wanted}"


@pytest.mark.parametrize("dtype", FLOATS, ids=name)
@pytest.mark.parametrize("op", TABLE, ids=name)
def test_samples_have_the_values_of_the_record(
    op: Op, dtype: Any, rng: np.random.Generator
) -> None:
    for sample in samples(op, rng):
        given = cast(sample, dtype)
        assert_conforms(op, applied(op, given.inputs, given.params), given.inputs, given.params)


@pytest.mark.parametrize("dtype", DTYPES, ids=name)
def test_elementwise_ops_of_every_dtype_have_the_values_of_the_record(
    dtype: Any, rng: np.random.Generator
) -> None:
    ops = [op for op in ELEMENTWISE if dtype in dtypes_of(op)]
    given = [drawn(op, dtype, _stretching(op), rng) for op in ops]
    found = [applied(op, inputs) for op, inputs in zip(ops, given, strict=True)]
    lg.realize(found)
    for op, y, inputs in zip(ops, found, given, strict=True):
        assert_conforms(op, y, inputs)


def _stretching(op: Op) -> list[tuple[int, ...]]:
    return [(3, 1, 19), (2, 19), (1,)][: operand_count(op)]


@pytest.mark.parametrize("dtype", DTYPES, ids=name)
def test_special_values_have_the_values_of_the_record(dtype: Any) -> None:
    ops = [op for op in ELEMENTWISE if dtype in dtypes_of(op)]
    found = [applied(op, grid(op, dtype)) for op in ops]
    lg.realize(found)
    for op, y in zip(ops, found, strict=True):
        assert_conforms(op, y, grid(op, dtype))


VIEWS: dict[str, Any] = {
    "transposed": lambda x: x.mT,
    "reversed": lambda x: x[::-1, ::-1],
    "every other": lambda x: x[::2, 1::2],
    "stretched": lambda x: lg.broadcast_to(x[:1], (5, *x.shape[1:])),
    "one column": lambda x: x[:, 3:4],
}


@pytest.mark.parametrize("view", VIEWS)
def test_operands_may_be_views(view: str, rng: np.random.Generator) -> None:
    ops = [op for op in ELEMENTWISE if np.float32 in dtypes_of(op)]
    look = VIEWS[view]
    given = [drawn(op, np.float32, [(8, 8)] * operand_count(op), rng) for op in ops]
    found = [
        apply(op, *(look(lg.asarray(x)) for x in xs)) for op, xs in zip(ops, given, strict=True)
    ]
    lg.realize(found)
    for op, y, inputs in zip(ops, found, given, strict=True):
        assert_conforms(op, y, [look(lg.asarray(x)).numpy() for x in inputs])


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1, 1), (1, 700)], ids=str)
def test_any_shape_will_do(shape: tuple[int, ...], rng: np.random.Generator) -> None:
    ops = [op for op in ELEMENTWISE if np.float64 in dtypes_of(op)]
    given = [drawn(op, np.float64, [shape] * operand_count(op), rng) for op in ops]
    found = [applied(op, inputs) for op, inputs in zip(ops, given, strict=True)]
    lg.realize(found)
    for op, y, inputs in zip(ops, found, given, strict=True):
        assert_conforms(op, y, inputs)


@pytest.mark.parametrize("op", [op for op in DIFFERENTIABLE if takes_floats(op)], ids=name)
def test_gradients_are_those_of_the_backend_that_defines_the_meaning(
    op: Op, rng: np.random.Generator
) -> None:
    for sample in samples(op, rng):
        found = _slopes(op, sample, np.random.default_rng(1))
        with lg.using(backend="numpy"):
            wanted = _slopes(op, sample, np.random.default_rng(1))
        for x, y in zip(found, wanted, strict=True):
            scale = np.abs(y).max(initial=0)
            assert x.shape == y.shape
            assert np.isfinite(x).all()
            assert np.abs(x - y).max(initial=0) <= 1e-13 * max(1, x.size) * scale


def _slopes(op: Op, sample: Any, rng: np.random.Generator) -> list[Array]:
    inputs = [lg.asarray(x) for x in cast(sample, np.float64).inputs]
    y = apply(op, *inputs, params=sample.params)
    if not y.dtype.is_floating or not y.size:
        return []
    upstream = lg.asarray(rng.standard_normal(y.shape), dtype=y.dtype)
    wanted = [x for x in inputs if x.dtype.is_floating]
    slopes = lg.grad(lg.sum(y * upstream), wanted, missing="zero")
    lg.realize(slopes)
    return [slope.numpy() for slope in slopes]
