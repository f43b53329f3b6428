"""Checkpointed functions: the same bits, less memory, and values computed twice."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazygraph as lg
from tests.lazygraph.exactness import assert_same_bits

Wrap = Callable[[Callable[..., lg.Tensor]], Callable[..., lg.Tensor]]
ROWS, WIDTH, DEPTH = 256, 32, 16


def plain(function: Callable[..., lg.Tensor]) -> Callable[..., lg.Tensor]:
    return function


def weights(rng: np.random.Generator, count: int = DEPTH) -> list[lg.Var]:
    scale = WIDTH**-0.5
    draws = [rng.standard_normal((WIDTH, WIDTH)) * scale for _ in range(count)]
    return [lg.Var(f"w{i}", draw.astype(np.float32)) for i, draw in enumerate(draws)]


def layers(h: lg.Tensor, *ws: lg.Var) -> lg.Tensor:
    for w in ws:
        h = lg.tanh(h @ w)
    return h


def deep(wrap: Wrap, rng: np.random.Generator, a_region: int = 4) -> list[lg.Tensor]:
    """The loss of a deep network, and its gradients, those of the last layers first."""
    ws = weights(rng)
    h = lg.asarray(rng.standard_normal((ROWS, WIDTH)).astype(np.float32))
    for i in range(0, DEPTH, a_region):
        h = wrap(layers)(h, *ws[i : i + a_region])
    loss = lg.mean(h * h)
    return [loss, *lg.grad(loss, ws[::-1])]


def both(build: Callable[[Wrap], list[lg.Tensor]]) -> tuple[list[lg.Tensor], list[lg.Tensor]]:
    return build(plain), build(lg.checkpoint)


def seeded() -> np.random.Generator:
    return np.random.default_rng(5)


def test_memory_shrinks_to_what_goes_in_and_one_region() -> None:
    kept, again = both(lambda wrap: deep(wrap, seeded()))
    before, after = lg.explain(*kept), lg.explain(*again)
    activation = ROWS * WIDTH * 4
    assert before.arena_bytes >= DEPTH * activation
    assert after.arena_bytes <= 0.6 * before.arena_bytes
    assert after.arena_bytes <= (DEPTH / 4 + 4 + 4) * activation


def test_each_inner_value_is_computed_twice() -> None:
    kept, again = both(lambda wrap: deep(wrap, seeded()))
    tanhs = [[step.name for step in lg.explain(*x).steps].count("tanh") for x in (kept, again)]
    assert tanhs == [DEPTH, 2 * DEPTH]


def test_values_and_gradients_keep_every_bit() -> None:
    for one, other in zip(*both(lambda wrap: deep(wrap, seeded(), a_region=3)), strict=True):
        assert_same_bits(other, one)


def attention_with_dropout(wrap: Wrap) -> list[lg.Tensor]:
    rng, generator = seeded(), lg.random.Generator(3)
    ws = weights(rng, 3)
    table = lg.Var("table", rng.standard_normal((9, WIDTH)).astype(np.float32))
    ids = lg.asarray(rng.integers(0, 9, (4, 8)))

    def block(h: lg.Tensor, keep: float) -> lg.Tensor:
        h = lg.layer_norm(h) + table[0]
        q, k, v = (h @ w for w in ws)
        y = lg.softmax(q @ k.mT * WIDTH**-0.5) @ v
        return h + lg.where(generator.bernoulli(keep, y.shape), y / keep, 0.0)

    h = lg.take(table, ids, axis=0)
    for _ in range(3):
        h = wrap(block)(h, 0.8)
    loss = lg.sum(h[:, -1] ** 2)
    return [loss, h, *lg.grad(loss, [table, *ws])]


def by_columns(wrap: Wrap) -> list[lg.Tensor]:
    # Products of operands that lie by columns have other bits.
    rng = seeded()
    x = lg.asarray(rng.standard_normal((33, 70)).astype(np.float32))
    a = lg.Var("a", rng.standard_normal((50, 70)).astype(np.float32))
    turned = (lg.exp(a) / 100.0).T
    turned.realize()
    y = wrap(lambda x: lg.tanh(x @ turned) @ a.tensor()[:, :40])(x)
    return [y, *lg.grad(lg.sum(y * y), [x, a])]


def single_rows(wrap: Wrap) -> list[lg.Tensor]:
    # For these there is a routine that sums in another order if the matrix lies by columns.
    rng, found = seeded(), []
    for k, n in rng.integers(5, 40, (24, 2)):
        x = lg.asarray(rng.standard_normal((1, k)).astype(np.float32))
        a = lg.asarray(rng.standard_normal((n, k)).astype(np.float32))
        y = wrap(lambda x, turned: lg.tanh(x @ turned) * 2.0)(x, (a * 1.5).mT)
        found += [y, *lg.grad(lg.sum(y * y), [x, a])]
    return found


def nested(wrap: Wrap) -> list[lg.Tensor]:
    ws = weights(seeded(), 6)
    h = lg.asarray(seeded().standard_normal((ROWS, WIDTH)).astype(np.float32))

    def outer(h: lg.Tensor) -> lg.Tensor:
        for i in range(0, 6, 2):
            h = wrap(layers)(h, *ws[i : i + 2]) + h
        return h

    loss = lg.mean(lg.square(wrap(outer)(h)))
    return [loss, *lg.grad(loss, [h, *ws])]


def of_a_custom_gradient(wrap: Wrap) -> list[lg.Tensor]:
    @lg.custom_gradient
    def smooth(x: lg.Tensor) -> Any:
        y = lg.exp(-x * x)
        return y, lambda g: g * y * x * -2.0

    x = lg.asarray(seeded().standard_normal((5, 6)).astype(np.float32))
    y = wrap(lambda x: smooth(lg.sin(smooth(x))))(x)
    return [y, lg.grad(lg.sum(y), x)]


@pytest.mark.parametrize(
    "build", [attention_with_dropout, by_columns, single_rows, nested, of_a_custom_gradient]
)
def test_every_bit_stays_for(build: Callable[[Wrap], list[lg.Tensor]]) -> None:
    for realized_at_once in (True, False):
        kept, again = both(build)
        if realized_at_once:
            lg.realize(kept)
            lg.realize(again)
        for one, other in zip(kept, again, strict=True):
            assert_same_bits(other, one)


def test_gradients_of_gradients_are_those_without() -> None:
    def second(wrap: Wrap) -> list[lg.Tensor]:
        x = lg.asarray(seeded().standard_normal(7))
        first = lg.grad(lg.sum(wrap(lambda x: lg.exp(lg.sin(x)) * x)(x)), x)
        return [first, lg.grad(lg.sum(first * first), x)]

    for one, other in zip(*both(second), strict=True):
        np.testing.assert_allclose(other.numpy(), one.numpy(), rtol=1e-14)


def test_a_step_that_is_recorded_again_finds_its_plan() -> None:
    ws = weights(seeded(), 4)
    plans = []
    for i in range(3):
        x = lg.asarray(np.full((8, WIDTH), float(i), np.float32))
        loss = lg.sum(lg.checkpoint(layers)(x, *ws))
        before = lg.stats()
        lg.realize(loss, lg.grad(loss, ws))
        plans.append(lg.stats().plans_built - before.plans_built)
    assert plans[1:] == [0, 0]


def test_the_cost_of_recording_grows_with_the_number_of_regions_alone() -> None:
    def nodes(regions: int) -> int:
        x = lg.asarray([0.5])
        before, y = lg.stats().nodes_made, x
        for _ in range(regions):
            y = lg.checkpoint(lambda y: lg.sin(lg.cos(y)))(y)
        lg.grad(lg.sum(y), x)
        return lg.stats().nodes_made - before

    assert nodes(3000) - nodes(2000) == nodes(2000) - nodes(1000)


def test_vars_have_gradients_and_inner_tensors_do_not() -> None:
    w, inside = lg.Var("w", [2.0, 3.0]), []

    @lg.checkpoint
    def function(x: lg.Tensor) -> lg.Tensor:
        inside.append(x * w)
        return lg.sum(inside[0] * w)

    x = lg.asarray([1.0, 1.0])
    gradients = function(x).backward()
    assert gradients["w"].tolist() == [4.0, 6.0]
    assert gradients[x].tolist() == [4.0, 9.0]
    assert inside[0] not in gradients


def test_no_gradient_is_recorded_of_what_a_region_makes_of_numbers() -> None:
    def recorded(number: Callable[[], lg.Tensor]) -> int:
        x = lg.asarray([1.0, 2.0])
        y = lg.sum(lg.checkpoint(lambda x: x * number())(x))
        before = lg.stats().nodes_made
        assert y.backward()[x].shape == (2,)
        return lg.stats().nodes_made - before

    # One op more is one node more: its copy.
    assert recorded(lambda: lg.sin(lg.exp(0.5))) - recorded(lambda: lg.exp(0.5)) == 1


def test_what_the_function_was_given_comes_back_as_it_is() -> None:
    x = lg.ones((2,))
    assert lg.checkpoint(lambda x: x)(x) is x
    with pytest.raises(TypeError, match=r"must return one tensor; got \(Tensor"):
        lg.checkpoint(lambda x: (x, x))(x)  # type: ignore[arg-type, return-value]
