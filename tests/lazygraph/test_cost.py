"""What a realization costs, counted: plans, nodes, memory; and what a plan depends on."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazygraph as lg
from lazygraph import plan
from tests.lazygraph.exactness import assert_same_bits


def built(action: Callable[[], Any]) -> int:
    """How many plans an action builds."""
    before = lg.stats().plans_built
    action()
    return lg.stats().plans_built - before


@pytest.fixture(autouse=True)
def _no_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "cache", plan.PlanCache())


def model(x: lg.Tensor, w: Any, scale: float = 0.5) -> lg.Tensor:
    return lg.sum(lg.tanh(x @ w) * scale, axis=0)


def data(rows: int = 3, dtype: Any = np.float32) -> lg.Tensor:
    return lg.asarray(np.arange(rows * 2).reshape(rows, 2).astype(dtype))


def test_the_second_realization_of_a_structure_builds_no_plan() -> None:
    w = lg.asarray(np.ones((2, 4), np.float32))
    before = lg.stats()
    assert [built(model(data(), w).realize) for _ in range(3)] == [1, 0, 0]
    after = lg.stats()
    assert after.plan_hits - before.plan_hits == 2
    assert after.realizations - before.realizations == 3


def test_data_vars_names_scalars_scopes_and_lines_are_not_in_the_key() -> None:
    w = lg.asarray(np.ones((2, 4), np.float32))
    assert built(model(data(), w).realize) == 1
    assert built(model(data() * 0 + 7, w).realize) == 1  # two more nodes
    first, second = lg.Var("first", w), lg.Var("second", w)
    assert built(model(data(), first).realize) == 1  # a Var instead of data
    second.assign(w * 2)

    def otherwise(x: lg.Tensor) -> lg.Tensor:
        with lg.scope("elsewhere"):
            product = x @ second
            return lg.sum(
                lg.tanh(product) * -3.25,
                axis=0,
            )

    assert built(otherwise(lg.asarray(np.full((3, 2), 9, np.float32))).realize) == 0
    wanted = lg.sum(lg.tanh((data() @ second).realize()) * -3.25, axis=0)
    assert_same_bits(otherwise(data()), wanted)


CHANGES: dict[str, Callable[[lg.Tensor], lg.Tensor]] = {
    "another op": lambda x: lg.exp(x) - x,
    "another parameter": lambda x: lg.exp(x) + lg.sum(x, axis=0),
    "another order": lambda x: x + lg.exp(x),
    "less sharing": lambda x: lg.exp(x) + lg.asarray(x.numpy()),
    "another dtype": lambda x: lg.exp(y := lg.astype(x, lg.float64).realize()) + y,
    "another shape": lambda x: lg.exp(x[:1].realize()) + x[:1].realize(),
    "a cut": lambda x: lg.exp(x).realize() + x,
}


@pytest.mark.parametrize("name", CHANGES)
def test_whatever_changes_the_computation_is_in_the_key(name: str) -> None:
    x = data()
    (lg.exp(x) + x).realize()
    changed = CHANGES[name](x)
    assert built(changed.realize) == 1


def test_two_targets_and_one_are_different_plans_and_duplicates_are_one() -> None:
    def pair() -> tuple[lg.Tensor, lg.Tensor]:
        hidden = lg.exp(data())
        return hidden + 1, hidden * 2

    assert built(lambda: lg.realize(pair())) == 1
    assert built(lambda: lg.realize(pair(), pair()[:0])) == 0
    assert built(lambda: lg.realize(pair()[0])) == 1
    a, b = pair()
    assert built(lambda: lg.realize(a, b, a, [b, a])) == 0


def test_a_remembered_view_that_lies_otherwise_has_a_plan_of_its_own() -> None:
    x = lg.asarray(np.arange(6.0).reshape(2, 3))
    y = lg.asarray(np.arange(6.0).reshape(3, 2))
    turned = y.T.realize()
    again = y.T.realize()
    assert [built((z * 2).realize) for z in (x, turned, x, again)] == [1, 1, 0, 0]
    assert (turned @ y).tolist() == (y.T @ y).tolist()
    cube = lg.asarray(np.arange(64.0).reshape(4, 4, 4))
    by_rows = lg.permute_dims(cube, (1, 0, 2)).realize()
    by_columns = lg.permute_dims(cube, (0, 2, 1)).realize()
    assert [built((z @ cube).realize) for z in (by_rows, by_columns, by_rows)] == [1, 1, 0]


def test_a_short_last_batch_costs_one_more_plan_in_all() -> None:
    w = lg.Var("w", np.ones((2, 4), np.float32))

    def epoch() -> list[lg.Tensor]:
        return [model(data(rows), w).realize() for rows in (4, 4, 2)]

    assert [built(epoch) for _ in range(3)] == [2, 0, 0]
    for found, rows in zip(epoch(), (4, 4, 2), strict=True):
        assert_same_bits(found, (np.tanh(data(rows).numpy() @ w.numpy()) * 0.5).sum(0))


def test_settings_are_in_the_key() -> None:
    assert built(lg.exp(data()).realize) == 1
    with lg.using(verify=True):
        assert built(lg.exp(data()).realize) == 1
    assert built(lg.exp(data()).realize) == 0


def test_gradients_of_one_structure_share_a_plan() -> None:
    w = lg.Var("w", np.ones((2, 4), np.float32))

    def step() -> None:
        loss = lg.sum(model(data(), w) ** 2)
        lg.realize(loss, loss.backward()[w])
        w.assign(w.numpy() * 0.5)

    assert [built(step) for _ in range(4)] == [1, 0, 0, 0]


def test_the_number_of_plans_is_bounded_and_the_oldest_goes_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(plan, "MOST_PLANS", 3)

    def of_length(n: int) -> int:
        return built((lg.zeros((n,)) + 1).realize)

    assert [of_length(n) for n in (1, 2, 3, 1, 2, 3)] == [1, 1, 1, 0, 0, 0]
    assert [of_length(n) for n in (4, 2, 3, 4)] == [1, 0, 0, 0]  # 1 was used the longest ago
    assert of_length(1) == 1
    assert len(plan.cache.keys()) == 3


def test_a_node_costs_one_node_and_a_scalar_one_more() -> None:
    x = data()
    before = lg.stats().nodes_made
    lg.exp(x) + x
    assert lg.stats().nodes_made - before == 2
    x * 2.0
    assert lg.stats().nodes_made - before == 4


def test_the_peak_counts_intermediates_and_results() -> None:
    x = lg.asarray(np.ones(100_000, np.float32))
    lg.exp(lg.sin(x) @ lg.cos(x)).realize()
    assert lg.stats().peak_bytes >= 800_000


def test_ids_of_nodes_that_died_serve_no_stale_values() -> None:
    for i in range(300):
        x = lg.asarray([float(i), 1.0])
        gradients = lg.sum(x * x).backward()
        assert gradients[x].tolist() == [2.0 * i, 2.0]
        assert (x + lg.asarray([1.0, float(i)])).tolist() == [i + 1.0, i + 1.0]
        del x, gradients


def test_threads_that_realize_one_structure_do_not_meet() -> None:
    wrong: list[int] = []

    def work(i: int) -> None:
        for k in range(30):
            x = lg.asarray(np.full((50, 2), float(i + k), np.float32))
            y = lg.sum(lg.exp(x * 0.01) + x, axis=0)
            wanted = (np.exp(x.numpy() * np.float32(0.01)) + x.numpy()).sum(0)
            if not np.allclose(y.numpy(), wanted, rtol=1e-6):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
