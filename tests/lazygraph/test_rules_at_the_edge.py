"""What gradient rules owe where drawn points never come: shapes that stretch, zeros, poles."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazygraph as lg
from lazygraph.extend import Op
from tests.lazygraph import op_cases
from tests.lazygraph.gradients import assert_gradients
from tests.lazygraph.op_cases import DIFFERENTIABLE, ELEMENTWISE

INF = math.inf
# A derivative that overflows at finite operands, so that 0 times it is NaN.
OVERFLOWING = ("exp",)

RULES = [op for op in DIFFERENTIABLE if op.gradient.__module__.startswith("lazygraph.ops.")]
RULES = [op for op in RULES if op.name != "stop_gradient"]
SMALL = [op for op in ELEMENTWISE if op.gradient is not None]
SHAPES: dict[int, tuple[tuple[tuple[int, ...], ...], ...]] = {
    2: (((3, 1), (1, 4)), ((), (2, 3)), ((2, 3), ()), ((2, 1, 3), (4, 1)), ((1,), (5,))),
    3: (((3, 1), (1, 4), ()), ((), (2, 3), (3,)), ((4,), (), ()), ((2, 1), (2, 3), (1, 3))),
}


@pytest.mark.parametrize("op", RULES, ids=op_cases.name)
def test_every_floating_operand_has_a_share_of_its_spec(
    op: Op, rng: np.random.Generator
) -> None:
    for sample in op_cases.samples(op, rng):
        xs = [lg.asarray(x) for x in sample.inputs]
        y = lg.extend.apply(op, *xs, params=sample.params)
        if y.dtype.is_floating:
            shares = y.backward(lg.ones_like(y))
            for x in xs:
                if x.dtype.is_floating:
                    assert shares[x].node.spec == x.node.spec
                    assert shares[x].numpy().shape == x.shape


@pytest.mark.parametrize(
    ("op", "shapes"),
    [
        pytest.param(op, shapes, id=f"{op.name}-{shapes}")
        for op in SMALL
        for shapes in SHAPES.get(op_cases.operand_count(op), ())
    ],
)
def test_an_operand_that_is_stretched_gets_the_sum_over_its_copies(
    op: Op, shapes: tuple[tuple[int, ...], ...], rng: np.random.Generator
) -> None:
    small = op_cases.drawn(op, np.float64, shapes, rng)
    u = rng.uniform(-1.0, 1.0, np.broadcast_shapes(*shapes))

    def shares(arrays: Any) -> list[Any]:
        xs = [lg.asarray(x) for x in arrays]
        y = lg.extend.apply(op, *xs)
        floating = [x for x in xs if x.dtype.is_floating]
        return [g.numpy() for g in lg.grad(y, floating, upstream=u)]

    stretched = shares([np.array(x) for x in np.broadcast_arrays(*small)])
    floating = [x for x in small if x.dtype.kind == "f"]
    for found, whole, x in zip(shares(small), stretched, floating, strict=True):
        lead = whole.ndim - x.ndim
        axes = tuple(i for i in range(whole.ndim) if i < lead or x.shape[i - lead] == 1)
        wanted = whole.sum(axis=axes).reshape(x.shape)
        assert np.allclose(found, wanted, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("dtype", op_cases.FLOATS, ids=op_cases.name)
@pytest.mark.parametrize(
    "op", [op for op in SMALL if op.name not in OVERFLOWING], ids=op_cases.name
)
def test_an_upstream_of_zero_gives_zero_at_every_finite_operand(op: Op, dtype: Any) -> None:
    grid = [np.where(np.isfinite(x), x, x.dtype.type(1)) for x in op_cases.grid(op, dtype)]
    xs = [lg.asarray(np.array(x)) for x in np.broadcast_arrays(*grid)]
    y = lg.extend.apply(op, *xs)
    for g in lg.grad(y, [x for x in xs if x.dtype.is_floating], upstream=lg.zeros_like(y)):
        assert not g.numpy().any()


def slopes(f: Callable[..., lg.Tensor], *at: Any) -> list[Any]:
    """The gradients of the sum of `f`, as lists."""
    xs = [lg.asarray(x, dtype="float64") for x in at]
    return [g.tolist() for g in lg.grad(lg.sum(f(*xs)), xs)]


def bends(f: Callable[..., lg.Tensor], *at: Any) -> list[Any]:
    """The gradients of the sum of all gradients of the sum of `f`, as lists."""
    xs = [lg.asarray(x, dtype="float64") for x in at]
    first = lg.grad(lg.sum(f(*xs)), xs)
    total = lg.sum(lg.concat([lg.reshape(g, (-1,)) for g in first]))
    return [g.tolist() for g in lg.grad(total, xs, missing="zero")]


def test_the_slope_of_a_power_by_its_exponent() -> None:
    # y log(a), which is 0 at a = 0 only where b is not negative.
    assert slopes(lg.power, [0.0, 0.0, 0.0], [2.0, 0.0, -1.0])[1] == [0.0, 0.0, -INF]
    assert math.isnan(slopes(lg.power, [-2.0], [2.0])[1][0])


def test_a_product_that_ignores_nan_has_gradients_that_do() -> None:
    def product(a: lg.Tensor, b: lg.Tensor) -> lg.Tensor:
        return lg.extend.multiply_no_nan(a, b)

    a, b = lg.asarray([0.0, 2.0]), lg.asarray([INF, 3.0])
    none = lg.asarray([0.0, 0.0])
    assert lg.grad(product(a, b), a, upstream=none).tolist() == [0.0, 0.0]
    assert slopes(product, [0.0, 2.0], [5.0, 3.0]) == [[5.0, 3.0], [0.0, 2.0]]


def test_infinities_that_are_equal_bend_nothing() -> None:
    at = [-INF, INF, 0.0], [-INF, INF, 0.0]
    assert slopes(lg.logaddexp, *at) == [[0.0, 0.0, 0.5], [0.0, 0.0, 0.5]]
    assert bends(lg.logaddexp, *at) == [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]


@pytest.mark.parametrize("ord", [3.0, 1.5, 0.5, -1.0, -2.0])
def test_elements_of_zero_have_the_slope_zero_in_a_norm_of_any_order(ord: float) -> None:
    def length(x: lg.Tensor) -> lg.Tensor:
        return lg.vector_norm(x, ord=ord)

    (found,) = slopes(length, [0.0, 3.0, -4.0])
    assert found[0] == 0.0
    if ord < 0:
        assert found == [0.0, 0.0, 0.0]
    else:
        y = (3.0**ord + 4.0**ord) ** (1.0 / ord)
        wanted = [(3.0 / y) ** (ord - 1.0), -((4.0 / y) ** (ord - 1.0))]
        assert np.allclose(found[1:], wanted, rtol=1e-14)
    assert slopes(length, [0.0, 0.0]) == [[0.0, 0.0]]
    assert slopes(length, [1.0]) == [[1.0]]
    assert np.isfinite(bends(length, [0.0, 3.0, -4.0])).all()


def test_norms_bend_as_differences_say(rng: np.random.Generator) -> None:
    x = rng.uniform(0.5, 2.0, (2, 3))
    for ord in (2.0, -2.0, 3.0, 0.5):
        assert_gradients(lambda t, p=ord: lg.vector_norm(t, axis=1, ord=p), [x], rng)
    # Of order 2 it is smooth where single elements are 0.
    assert_gradients(lambda t: lg.vector_norm(t, axis=1), [np.array([[0.0, 3.0, -4.0]])], rng)


PRODUCTS = (
    ((5, 1, 3), (3, 4)),
    ((5, 1, 3), (3,)),
    ((1, 2, 3), (3, 1)),
    ((2, 5, 1, 3), (3, 4)),
    ((1, 3), (3, 1)),
    ((1,), (1, 1)),
    ((3,), (2, 1, 3, 1)),
    ((2, 1, 4, 3), (5, 3, 1)),
)


@pytest.mark.parametrize(("left", "right"), PRODUCTS, ids=str)
def test_products_of_matrices_with_single_rows_and_columns(
    left: tuple[int, ...], right: tuple[int, ...], rng: np.random.Generator
) -> None:
    a, b = rng.standard_normal(left), rng.standard_normal(right)
    assert_gradients(lg.matmul, [a, b], rng)
    if len(left) > 1 and len(right) > 1:
        assert_gradients(
            lambda x, y: x.mT @ y.mT, [a.swapaxes(-1, -2), b.swapaxes(-1, -2)], rng
        )


def test_a_prod_of_an_odd_number_of_columns_at_every_level(rng: np.random.Generator) -> None:
    for width in (1, 2, 3, 5, 7, 11):
        x = rng.uniform(0.5, 2.0, (2, width))
        assert_gradients(lambda t: lg.prod(t, axis=1), [x], rng)


@pytest.mark.parametrize("dtype", [np.int8, np.int64])
def test_factors_meet_where_their_indices_name_one_place_and_nowhere_else(
    dtype: Any, rng: np.random.Generator
) -> None:
    x, v = rng.uniform(0.5, 2.0, (200, 3)), rng.uniform(0.5, 2.0, 11)
    # 200 is no int8; 0 and -3 are one place; (3, 0) and (0, 1) are 3 / 3 + 0 and 0 / 3 + 1.
    rows = np.array([5, -1, 5, 3, 0, 0, 0, 1, 5, 5, 5])
    columns = np.array([0, 2, 0, 0, 1, 0, -3, 0, 0, -3, 0])
    places = [(i % 200, j % 3) for i, j in zip(rows, columns, strict=True)]
    tensors = [lg.asarray(x), lg.asarray(v)]
    key = lg.asarray(rows.astype(dtype)), lg.asarray(columns.astype(dtype))
    y = tensors[0].at[key].multiply(tensors[1])
    of_x, of_v = (g.numpy() for g in lg.grad(y, tensors, upstream=lg.ones_like(y)))
    for k, place in enumerate(places):
        others = [v[m] for m, other in enumerate(places) if other == place and m != k]
        assert np.isclose(of_v[k], x[place] * math.prod(others), rtol=1e-14)
        assert np.isclose(of_x[place], math.prod([v[k], *others]), rtol=1e-14)
