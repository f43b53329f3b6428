"""What lives how long: reference counts alone free everything, and plans keep nothing."""

import gc
import pickle
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import lazygraph as lg


@pytest.fixture
def without_collector() -> Iterator[None]:
    """Reference counts alone have to free everything."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_a_deep_chain_is_freed_at_once(without_collector: None) -> None:
    y = lg.asarray(np.array([3.0]))
    first = weakref.ref(y.node)
    for _ in range(200_000):
        y = -y
    assert first() is not None
    del y
    assert first() is None


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
    things: list[Any] = [x.node, w.tensor().node, y.node, w, w.identity, x.numpy().base]
    held = [weakref.ref(thing) for thing in (*things, w.numpy().base)]
    del w, data, x, y, things
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
