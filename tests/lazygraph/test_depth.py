"""Depth costs nothing but its length: no recursion, and no path counted twice."""

import copy
import pickle
import sys

import numpy as np
import pytest

import lazygraph as lg
from lazygraph import plan
from lazygraph.extend import postorder, verify

DEPTH = 200_000


def chain(depth: int) -> tuple[lg.Tensor, lg.Tensor]:
    """x and - - ... - x."""
    x = y = lg.asarray(np.array([3.0]))
    for _ in range(depth):
        y = -y
    return x, y


@pytest.fixture(scope="module")
def deep() -> tuple[lg.Tensor, lg.Tensor]:
    return chain(DEPTH)


@pytest.fixture(autouse=True)
def _deep_plans_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "cache", plan.PlanCache())


Ends = tuple[lg.Tensor, lg.Tensor]


def test_the_recursion_limit_is_that_of_python() -> None:
    assert sys.getrecursionlimit() <= 1000


def test_a_deep_chain_is_realized_step_by_step() -> None:
    y = lg.asarray(np.array([-3.0]))
    for _ in range(DEPTH):
        y = lg.abs(y)
    before = lg.stats().plans_built
    assert y.item() == 3.0
    assert lg.stats().plans_built - before == 1


def test_a_deep_chain_is_differentiated(deep: Ends) -> None:
    x, y = deep
    gradients = y.backward()
    assert len(gradients) == DEPTH + 1
    assert gradients[x].shape == (1,)
    x, y = chain(20_000)
    assert lg.grad(y, x).item() == 1.0


def test_the_gradient_of_a_deep_chain_is_differentiated() -> None:
    x = y = lg.asarray(1.0, dtype=lg.float64)
    for _ in range(2000):
        y = y * 1.001
    slope = lg.grad(y * y, x)
    steep = lg.grad(slope, x)
    assert np.isclose(steep.item(), 2 * 1.001**4000, rtol=1e-9)


def test_a_deep_chain_is_shown_and_checked(deep: Ends) -> None:
    _, y = deep
    assert lg.listing(y).count("\n") == DEPTH
    assert repr(y).startswith("Tensor(float64[1], negative, recorded at test_depth.py:")
    verify([y.node])


def test_a_deep_chain_is_pickled_and_copied(deep: Ends) -> None:
    _, y = deep
    assert copy.deepcopy(y) is y
    twin = pickle.loads(pickle.dumps(y))
    assert len(postorder([twin.node])) == DEPTH + 1
    assert repr(twin) == repr(y)
    assert pickle.loads(pickle.dumps(chain(5000)[1] * 2)).item() == 6.0


def diamonds(count: int) -> tuple[lg.Tensor, lg.Tensor]:
    x = a = lg.asarray(1.0, dtype=lg.float64)
    for _ in range(count):
        a = a + a
    return x, a


def test_a_hundred_doublings_are_a_hundred_nodes_and_steps() -> None:
    x, a = diamonds(100)
    assert len(postorder([a.node])) == 101
    assert len(lg.explain(a).steps) == 100
    gradient = a.backward()[x]
    assert (a.item(), gradient.item()) == (2.0**100, 2.0**100)


@pytest.mark.parametrize("count", [10, 1000])
def test_diamonds_take_linear_work(count: int) -> None:
    x, a = diamonds(count)
    before = lg.stats().nodes_made
    gradient = a.backward()[x]
    made = lg.stats().nodes_made - before
    assert made <= 3 * count + 10
    assert len(postorder([gradient.node])) <= 3 * count + 10
    assert gradient.item() == 2.0**count
    stacked = pickle.loads(pickle.dumps(a))
    assert len(lg.listing(stacked).splitlines()) == count + 1
