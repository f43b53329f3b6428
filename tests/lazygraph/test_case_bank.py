"""Faults that other engines had: gradients by hand, at every cut, upstream, dtype and shape."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import lazygraph as lg
from tests.lazygraph.exactness import Array

INF = math.inf
LN2, LN3 = math.log(2.0), math.log(3.0)
See = Callable[[lg.Tensor], lg.Tensor]


@dataclass(frozen=True)
class Case:
    """A function, where it is looked at, and what has to come out.

    Attributes:
        function: `(see, *xs) -> y`; it passes what it computes on the way through `see`.
        at: the operands.
        value: of the function.
        upstream: the gradient that comes in.
        gradients: those that go out.
        repeats: whether each row of a matrix of operands is a case of its own.
    """

    function: Callable[..., lg.Tensor]
    at: tuple[Any, ...]
    value: Any
    upstream: Any
    gradients: tuple[Any, ...]
    repeats: bool = False


def masked_attention(see: See, scores: lg.Tensor, values: lg.Tensor) -> lg.Tensor:
    return see(lg.softmax(see(scores * 1.0))) @ values


CASES = {
    "a tie of two tensors is shared evenly": Case(
        lambda see, a, b: lg.maximum(see(a + 0.0), see(b * 1.0)),
        ([1.0, 3.0, 2.0], [1.0, 2.0, 5.0]),
        [1.0, 3.0, 5.0],
        [4.0, 1.0, 1.0],
        ([2.0, 1.0, 0.0], [2.0, 0.0, 1.0]),
        repeats=True,
    ),
    "a value on a bound passes the gradient": Case(
        lambda see, x: lg.clip(see(x * 1.0), -1, 1),
        ([-2.0, -1.0, 0.0, 1.0, 3.0],),
        [-1.0, -1.0, 0.0, 1.0, 1.0],
        [1.0, 2.0, 3.0, 4.0, 5.0],
        ([0.0, 2.0, 3.0, 4.0, 0.0],),
        repeats=True,
    ),
    "a logarithm that is not chosen does no harm": Case(
        lambda see, x: lg.where(see(x > 2), see(lg.log2(x)), see(2 * x)),
        ([0.0, 1.0, 8.0],),
        [0.0, 2.0, 3.0],
        [1.0, 1.0, 2.0],
        ([2.0, 2.0, 2.0 * 0.125 / LN2],),
        repeats=True,
    ),
    "zero to a power does not move with the exponent": Case(
        lambda see, a, b: see(a + 0) ** see(b + 0),
        ([0.0, 3.0], [2.0, 2.0]),
        [0.0, 9.0],
        [1.0, 1.0],
        ([0.0, 6.0], [0.0, 9.0 * LN3]),
        repeats=True,
    ),
    "the norm of zeros is flat": Case(
        lambda see, x: lg.norm(see(x * 1)), ([0.0, 0.0, 0.0],), 0.0, 3.0, ([0.0, 0.0, 0.0],)
    ),
    "a norm points along its vector": Case(
        lambda see, x: lg.norm(see(x * 1)), ([3.0, 4.0],), 5.0, 2.0, ([1.2, 1.6],)
    ),
    "the variance of equal values is flat": Case(
        lambda see, x: lg.var(see(x + 0)), ([2.0] * 4,), 0.0, 1.0, ([0.0] * 4,)
    ),
    "a variance far from zero keeps its digits": Case(
        lambda see, x: lg.var(see(x + 0), axis=-1),
        ([10000.0, 10001.0, 10002.0, 10003.0],),
        1.25,
        1.0,
        ([-0.75, -0.25, 0.25, 0.75],),
        repeats=True,
    ),
    "a logsumexp of minus infinities stays finite in its gradient": Case(
        lambda see, x: lg.logsumexp(see(x * 1), axis=-1),
        ([-INF, -INF],),
        -INF,
        2.0,
        ([0.0, 0.0],),
        repeats=True,
    ),
    "a logsumexp ignores a minus infinity": Case(
        lambda see, x: lg.logsumexp(see(x * 1), axis=-1),
        ([-INF, 2.0],),
        2.0,
        3.0,
        ([0.0, 3.0],),
        repeats=True,
    ),
    "a query that may look nowhere gets zeros": Case(
        masked_attention,
        ([[0.0, LN3], [-INF, -INF]], [[2.0], [6.0]]),
        [[5.0], [0.0]],
        [[1.0], [1.0]],
        ([[-0.75, 0.75], [0.0, 0.0]], [[0.25], [0.75]]),
    ),
    "a stretched operand gets the sum, in its own shape": Case(
        lambda see, a, b: see(a * b),
        ([2.0], [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
        [[2.0, 4.0, 6.0], [8.0, 10.0, 12.0]],
        [[1.0, 1.0, 1.0], [1.0, 1.0, 2.0]],
        ([27.0], [[2.0, 2.0, 2.0], [2.0, 2.0, 4.0]]),
    ),
    "both operands of an outer product are stretched": Case(
        lambda see, c, d: see(c * 1) * see(d + 0),
        ([[1.0], [2.0]], [[1.0, 10.0, 100.0]]),
        [[1.0, 10.0, 100.0], [2.0, 20.0, 200.0]],
        [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]],
        ([[111.0], [111.0]], [[3.0, 3.0, 3.0]]),
    ),
    "an element picked three times gets three gradients": Case(
        lambda see, x: see(x * 1)[[2, 0, 2, 2]],
        ([10.0, 20.0, 30.0],),
        [30.0, 10.0, 30.0, 30.0],
        [1.0, 2.0, 3.0, 4.0],
        ([2.0, 0.0, 8.0],),
    ),
    "a slice with a step of an empty range is empty": Case(
        lambda see, x: see(x + 0)[2:2:2], ([1.0, 2.0, 3.0, 4.0, 5.0],), [], [], ([0.0] * 5,)
    ),
    "a slice backwards puts each gradient in its place": Case(
        lambda see, x: see(x + 0)[4:0:-2],
        ([1.0, 2.0, 3.0, 4.0, 5.0],),
        [5.0, 3.0],
        [1.0, 10.0],
        ([0.0, 0.0, 10.0, 0.0, 1.0],),
    ),
    "a tensor without axes stays one": Case(
        lambda see, s, x: lg.sum(see(s * x)),
        (3.0, [1.0, 2.0, 4.0]),
        21.0,
        1.0,
        (7.0, [3.0, 3.0, 3.0]),
    ),
    "a matrix times a vector": Case(
        lambda see, m, b: see(m * 1) @ see(b + 0),
        ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [1.0, 0.0, 2.0]),
        [7.0, 16.0],
        [10.0, 1.0],
        ([[10.0, 0.0, 20.0], [1.0, 0.0, 2.0]], [14.0, 25.0, 36.0]),
    ),
    "a vector times a matrix": Case(
        lambda see, b, m: see(b * 1) @ see(m + 0),
        ([1.0, 2.0], [[1.0, 2.0], [3.0, 4.0]]),
        [7.0, 10.0],
        [1.0, -1.0],
        ([-1.0, -1.0], [[1.0, -1.0], [2.0, -2.0]]),
    ),
    "an inner node that is used twice waits for both": Case(
        lambda see, a, b: (lambda c: see(c + c) * c)(see(a * b)),
        (2.0, 3.0),
        72.0,
        1.0,
        (72.0, 48.0),
        repeats=False,
    ),
    "the gradient of each use of a leaf is in the sum": Case(
        lambda see, a, b, d: see(see(a + b) * d),
        (3.0, 2.0, 4.0),
        20.0,
        1.0,
        (4.0, 4.0, 5.0),
    ),
    "a product with zero has a gradient": Case(
        lambda see, x: see(x * 0.0), ([1.0, -2.0],), [0.0, 0.0], [3.0, 1.0], ([0.0, 0.0],)
    ),
}


def _realized(x: lg.Tensor) -> lg.Tensor:
    return x.realize()


def _lazy(x: lg.Tensor) -> lg.Tensor:
    return x


def _close(found: Any, wanted: Any, dtype: Any) -> bool:
    rtol = 1e-6 if dtype is lg.float32 else 1e-12
    array = np.asarray(found)
    return array.shape == np.shape(wanted) and np.allclose(array, wanted, rtol=rtol, atol=rtol)


def assert_as_told(case: Case, see: See, dtype: Any, factor: float, rows: int | None) -> None:
    def laid(x: Any) -> Array:
        return np.asarray(x, dtype.dtype) if rows is None else np.stack([np.asarray(x)] * rows)

    xs = [lg.asarray(laid(x), dtype=dtype) for x in case.at]
    y = case.function(see, *xs)
    upstream = see(lg.asarray(laid(case.upstream), dtype=dtype) * factor)
    found = lg.grad(y, xs, upstream=upstream)
    if see is _realized:
        found[-1].realize()
    else:
        lg.realize(y, found)
    assert _close(y, laid(case.value), dtype)
    for x, g, wanted in zip(xs, found, case.gradients, strict=True):
        assert g.node.spec == x.node.spec
        assert _close(g, laid(wanted) * factor, dtype)


@pytest.mark.parametrize("see", [_lazy, _realized], ids=["lazy", "realized early"])
@pytest.mark.parametrize("dtype", [lg.float32, lg.float64], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_a_reported_fault_is_not_ours(name: str, dtype: Any, see: See) -> None:
    for factor in (1.0, -2.5, 0.0):
        assert_as_told(CASES[name], see, dtype, factor, None)
        if CASES[name].repeats:
            assert_as_told(CASES[name], see, dtype, factor, 1)
            assert_as_told(CASES[name], see, dtype, factor, 3)
