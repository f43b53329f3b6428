"""Each rule fires where it is exact and nowhere else; no pass changes a bit."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazygraph as lg
from lazygraph import plan
from lazygraph.extend import postorder
from lazygraph.passes import canonical, orient, simplify
from tests.lazygraph.exactness import assert_same_bits, bits
from tests.lazygraph.op_cases import special

RULES = (*orient.RULES, *canonical.RULES, *simplify.RULES)
Build = Callable[[lg.Tensor], lg.Tensor]


def fired(*targets: lg.Tensor) -> dict[str, int]:
    found: dict[str, int] = {}
    for _, rules in lg.explain(*targets).passes:
        for says, count in rules:
            found[says] = found.get(says, 0) + count
    return found


def steps(*targets: lg.Tensor) -> list[str]:
    return [step.name for step in lg.explain(*targets).steps]


def specials(dtype: Any = np.float32) -> lg.Tensor:
    """A square of special values; every NaN, infinity and zero among them."""
    values = special(dtype)
    side = int(np.ceil(np.sqrt(values.size)))
    return lg.asarray(np.resize(values, (side, side)))


def node_by_node(build: Build, x: lg.Tensor) -> lg.Tensor:
    """The value with a plan for each node, so that no rule sees two of them."""
    y = build(x)
    for node in postorder([y.node]):
        lg.Tensor(node).realize()
    return y


# For each rule, a graph in which it is right.
FIRES: dict[str, Build] = {
    "x @ y.mT -> a product that reads y by columns": lambda x: x @ x.T,
    "c op x -> x op c, where op commutes": lambda x: 3.0 * x,
    "x + -y -> x - y": lambda x: x[::-1] + -x,
    "x - -y -> x + y": lambda x: x[::-1] - -x,
    "(..., m, k) @ (k, n) -> one product of (... m, k)": lambda x: lg.stack([x, x]) @ x,
    "(..., m, k) @ (n, k).mT -> one product of (... m, k)": lambda x: lg.stack([x, x]) @ x.T,
    "x * 1 -> x": lambda x: lg.sin(x) * 1.0,
    "x / 1 -> x": lambda x: x / 1.0,
    "x - 0 -> x": lambda x: x - 0.0,
    "x + -0.0 -> x": lambda x: x + -0.0,
    "--x -> x": lambda x: lg.negative(-x),
    "where(c, x, x) -> x": lambda x: lg.where(x > 0, x, x),
    "reshape of a reshape -> one reshape": lambda x: lg.reshape(lg.reshape(x, (-1,)), x.shape),
    "permutation of a permutation -> one permutation": lambda x: x.T.T,
    "broadcast of a broadcast -> one broadcast": lambda x: lg.broadcast_to(
        lg.broadcast_to(x[:1, :1], (1, 5)), (3, 5)
    ),
    "float32 -> float64 -> float32 changes nothing": lambda x: lg.astype(
        lg.astype(x, lg.float64), lg.float32
    ),
    "f(broadcast x) -> broadcast f(x), where f is pointwise": lambda x: lg.exp(
        lg.broadcast_to(x[:1], x.shape)
    ),
    "f(x, broadcast y) -> f(x, y), where f is pointwise and x as large": lambda x: (
        x * lg.broadcast_to(x[:1], x.shape)
    ),
}

# Graphs that look like a rule's, where it would change a value or a dtype.
SPARED: dict[str, tuple[str, Build]] = {
    "x + 0.0 may turn -0.0 into 0.0": ("x + -0.0 -> x", lambda x: x + 0.0),
    "x - -0.0 may as well": ("x - 0 -> x", lambda x: x - -0.0),
    "0 - x is no x": ("x - 0 -> x", lambda x: 0.0 - x),
    "1 / x is no x": ("x / 1 -> x", lambda x: 1.0 / x),
    "x times nearly 1": ("x * 1 -> x", lambda x: x * (1.0 + 2.0**-23)),
    "x times a tensor of 1 that may change": (
        "x * 1 -> x",
        lambda x: x * lg.asarray(np.float32(1)),
    ),
    "x minus itself": ("x - 0 -> x", lambda x: x - x),
    "two branches": ("where(c, x, x) -> x", lambda x: lg.where(x > 0, x, lg.sin(x))),
    "one negative": ("--x -> x", lambda x: -lg.abs(-x)),
    "narrow and wide again": (
        "float32 -> float64 -> float32 changes nothing",
        lambda x: lg.astype(
            lg.astype(lg.sin(lg.astype(x, lg.float64)), lg.float32), lg.float64
        ),
    ),
    "through an integer": (
        "float32 -> float64 -> float32 changes nothing",
        lambda x: lg.astype(lg.astype(lg.clip(x, -9, 9), lg.int32), lg.float32),
    ),
    "a remembered inner view": (
        "permutation of a permutation -> one permutation",
        lambda x: lg.sin(x).T.realize().T,
    ),
    "batches on both sides": (
        "(..., m, k) @ (k, n) -> one product of (... m, k)",
        lambda x: lg.stack([x, x]) @ lg.stack([x, x]),
    ),
    "an operand of full size": (
        "f(broadcast x) -> broadcast f(x), where f is pointwise",
        lambda x: lg.broadcast_to(x[:1], x.shape) * x,
    ),
    "two rows of different length": (
        "f(broadcast x) -> broadcast f(x), where f is pointwise",
        lambda x: lg.broadcast_to(x[:1], x.shape) * lg.broadcast_to(x[:, :1], x.shape),
    ),
    "two scalars": ("c op x -> x op c, where op commutes", lambda x: x - 3.0),
}


def test_every_rule_has_an_example() -> None:
    assert {rule.says for rule in RULES} == FIRES.keys()
    assert {says for says, _ in SPARED.values()} <= FIRES.keys()


@pytest.mark.parametrize("says", FIRES)
def test_a_rule_fires_and_changes_no_bit(says: str) -> None:
    build, x = FIRES[says], specials()
    assert fired(build(x))[says] >= 1
    assert_same_bits(build(x), node_by_node(build, x))


@pytest.mark.parametrize("name", SPARED)
def test_a_rule_stays_away_where_it_would_be_wrong(name: str) -> None:
    says, build = SPARED[name]
    x = specials()
    assert says not in fired(build(x))
    assert_same_bits(build(x), node_by_node(build, x))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int8])
@pytest.mark.parametrize("number", [0, 1, -1, 0.0, -0.0, 1.0])
def test_arithmetic_with_a_scalar_is_that_of_numpy(dtype: Any, number: float) -> None:
    builds: tuple[Build, ...] = (
        lambda x: x + number,
        lambda x: number + x,
        lambda x: x - number,
        lambda x: number - x,
        lambda x: x * number,
        lambda x: x / number,
    )
    for build in builds:
        assert_same_bits(build(specials(dtype)), node_by_node(build, specials(dtype)))


def test_a_product_that_promotes_still_promotes() -> None:
    x = lg.asarray([1, 2])
    assert (x * 1.0).node.spec == lg.extend.Spec((2,), lg.float32)
    assert (x * 1.0).numpy().dtype == np.float32
    assert (lg.asarray(1.0) * lg.ones((3,))).tolist() == [1.0, 1.0, 1.0]


def test_constants_are_computed_once_and_large_ones_are_not_kept() -> None:
    x = lg.asarray(np.ones((4, 4), np.float32))
    assert steps(lg.tril(x)) == ["where"]
    assert lg.tril(x).tolist() == np.tril(np.ones((4, 4))).tolist()
    assert steps(lg.astype(lg.arange(5), lg.float32) * x[0, 0]) == ["multiply"]
    assert "arange" in steps(lg.arange(300_000) + lg.asarray(1))


def test_data_is_no_constant() -> None:
    values = [(lg.asarray([x]) * lg.asarray([3.0]) + 1.0).item() for x in (1.0, 2.0, 5.0)]
    assert values == [4.0, 7.0, 16.0]


def test_twins_run_once_and_look_alikes_do_not_merge() -> None:
    x, y = lg.asarray([1.0, 2.0]), lg.asarray([1.0, 2.0])
    assert steps(lg.exp(x) + lg.exp(x)) == ["exp", "add"]
    assert steps(lg.exp(x + y) * lg.exp(y + x)) == ["add", "exp", "multiply"]
    assert steps(lg.exp(x) + lg.exp(y)) == ["exp", "exp", "add"]
    assert steps(lg.exp(x - y) * lg.exp(y - x)).count("exp") == 2
    draws = lg.random.bits((4,)) ^ lg.random.bits((4,))
    assert steps(draws).count("random_bits") == 2
    assert draws.numpy().any()


def test_a_product_reads_a_transposed_operand_without_a_copy() -> None:
    x = lg.asarray(np.ones((5, 7), np.float32))
    heads = lg.permute_dims(
        lg.reshape(lg.asarray(np.ones((2, 8, 6))), (2, 8, 3, 2)), (0, 2, 1, 3)
    )
    for product in (x.T @ x, x @ x.T, heads @ heads.mT, x @ x.T.T.T.realize()):
        assert "copy" not in steps(product)
    w = lg.asarray(np.ones((3, 7), np.float32))
    gradients = lg.sum(lg.tanh(x @ w.T)).backward()
    assert "copy" not in steps(gradients[x])
    assert "copy" not in steps(gradients[w])


def plans_built(action: Callable[[], Any]) -> int:
    before = lg.stats().plans_built
    action()
    return lg.stats().plans_built - before


def test_a_scalar_whose_value_no_rule_used_may_change_freely() -> None:
    x = lg.asarray(np.linspace(-1.0, 1.0, 7))
    annealed = [lg.exp(x * a) - lg.cos(x) * b for a, b in ((2, 3), (0.5, 5), (1, 7), (4, 4))]
    assert [plans_built(t.realize) for t in annealed] == [1, 0, 0, 0]
    assert_same_bits(annealed[1], np.exp(x.numpy() * 0.5) - np.cos(x.numpy()) * 5)


def test_a_scalar_whose_value_was_used_costs_one_more_plan_for_good() -> None:
    x = lg.asarray(np.linspace(-1.0, 1.0, 7))
    annealed = [lg.sin(x * a + lg.cos(x) * 7.0) for a in (1.0, 2.0, 3.0, 1.0, 1.0)]
    assert [plans_built(t.realize) for t in annealed] == [1, 1, 0, 0, 0]
    assert bits(annealed[0]) == bits(annealed[3]) == bits(annealed[4])
    assert_same_bits(annealed[1], np.sin(x.numpy() * 2.0 + np.cos(x.numpy()) * 7.0))


def cosines(x: lg.Tensor, a: float, b: float) -> lg.Tensor:
    return lg.cos(x * a) + lg.cos(x * b)


@pytest.mark.parametrize("changed", [(5.0, 3.0), (3.0, 5.0), (4.0, 5.0), (6.0, 6.0)])
def test_equal_scalars_are_merged_as_long_as_they_are_equal(
    changed: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "cache", plan.PlanCache())
    x = lg.asarray([0.5, 2.0])
    assert steps(cosines(x, 3.0, 3.0)).count("cos") == 1
    wanted = [np.cos(x.numpy() * a) + np.cos(x.numpy() * b) for a, b in (changed, (3, 3))]
    found = [cosines(x, *changed), cosines(x, 3.0, 3.0), cosines(x, *changed)]
    assert [plans_built(t.realize) for t in found] == [1, 0, 0]
    assert_same_bits(found[0], wanted[0])
    assert_same_bits(found[1], wanted[1])
    assert_same_bits(found[2], wanted[0])
