"""The kinds behind reported faults of gradients, each with drawn numbers, shapes, upstreams."""

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import lazygraph as lg
from lazygraph.extend import Op
from tests.lazygraph import op_cases
from tests.lazygraph.exactness import Array
from tests.lazygraph.op_cases import ELEMENTWISE, FLOATS

INF = math.inf
DTYPES = pytest.mark.parametrize("dtype", FLOATS, ids=op_cases.name)
EARLY = pytest.mark.parametrize("early", [False, True], ids=["lazy", "realized early"])
TOLERANCE = {np.float32: 2e-5, np.float64: 1e-12}


def pulled(function: Callable[..., lg.Tensor], xs: list[Array], u: Array, early: bool) -> Any:
    """The value and the gradients, with operands that are computed first or together."""
    leaves = [lg.asarray(x) for x in xs]
    inner = [x * 1.0 for x in leaves]
    if early:
        lg.realize(inner)
    y = function(*inner)
    if early:
        y.realize()
    found = lg.grad(y, leaves, upstream=lg.asarray(u, dtype=y.dtype))
    assert [g.node.spec for g in found] == [x.node.spec for x in leaves]
    return y.numpy(), [g.numpy() for g in found]


def assert_near(found: Array, wanted: Any, dtype: Any) -> None:
    assert found.shape == np.shape(wanted)
    assert np.allclose(found, wanted, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


def ties(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Array:
    """Whole numbers from a range so small that most of them occur several times."""
    return rng.integers(-1, 2, shape).astype(dtype)


@DTYPES
@EARLY
@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["greatest", "smallest"])
class TestTies:
    """A tie shares the gradient evenly, and nothing of it is lost or counted twice."""

    def test_of_two_tensors(
        self, sign: float, early: bool, dtype: Any, rng: np.random.Generator
    ) -> None:
        f = lg.maximum if sign > 0 else lg.minimum
        for left, right in [((4, 5), (4, 5)), ((4, 1), (5,)), ((), (3,)), ((2, 1, 3), (4, 1))]:
            a, b = ties(rng, left, dtype), ties(rng, right, dtype)
            u = rng.integers(-4, 5, np.broadcast_shapes(left, right)).astype(dtype)
            y, (da, db) = pulled(f, [a, b], u, early)
            to_a = np.where(a == b, 0.5, sign * a > sign * b) * u
            assert np.array_equal(y, (np.maximum if sign > 0 else np.minimum)(a, b))
            assert np.array_equal(da, summed_to(to_a, left))
            assert np.array_equal(db, summed_to(u - to_a, right))

    @pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), (0, 1, 2)], ids=str)
    def test_along_axes(
        self, sign: float, early: bool, dtype: Any, axis: Any, rng: np.random.Generator
    ) -> None:
        f = lg.max if sign > 0 else lg.min
        for keepdims in (False, True):
            x = ties(rng, (2, 4, 3), dtype)
            wanted = sign * np.max(sign * x, axis=axis, keepdims=True)
            u = rng.integers(-4, 5, wanted.shape).astype(dtype)
            given = u if keepdims else u.reshape(np.max(x, axis=axis).shape)
            y, (dx,) = pulled(
                partial(f, axis=axis, keepdims=keepdims),
                [x],
                given,
                early,
            )
            chosen = x == wanted
            assert np.array_equal(y.ravel(), wanted.ravel())
            assert_near(dx, chosen * u / chosen.sum(axis=axis, keepdims=True), dtype)


def summed_to(share: Array, shape: tuple[int, ...]) -> Array:
    lead = share.ndim - len(shape)
    axes = tuple(i for i in range(share.ndim) if i < lead or shape[i - lead] == 1)
    return np.asarray(share.sum(axis=axes)).reshape(shape)


@DTYPES
@EARLY
@pytest.mark.parametrize(("low", "high"), [(-1, 1), (0, None), (None, 0), (1, -1), (0, 0)])
def test_a_bound_passes_the_gradient_of_what_lies_on_it(
    low: Any, high: Any, early: bool, dtype: Any, rng: np.random.Generator
) -> None:
    # Where the bounds cross, the upper one wins.
    x = rng.integers(-2, 3, (3, 7)).astype(dtype)
    u = rng.integers(-4, 5, x.shape).astype(dtype)
    y, (dx,) = pulled(lambda t: lg.clip(t, low, high), [x], u, early)
    raised = x if low is None else np.maximum(x, low)
    inside = (raised == x) & (True if high is None else raised <= high)
    assert np.array_equal(y, raised if high is None else np.minimum(raised, high))
    assert np.array_equal(dx, u * inside)


# The derivative overflows where the value does, so that 0 times it is NaN.
OVERFLOWING = ("exp",)
ONE_OPERAND = [
    op
    for op in ELEMENTWISE
    if op.gradient is not None
    and op_cases.operand_count(op) == 1
    and op.name not in OVERFLOWING
    and np.float64 in op_cases.dtypes_of(op)
]


@DTYPES
@EARLY
@pytest.mark.parametrize("op", ONE_OPERAND, ids=op_cases.name)
def test_the_branch_that_is_not_taken_leaks_nothing(
    op: Op, early: bool, dtype: Any, rng: np.random.Generator
) -> None:
    # With every function at every special number: logarithms of 0, roots below it, ...
    special = op_cases.special(dtype)
    special = special[np.isfinite(special)]
    fine = np.full(special.shape, sum(op.domain[0]) / 2 if op.domain else 0.3, dtype)
    x = np.stack([special, fine])
    taken = np.stack([np.zeros(special.shape, bool), np.ones(special.shape, bool)])
    u = rng.integers(1, 5, x.shape).astype(dtype)

    def branches(t: lg.Tensor) -> lg.Tensor:
        return lg.where(taken, lg.extend.apply(op, t), 3 * t)

    with np.errstate(over="ignore"):
        y, (dx,) = pulled(branches, [x], u, early)
        assert np.array_equal(y[0], 3 * special)
    assert np.array_equal(dx[0], 3 * u[0])
    _, (alone,) = pulled(lambda t: lg.extend.apply(op, t), [fine], u[1], early)
    assert np.array_equal(dx[1], alone)


@DTYPES
@EARLY
def test_powers_have_the_slopes_of_the_closed_form(early: bool, dtype: Any) -> None:
    # By the base b a^(b - 1), by the exponent a^b log(a), and 0 where these should be.
    bases, exponents = (-2.0, -1.0, 0.0, 0.5, 1.0, 3.0), (0.0, 0.5, 1.0, 2.0, 3.0)
    a, b = (np.array(x, dtype) for x in zip(*itertools.product(bases, exponents), strict=True))
    _, (da, db) = pulled(lg.power, [a, b], np.full(a.shape, 2.0), early)
    for base, exponent, of_base, of_exponent in zip(a, b, da, db, strict=True):
        if exponent == 0:
            assert of_base == 0.0
        elif base or exponent >= 1:
            with np.errstate(invalid="ignore"):
                wanted = 2 * float(exponent) * np.power(float(base), float(exponent) - 1)
            assert np.isclose(of_base, wanted, rtol=1e-6, equal_nan=True)
        else:
            assert of_base == INF
        if base == 0:
            assert of_exponent == 0.0
        elif base > 0:
            wanted = 2 * float(base) ** float(exponent) * math.log(base)
            assert np.isclose(of_exponent, wanted, rtol=1e-6, atol=1e-7)


@DTYPES
@EARLY
@pytest.mark.parametrize("name", ["vector_norm", "norm", "hypot", "std", "var"])
def test_what_is_zero_has_a_gradient_of_zero_and_spoils_no_neighbour(
    name: str, early: bool, dtype: Any, rng: np.random.Generator
) -> None:
    # Rows of zeros, or of equal numbers, among others.
    x = rng.uniform(-2.0, 2.0, (5, 4)).astype(dtype)
    x[1] = 0.0
    x[3] = 0.0 if name.endswith(("norm", "hypot")) else 2.5
    u = rng.integers(1, 5, 5).astype(dtype)
    functions: dict[str, Callable[[lg.Tensor], lg.Tensor]] = {
        "vector_norm": lambda t: lg.vector_norm(t, axis=1),
        "norm": lambda t: lg.stack([lg.norm(row) for row in lg.unstack(t)]),
        "hypot": lambda t: lg.hypot(lg.hypot(t[:, 0], t[:, 1]), lg.hypot(t[:, 2], t[:, 3])),
        "std": lambda t: lg.std(t, axis=1, correction=1),
        "var": lambda t: lg.var(t, axis=1, correction=1),
    }
    y, (dx,) = pulled(functions[name], [x], u, early)
    assert not y[[1, 3]].any()
    assert not dx[[1, 3]].any()
    wide = x[[0, 2, 4]].astype(np.float64)
    spread = wide - wide.mean(axis=1, keepdims=True)
    length = np.linalg.norm(wide if name.endswith(("norm", "hypot")) else spread, axis=1)
    slopes = {
        "std": spread / length[:, np.newaxis] / math.sqrt(3),
        "var": 2 * spread / 3,
    }
    wanted = slopes.get(name, wide / length[:, np.newaxis]) * u[[0, 2, 4], np.newaxis]
    assert_near(dx[[0, 2, 4]], wanted, dtype)


@DTYPES
@EARLY
@pytest.mark.parametrize("axis", [0, 1])
def test_minus_infinities_hide_what_they_are_added_to_and_no_more(
    axis: int, early: bool, dtype: Any, rng: np.random.Generator
) -> None:
    # Rows in which some, or all, are -inf.
    hidden = rng.random((6, 5)) < 0.4
    hidden[2], hidden[:, 1] = True, True
    x = np.where(hidden, -INF, rng.uniform(-3.0, 3.0, (6, 5))).astype(dtype)
    e = np.exp(x.astype(np.float64))
    total = e.sum(axis=axis, keepdims=True)
    share = e / np.where(total == 0, 1.0, total)
    u = rng.uniform(-1.0, 1.0, total.shape)
    with np.errstate(divide="ignore"):
        wanted = np.log(total)
    y, (dx,) = pulled(lambda t: lg.logsumexp(t, axis=axis, keepdims=True), [x], u, early)
    assert_near(np.exp(y), np.exp(wanted), dtype)
    assert np.array_equal(np.isneginf(y), total == 0)
    assert_near(dx, u * share, dtype)
    u = rng.uniform(-1.0, 1.0, x.shape)
    y, (dx,) = pulled(lambda t: lg.softmax(t, axis=axis), [x], u, early)
    assert_near(y, share, dtype)
    assert_near(dx, share * (u - (u * share).sum(axis=axis, keepdims=True)), dtype)


@DTYPES
@EARLY
@pytest.mark.parametrize("causal", [False, True])
def test_a_query_that_may_look_nowhere_gets_zeros_and_gives_no_nan(
    causal: bool, early: bool, dtype: Any, rng: np.random.Generator
) -> None:
    # For batches and heads.
    q, k, v = (
        rng.standard_normal(s).astype(dtype) for s in ((2, 3, 5, 4), (2, 3, 6, 4), (3, 6, 2))
    )
    mask = rng.random((2, 1, 5, 6)) < 0.5
    mask[0, 0, 2], mask[1, 0, :, 3] = False, False
    allowed = np.broadcast_to(mask & (np.tri(5, 6) > 0 if causal else True), (2, 3, 5, 6))
    scores = np.where(allowed, q.astype(float) @ k.swapaxes(-1, -2) / 2.0, -INF)
    e = np.exp(
        scores - np.where(allowed.any(-1, keepdims=True), scores.max(-1, keepdims=True), 0)
    )
    weights = e / np.where(allowed.any(-1, keepdims=True), e.sum(-1, keepdims=True), 1.0)
    u = rng.standard_normal((2, 3, 5, 2))

    def attend(*tensors: lg.Tensor) -> lg.Tensor:
        return lg.attention(*tensors, mask=lg.asarray(mask), causal=causal)

    y, (dq, dk, dv) = pulled(attend, [q, k, v], u, early)
    assert_near(y, weights @ v.astype(float), dtype)
    assert_near(dv, (weights.swapaxes(-1, -2) @ u).sum(axis=0), dtype)
    back = u @ v.astype(float).swapaxes(-1, -2)
    inner = weights * (back - (back * weights).sum(-1, keepdims=True)) / 2.0
    assert_near(dq, inner @ k.astype(float), dtype)
    assert_near(dk, inner.swapaxes(-1, -2) @ q.astype(float), dtype)
    assert not dq[~allowed.any(-1)].any()
