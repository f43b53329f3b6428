"""Every gradient rule against directional differences, to first and second order."""

from collections.abc import Sequence

import numpy as np
import pytest

import lazygraph as lg
from lazygraph.extend import Op, Sample
from tests.lazygraph import op_cases
from tests.lazygraph.differences import assert_close, directional, inner
from tests.lazygraph.exactness import Array, bits
from tests.lazygraph.op_cases import DIFFERENTIABLE, TABLE

# The rule of `stop_gradient` is not the derivative, on purpose; others have none to check.
DIFFERENTIABLE = [
    op for op in DIFFERENTIABLE if op.name != "stop_gradient" and op_cases.takes_floats(op)
]
GRID = 64.0  # points in a unit: far apart for the steps of differences
BY_OP = pytest.mark.parametrize("op", DIFFERENTIABLE, ids=op_cases.name)


class Point:
    """One sample of an op as a function of its floating operands alone."""

    def __init__(self, op: Op, sample: Sample) -> None:
        self.op = op
        self.params = sample.params
        self.operands = list(sample.inputs)
        self.moving = [i for i, x in enumerate(sample.inputs) if x.dtype == np.float64]
        self.at = [sample.inputs[i] for i in self.moving]

    def record(self, xs: Sequence[lg.Tensor]) -> lg.Tensor:
        operands: list[lg.Tensor] = [lg.asarray(x) for x in self.operands]
        for i, x in zip(self.moving, xs, strict=True):
            operands[i] = x
        return lg.extend.apply(self.op, *operands, params=self.params)

    def value(self, xs: Sequence[Array]) -> Array:
        return self.record([lg.asarray(x) for x in xs]).numpy().astype(np.float64)

    def pulled_back(self, xs: Sequence[lg.Tensor], u: lg.Tensor) -> list[lg.Tensor]:
        return list(lg.grad(self.record(xs), xs, upstream=u, missing="zero"))


def apart(xs: Sequence[Array]) -> tuple[Array, ...]:
    """The operands on grids that are shifted against each other, and against 0.

    Where two operands meet, or one is 0, there may be a kink, over which differences reach.
    """
    shifts = [(i + 1) / (len(xs) + 1) for i in range(len(xs))]
    return tuple(
        (np.floor(x * GRID) + shift) / GRID for x, shift in zip(xs, shifts, strict=True)
    )


def points(op: Op, rng: np.random.Generator) -> list[Point]:
    """The samples in float64, and those from a domain also with the signs changed."""
    every = [op_cases.cast(sample, np.float64) for sample in op_cases.samples(op, rng)]
    if op.domain:
        every = [Sample(apart(sample.inputs)) for sample in every]
        every += [Sample(tuple(-x for x in sample.inputs)) for sample in every]
    found = [Point(op, sample) for sample in every]
    return [
        p for p in found if p.at and p.value(p.at).size and np.isfinite(p.value(p.at)).all()
    ]


def directions(like: Sequence[Array], rng: np.random.Generator) -> list[Array]:
    return [np.asarray(rng.uniform(-1.0, 1.0, x.shape)) for x in like]


def sizes(xs: Sequence[Array]) -> list[Array]:
    return [np.asarray(np.abs(x)) for x in xs]


@BY_OP
def test_the_gradient_is_the_transpose_of_the_derivative(
    op: Op, rng: np.random.Generator
) -> None:
    # <u, J v> == <J' u, v> for random u, v: one difference checks every entry of J.
    for point in points(op, rng):
        v = directions(point.at, rng)
        along = directional(point.value, point.at, v)
        u = rng.uniform(-1.0, 1.0, along.shape)
        y = point.record([lg.asarray(x) for x in point.at])
        pulled = point.pulled_back(
            [lg.asarray(x) for x in point.at], lg.asarray(u, dtype=y.dtype)
        )
        found = [x.numpy() for x in pulled]
        assert [x.shape for x in found] == [x.shape for x in point.at]
        scale = inner(sizes(found), sizes(v))
        assert_close(inner(found, v), inner([u], [along]), scale)


@BY_OP
def test_the_gradient_of_the_gradient_is_its_derivative(
    op: Op, rng: np.random.Generator
) -> None:
    # s(x, u) = <J(x)' u, v>: its gradient along w against a difference of s along w.
    for point in points(op, rng):
        y = point.record([lg.asarray(x) for x in point.at])
        if y.dtype is not lg.float64:
            continue
        at = [*point.at, rng.uniform(-1.0, 1.0, y.shape)]
        v, w = directions(point.at, rng), directions(at, rng)

        def s(
            tensors: Sequence[lg.Tensor], point: Point = point, v: list[Array] = v
        ) -> lg.Tensor:
            *xs, u = tensors
            pulled = point.pulled_back(xs, u)
            terms = [lg.sum(g * x) for g, x in zip(pulled, v, strict=True)]
            total = terms[0]
            for term in terms[1:]:
                total = total + term
            return total

        leaves = [lg.asarray(x) for x in at]
        found = [g.numpy() for g in lg.grad(s(leaves), leaves, missing="zero")]
        along = directional(lambda xs, s=s: s([lg.asarray(x) for x in xs]).numpy(), at, w)  # type: ignore[misc]
        assert_close(inner(found, w), float(along), inner(sizes(found), sizes(w)))


@BY_OP
def test_gradients_have_the_spec_of_their_operands_in_float32_too(
    op: Op, rng: np.random.Generator
) -> None:
    for sample in op_cases.samples(op, rng):
        narrow = op_cases.cast(sample, np.float32)
        xs = [lg.asarray(x) for x in narrow.inputs]
        floating = [x for x in xs if x.dtype.is_floating]
        y = lg.extend.apply(op, *xs, params=narrow.params)
        if floating and y.dtype.is_floating:
            ones = lg.ones_like(y)
            gradients = lg.grad(y, floating, upstream=ones, missing="zero")
            for x, g in zip(floating, gradients, strict=True):
                assert g.node.spec == x.node.spec == lg.extend.Spec(x.shape, lg.float32)
                assert np.isfinite(g.numpy()).all()


@BY_OP
def test_an_upstream_of_zero_gives_zero(op: Op, rng: np.random.Generator) -> None:
    for point in points(op, rng):
        xs = [lg.asarray(x) for x in point.at]
        y = point.record(xs)
        for g in point.pulled_back(xs, lg.zeros_like(y)):
            assert not g.numpy().any()


def test_an_op_without_a_rule_gives_no_floats_of_floats() -> None:
    for op in TABLE:
        if op.gradient is None:
            for sample in op_cases.samples(op, np.random.default_rng(0)):
                floats = [x for x in sample.inputs if x.dtype.kind == "f"]
                y = op_cases.applied(op, sample.inputs, sample.params)
                assert not floats or not y.dtype.is_floating


def test_a_flipped_sign_does_not_pass_for_a_gradient() -> None:
    with pytest.raises(AssertionError):
        assert_close(-1.0, 1.0, 1.0)
    with pytest.raises(AssertionError):
        assert_close(1.0 + 2e-7, 1.0, 1.0)
    x = np.linspace(0.5, 2.0, 7)
    along = directional(lambda xs: np.exp(xs[0]), [x], [np.ones(7)])
    assert np.allclose(along, np.exp(x), rtol=1e-11, atol=0.0)
    assert bits(lg.exp(lg.asarray(x))) == bits(np.exp(x))
