"""Depth costs nothing but its length: no recursion, no paths counted twice, no cycles left."""

import copy
import gc
import pickle
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import lazygraph as lg
from lazygraph.extend import postorder, verify

DEPTH = 200_000


@pytest.fixture(scope="module")
def chain() -> lg.Tensor:
    """x - 1 + 1 - 1 + 1 ..., as deep as a graph has to be."""
    x = lg.asarray(np.array([3.0]))
    y = x
    for i in range(DEPTH):
        y = y + 1 if i % 2 else y - 1
    return y


@pytest.fixture
def without_collector() -> Iterator[None]:
    """Reference counts alone have to free everything."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def leaf_of(y: lg.Tensor) -> lg.Tensor:
    return lg.Tensor(next(node for node in postorder([y.node]) if node.op.name == "data"))


def test_the_recursion_limit_is_that_of_python() -> None:
    assert sys.getrecursionlimit() <= 1000


def test_a_deep_chain_is_realized(chain: lg.Tensor) -> None:
    assert (chain * 1.0).item() == 3.0


def test_a_deep_chain_is_differentiated(chain: lg.Tensor) -> None:
    gradients = chain.backward()
    assert len(gradients) == DEPTH + 1
    assert gradients[leaf_of(chain)].item() == 1.0


def test_the_gradient_of_a_deep_chain_is_deep_and_differentiated() -> None:
    x = lg.asarray(1.0, dtype=lg.float64)
    y = x
    for _ in range(DEPTH // 20):
        y = y * 1.0001
    slope = lg.grad(y * y, x)
    steep = lg.grad(slope, x)
    assert np.isclose(steep.item(), 2 * 1.0001 ** (DEPTH // 10), rtol=1e-9)


def test_a_deep_chain_is_shown_and_checked(chain: lg.Tensor) -> None:
    lines = lg.listing(chain).splitlines()
    assert len(lines) == 2 * DEPTH + 1  # a scalar for each step, and the leaf
    assert repr(chain).startswith("Tensor(float64[1], ")
    verify([chain.node])


def test_a_deep_chain_is_pickled_and_copied(chain: lg.Tensor) -> None:
    twin = pickle.loads(pickle.dumps(chain))
    assert len(postorder([twin.node])) == 2 * DEPTH + 1
    assert twin.item() == 3.0
    assert copy.deepcopy(chain) is chain


def test_a_deep_chain_is_freed_at_once(without_collector: None) -> None:
    y = lg.asarray(np.array([3.0]))
    first = weakref.ref(y.node)
    for _ in range(DEPTH):
        y = -y
    assert first() is not None
    del y
    assert first() is None


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


def graph() -> list[Any]:
    """Something of everything that refers to nodes."""
    w = lg.Var("w", [1.0, 2.0])
    x = lg.asarray([[0.5, 1.0], [2.0, 3.0]])
    y = lg.sum(lg.softmax(x @ x.T + w) * lg.random.uniform((2, 2)))
    gradients = y.backward()
    lg.realize(y, gradients[w])
    lg.explain(y * 2.0, gradients[x])
    lg.listing(gradients)
    w.assign(w - gradients[w] * 0.1)
    twin = pickle.loads(pickle.dumps(y))
    return [w, x, y, gradients, gradients[x], y.node, x.node, w.tensor(), w.identity, twin]


def test_graphs_vars_and_gradient_maps_are_freed_without_the_collector(
    without_collector: None,
) -> None:
    held = graph()
    references = [weakref.ref(x) for x in held if not isinstance(x, lg.GradientMap)]
    nodes = [weakref.ref(node) for node in held[3]]
    assert all(reference() is not None for reference in (*references, *nodes))
    held.clear()
    assert not any(reference() is not None for reference in (*references, *nodes))


def test_an_error_leaves_nothing_behind(without_collector: None) -> None:
    def fail() -> weakref.ref[Any]:
        x = lg.asarray([1.0, 2.0])
        ids = lg.asarray([0, 4]) + 1
        with pytest.raises(IndexError) as caught:
            lg.take(lg.exp(x), ids).realize()
        caught.value.__traceback__ = None
        del caught
        return weakref.ref(x.node)

    assert fail()() is None


def test_a_plan_keeps_neither_data_nor_nodes_nor_vars() -> None:
    w = lg.Var("w", np.arange(5.0))
    data = np.arange(5.0)
    x = lg.asarray(data, copy=False)
    y = lg.exp(x * w + 2.0)
    y.realize()
    values = [x.numpy().base, w.numpy().base, y.numpy().base]
    held = [weakref.ref(thing) for thing in (x.node, w.tensor().node, y.node, w, w.identity)]
    held += [weakref.ref(value) for value in values[:2]]
    del w, data, x, y, values
    gc.collect()
    assert [reference() for reference in held] == [None] * len(held)


def live_nodes(action: Callable[[], Any]) -> int:
    """How many more nodes there are afterwards."""
    gc.collect()
    before = sum(isinstance(thing, lg.Node) for thing in gc.get_objects())
    action()
    gc.collect()
    return sum(isinstance(thing, lg.Node) for thing in gc.get_objects()) - before


def test_a_loop_leaves_no_nodes() -> None:
    w = lg.Var("w", [1.0, 2.0])

    def train() -> None:
        for _ in range(50):
            loss = lg.sum(w * w)
            w.assign(w - 0.1 * loss.backward()[w])

    train()
    assert live_nodes(train) <= 1  # the leaf of the last version
