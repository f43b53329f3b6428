"""An explanation tells the plan that will run, and why it had to be built."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import pytest

import lazygraph as lg
from lazygraph import plan
from lazygraph.extend import realize_derived
from lazygraph.inspection.structure import read_key
from lazygraph.passes.pipeline import PIPELINE


@pytest.fixture(autouse=True)
def no_plans() -> Iterator[None]:
    kept = plan.cache._plans
    plan.cache._plans = type(kept)()
    yield
    plan.cache._plans = kept


def data(*shape: int) -> lg.Tensor:
    return lg.asarray(np.ones(shape, np.float32))


def layer(x: lg.Tensor, w: lg.Var) -> lg.Tensor:
    with lg.scope("layer"):
        return lg.sum(lg.tanh(x @ w) * 1.0)


def test_the_plan_that_is_explained_is_the_one_that_runs() -> None:
    y = layer(data(3, 2), lg.Var("w", np.ones((2, 4), np.float32)))
    before = lg.stats()
    with lg.no_realize():
        told = lg.explain(y)
    assert y.node.value is None
    y.realize()
    after = lg.stats()
    assert after.plans_built - before.plans_built == 1
    assert after.plan_hits - before.plan_hits == 1
    assert after.realizations - before.realizations == 1
    assert after.peak_bytes == max(before.peak_bytes, told.peak_bytes)


def test_a_cached_plan_is_said_to_be_one() -> None:
    first, second = (lg.explain(lg.exp(data(3))) for _ in range(2))
    assert (first.cached, second.cached) == (False, True)
    assert first.difference == "there is none for a realization yet"
    assert second.difference == ""
    assert first.steps == second.steps
    before = lg.stats()
    lg.explain(lg.exp(data(3)))
    assert lg.stats().plans_built == before.plans_built
    assert lg.stats().plan_hits == before.plan_hits


def test_rules_are_told_with_how_often_they_fired() -> None:
    x = data(3)
    y = -((x * 1.0) * 1.0)
    told = lg.explain(lg.exp(-y) * lg.exp(x))
    passes = dict(told.passes)
    assert dict(passes["simplify"]) == {"x * 1 -> x": 2, "--x -> x": 1}
    assert dict(passes["share"]) == {"twins merged": 1}
    assert told.guarded == 2


def test_steps_name_the_node_of_the_listing_and_its_line() -> None:
    w = lg.Var("w", np.ones((2, 4), np.float32))
    x = (data(3, 2) + 1.0).realize()  # what is below it is listed, but not run
    y = layer(x, w)
    told = lg.explain(y)
    lines = lg.listing(y).splitlines()
    line = layer.__code__.co_firstlineno + 2
    assert [(step.name, str(step.spec), step.where) for step in told.steps] == [
        ("matmul", "float32[3, 4]", "arena"),
        ("tanh", "float32[3, 4]", "in place"),
        ("sum", "float32[1, 1]", "result"),
    ]
    for step in told.steps:
        assert step.line == f"test_explain.py:{line} in layer"
        assert step.node is not None
        assert lines[step.node].startswith(f"%{step.node} = {step.name}(")
    assert (told.arena_bytes, told.result_bytes, told.peak_bytes) == (64, 4, 68)


W = lg.Var("w", np.ones((2, 2), np.float32))
X, Y = data(2, 2), data(2, 2)
Pair = tuple[Callable[[], lg.Tensor], Callable[[], lg.Tensor], str]
PAIRS: dict[str, Pair] = {
    "op": (lambda: lg.exp(X), lambda: lg.tanh(X), "node %1: tanh instead of exp (#)"),
    "shape": (
        lambda: lg.exp(data(32, 2)),
        lambda: lg.exp(data(64, 2)),
        "leaf %0: float32[64, 2] instead of float32[32, 2] (#)",
    ),
    "dtype": (
        lambda: lg.exp(X),
        lambda: lg.exp(lg.asarray(np.ones((2, 2)))),
        "leaf %0: float64[2, 2] instead of float32[2, 2] (#)",
    ),
    "leaf": (
        lambda: lg.exp(W.tensor()),
        lambda: lg.exp(X),
        "leaf %0: data float32[2, 2] instead of variable float32[2, 2] (#)",
    ),
    "parameter": (
        lambda: lg.permute_dims(data(1, 2, 3), (0, 2, 1)),
        lambda: lg.permute_dims(data(1, 2, 3), (2, 1, 0)),
        "node %1: permute_dims(axes=(2, 1, 0)) instead of permute_dims(axes=(0, 2, 1)) (#)",
    ),
    "operand": (
        lambda: (X - Y) * X,
        lambda: (X - Y) * Y,
        "node %3: multiply of %2, %1 instead of %2, %0 (#)",
    ),
    "length": (
        lambda: lg.exp(lg.tanh(X)),
        lambda: lg.exp(lg.exp(lg.tanh(X))),
        "4 nodes instead of 3",
    ),
}


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_what_differs_from_the_closest_plan_is_told_in_words(pair: Pair) -> None:
    before, now, words = pair
    lg.exp(lg.sum(data(7, 7, 7))).realize()  # another plan, which is not the closest
    before().realize()
    told = lg.explain(now())
    assert not told.cached
    assert re.sub(r"\([^()]*py:\d+[^()]*\)", "(#)", told.difference) == words
    assert f"no cached plan fitted: {told.difference}\n" in str(told)


def test_strides_that_differ_are_told() -> None:
    lg.exp(data(2, 3)).realize()
    turned = lg.asarray(np.ones((2, 3), np.float32))
    turned.node.value = np.ones((3, 2), np.float32).T
    assert "leaf %0: strides (4, 8) instead of (12, 4)" in lg.explain(lg.exp(turned)).difference


def test_other_targets_of_the_same_graph_are_told() -> None:
    x = lg.exp(X)
    y = lg.tanh(x)
    lg.explain(y)
    assert lg.explain(x, y).difference == "targets %1, %2 instead of %2"


def test_of_many_differences_the_first_ones_are_told() -> None:
    def many(function: Callable[[lg.Tensor], lg.Tensor]) -> lg.Tensor:
        y = X
        for _ in range(5):
            y = function(y)
        return y

    lg.explain(many(lg.tanh))
    *first, last = lg.explain(many(lg.exp)).difference.split("; ")
    said = [words.split(" (")[0] for words in first]
    assert said == [f"node %{i}: exp instead of tanh" for i in (1, 2, 3)]
    assert last == "2 more nodes"


def test_the_settings_may_be_what_differs() -> None:
    lg.explain(lg.exp(X))
    with lg.using(verify=True):
        told = lg.explain(lg.exp(X))
    assert re.fullmatch(r"the setting \w+ is True instead of False", told.difference)


def test_a_python_scalar_that_the_plan_relied_on_is_told_once() -> None:
    lg.explain(X * 1.0)
    told = lg.explain(X * 2.0)
    assert told.difference == (
        "the Python scalar %1 is 2.0 instead of 1.0; the new plan holds for any value of it"
    )
    assert told.guarded == 0
    assert all(fired == () for _, fired in told.passes)
    assert lg.explain(X * 3.0).cached


def test_plans_of_training_steps_are_not_compared_with() -> None:
    y = lg.exp(X)
    found = plan.scan([y.node], through_remembered=True)
    realize_derived(found, lambda _: ([y * 2.0], None), [], "a step")
    assert lg.explain(lg.tanh(X)).difference == "there is none for a realization yet"


def test_remembered_targets_need_no_plan() -> None:
    y = lg.exp(X).realize()
    before = lg.stats()
    told = lg.explain(y, {"again": y})
    assert lg.stats() == before
    assert (told.pending, told.remembered, told.steps, told.peak_bytes) == (0, 1, (), 0)
    assert str(told).splitlines() == [
        "no plan is needed",
        "targets: 0 to compute, 1 remembered already",
    ]
    both = lg.explain(y, lg.tanh(y))
    assert (both.pending, both.remembered, len(both.steps)) == (1, 1, 1)
    assert lg.explain().pending == 0


def test_an_explanation_reads_well() -> None:
    told = lg.explain(layer(X, W))
    line = layer.__code__.co_firstlineno + 2
    lines = str(told).splitlines()
    at = lines.index("  simplify")
    assert lines[at + 1] == "    x * 1 -> x  (1)"
    del lines[at : at + 2]
    assert lines == [
        "a new plan on the backend 'numpy'",
        "targets: 1 to compute, 0 remembered already",
        "no cached plan fitted: there is none for a realization yet",
        "passes:",
        *(f"  {step.name}: nothing to do" for step in PIPELINE if step.name != "simplify"),
        "Python scalars whose values the plan relies on: 1",
        "memory: 68 bytes, 64 of them on the way and 4 for results",
        "steps: 3",
        f"  matmul  float32[2, 2]  arena     %2  test_explain.py:{line} in layer",
        f"  tanh    float32[2, 2]  in place  %3  test_explain.py:{line} in layer",
        f"  sum     float32[1, 1]  result    %6  test_explain.py:{line} in layer",
    ]
    assert repr(told) == "<explanation: a new plan on the backend 'numpy'>"


def test_of_many_steps_the_first_ones_are_printed() -> None:
    y = X
    for _ in range(100):
        y = lg.exp(y)
    told = lg.explain(y)
    assert len(told.steps) == 100
    assert str(told).endswith("\n  and 40 more steps")


def ambiguous(remembered: int) -> lg.Tensor:
    # The keys of the two would be equal if a remembered inner node were written like a leaf.
    c = data(2)
    a = lg.exp(c)
    b, d = lg.asarray(np.full(2, 5, np.float32)), lg.tanh(a)
    (a, d)[remembered].realize()
    return lg.concat([a, d, b] if remembered == 0 else [a, b, d])


@pytest.mark.parametrize("through_remembered", [False, True])
@pytest.mark.parametrize("remembered", [0, 1])
def test_a_key_can_be_read_back(through_remembered: bool, remembered: int) -> None:
    found = plan.scan([ambiguous(remembered).node], through_remembered)
    entries = read_key(found.key)
    assert len(entries) == len(found.order)
    for node, entry in zip(found.order, entries, strict=True):
        leaf = node.value is not None
        assert entry.spec == (node.spec if leaf else None)
        if leaf and not (through_remembered and node.inputs):
            assert entry.op is None
        else:
            assert (entry.op, entry.params) == (node.op, node.params)
            assert entry.operands == tuple(found.order[x] for x in node.inputs)


def the_same(y: lg.Tensor, _: Sequence[lg.Tensor]) -> tuple[list[lg.Tensor], None]:
    return [y], None


def test_a_remembered_node_is_not_taken_for_a_leaf_that_follows_it() -> None:
    for remembered in (0, 1):
        y = ambiguous(remembered)
        found = plan.scan([y.node], through_remembered=True)
        (value,), _ = realize_derived(found, partial(the_same, y), [], "test")
        assert value.tolist() == y.tolist()
