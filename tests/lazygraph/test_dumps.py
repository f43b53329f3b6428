"""Dumps show the graph as it is, in text that their readers read back, and compute nothing."""

import collections
import json
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest

import lazygraph as lg
from tests.lazygraph.graphs import NAMES, chain, diamonds, name, sum_of

Dump = Callable[..., Any]
DUMPS: tuple[Dump, ...] = (
    lg.listing,
    lg.to_dot,
    lg.to_mermaid,
    lg.to_json,
    lg.to_networkx,
    lg.explain,
)


def model() -> lg.Tensor:
    w = lg.Var("w", [[1.0, 2.0], [3.0, 4.0]])
    x = lg.asarray(np.ones((3, 2), np.float32))
    with lg.scope("encoder"), lg.scope("mix"):
        hidden = lg.tanh(x @ w)
    return lg.sum(hidden * hidden + 0.5, axis=0)


def test_a_listing_says_op_operands_params_spec_scope_and_line() -> None:
    first = model.__code__.co_firstlineno
    mix = f"# encoder.mix  test_dumps.py:{first + 4} in model"
    last = f"# test_dumps.py:{first + 5} in model"
    assert lg.listing(model()).splitlines() == [
        f"%0 = data()  float32[3, 2]  # test_dumps.py:{first + 2} in model",
        f"%1 = variable('w', version=0)  float32[2, 2] = [[1.0, 2.0], [3.0, 4.0]]  {mix}",
        f"%2 = matmul(%0, %1)  float32[3, 2]  {mix}",
        f"%3 = tanh(%2)  float32[3, 2]  {mix}",
        f"%4 = multiply(%3, %3)  float32[3, 2]  {last}",
        f"%5 = scalar()  float32[] = 0.5  {last}",
        f"%6 = add(%4, %5)  float32[3, 2]  {last}",
        f"%7 = sum(%6, axes=(0,))  float32[1, 2]  {last}",
        f"%8 = reshape(%7, shape=(2,))  float32[2]  {last}",
    ]


@pytest.mark.parametrize("dump", DUMPS, ids=name)
def test_a_dump_computes_nothing(dump: Dump) -> None:
    y = model()
    before = lg.stats().realizations
    with lg.no_realize():
        dump(y)
    assert lg.stats().realizations == before
    assert y.node.value is None


@pytest.mark.parametrize("dump", DUMPS[:5], ids=name)
def test_a_dump_changes_nothing(dump: Dump) -> None:
    y = model()
    text = lg.to_json(y)
    before = lg.stats()
    dump(y)
    assert lg.stats() == before
    assert lg.to_json(y) == text


def test_a_value_that_is_there_is_marked_and_shown_if_tiny() -> None:
    x = lg.asarray(np.ones((4, 4), np.float32))
    small, big = lg.sum(x), x * 2
    y = big + small
    lg.realize(small, big)
    by_op = {line.split()[2].split("(")[0]: line for line in lg.listing(y).splitlines()}
    assert re.search(r"float32\[\] = 16\.0  # \S+ in \S+  remembered$", by_op["reshape"])
    assert re.search(r"float32\[4, 4\]  # \S+ in \S+  remembered$", by_op["multiply"])
    assert "remembered" not in by_op["add"] + by_op["data"] + by_op["scalar"]
    roles = {node["op"]: node["role"] for node in json.loads(lg.to_json(y))["nodes"]}
    assert (roles["reshape"], roles["add"], roles["data"]) == (
        "remembered",
        "operation",
        "data",
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.1, "0.1"), (True, "True"), (7, "7"), ([float("nan"), -0.0], "[nan, -0.0]")],
)
def test_tiny_values_do_not_depend_on_print_options(value: Any, text: str) -> None:
    with np.printoptions(precision=0, formatter={"all": lambda _: "?"}):
        assert f" = {text}  #" in lg.listing(lg.asarray(value))


def test_values_without_elements_or_of_many_are_left_out() -> None:
    assert " = [" not in lg.listing(lg.asarray(np.ones((1 << 40, 0))), lg.asarray([0.0] * 5))


def test_targets_are_tensors_vars_nodes_and_containers_of_them() -> None:
    w = lg.Var("w", 2.0)
    y = w * w
    ops = [line.split()[2] for line in lg.listing([y.node, {"k": (w, None, 3)}]).splitlines()]
    assert ops == ["variable('w',", "multiply(%0,"]
    assert json.loads(lg.to_json([w, (y, y)], w))["targets"] == [0, 1, 1, 0]
    gradients = json.loads(lg.to_json(y.backward()))
    assert len(gradients["targets"]) == 2
    assert lg.listing() == ""


@pytest.mark.parametrize("dump", DUMPS, ids=name)
@pytest.mark.parametrize("target", ["text", {1, 2}, np.ones(2)], ids=["text", "set", "array"])
def test_other_targets_are_refused(dump: Dump, target: Any) -> None:
    message = "targets must be tensors, Vars, or lists, tuples and mappings of them; got"
    with pytest.raises(TypeError, match=message):
        dump([target])


def test_a_listing_has_a_line_a_node_for_any_name_and_scope() -> None:
    y = sum_of(NAMES)
    for text in NAMES:
        with lg.scope(text + "\r\n\u2028\0"):
            y = -y
    assert len(lg.listing(y).splitlines()) == 3 * len(NAMES) - 1
    assert "variable('line\\nfeed', version=0)" in lg.listing(y)


def test_json_and_networkx_describe_the_same_graph() -> None:
    y = model()
    graph, view = json.loads(lg.to_json(y)), lg.to_networkx(y)
    assert isinstance(view, nx.MultiDiGraph)
    assert {node["id"]: (node["op"], node["dtype"]) for node in graph["nodes"]} == {
        i: (of["op"], of["dtype"]) for i, of in view.nodes(data=True)
    }
    assert [tuple(node["shape"]) for node in graph["nodes"]] == [
        shape for _, shape in view.nodes(data="shape")
    ]
    edges = collections.Counter((e["from"], e["to"], e["operand"]) for e in graph["edges"])
    assert edges == collections.Counter(view.edges(data="operand"))
    assert list(view) == list(nx.lexicographical_topological_sort(view))
    assert view.nodes[8]["node"] is y.node


def test_json_holds_plain_values() -> None:
    w = lg.Var('w "1"', [[1.0, 2.0]])
    graph = json.loads(lg.to_json(lg.astype(lg.sum(w), lg.float64), indent=2))
    assert graph["version"] == 1
    leaf, total, flat, wide = graph["nodes"]
    assert (leaf["name"], leaf["params"], leaf["value"]) == (
        'w "1"',
        {"version": 0},
        "[[1.0, 2.0]]",
    )
    assert (total["params"], total["name"], total["value"]) == ({"axes": [0, 1]}, None, None)
    assert flat["shape"] == []
    assert wide["params"] == {"dtype": "float64"}
    assert wide["line"]["file"] == "test_dumps.py"
    assert wide["line"]["function"] == "test_json_holds_plain_values"


PROGRAM = """
import sys
import lazygraph as lg
if len(sys.argv) > 1:
    lg.ones((2,)).tolist()
w = lg.Var("w", [1.0, 2.0])
with lg.scope("s"):
    y = lg.astype(lg.sum(lg.tanh(w * 2.0) + w[::-1]), lg.float64)
targets = {"y": y, "gradients": (y * 1.0).backward(), "random": lg.random.normal((2, 2))}
for dump in (lg.listing, lg.to_dot, lg.to_mermaid, lg.to_json):
    print(dump(targets))
"""


def test_the_text_is_the_same_in_every_process(tmp_path: Any) -> None:
    outputs = set()
    for seed in ("1", "2"):
        script = tmp_path / seed / "program.py"
        script.parent.mkdir()
        script.write_text(PROGRAM)
        environment = {"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": seed}
        command = [sys.executable, str(script), *["later ids"][: int(seed) - 1]]
        outputs.add(
            subprocess.run(command, env=environment, capture_output=True, check=True).stdout
        )
    (output,) = outputs
    assert output.count(b"program.py:") > 20
    assert b"0x" not in output
    assert str(tmp_path).encode() not in output


def calls_of(dump: Dump, y: lg.Tensor) -> int:
    count = 0

    def count_call(*_: Any) -> None:
        nonlocal count
        count += 1

    sys.setprofile(count_call)
    try:
        dump(y)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("dump", DUMPS, ids=name)
@pytest.mark.parametrize("graph", [chain, diamonds], ids=name)
def test_work_is_linear_in_the_number_of_nodes(dump: Dump, graph: Any) -> None:
    dump(graph(3))
    once, twice, thrice = (calls_of(dump, graph(n)) for n in (300, 600, 900))
    assert thrice - twice == pytest.approx(twice - once, rel=0.25)


def test_a_chain_of_200_000_nodes_is_listed() -> None:
    text = lg.listing(chain(200_000))
    assert text.count("\n") == 200_000
    assert "\n%200000 = negative(%199999)  float32[2]  # " in text
