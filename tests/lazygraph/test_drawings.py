"""Drawings are read back as what was drawn, whatever the names in them."""

from collections.abc import Callable
from typing import Any

import pytest

import lazygraph as lg
from tests.lazygraph.drawings import Drawing, read_dot, read_mermaid
from tests.lazygraph.graphs import NAMES, chain, diamonds, name, sum_of

Dump = Callable[..., Any]
DRAWN: dict[Dump, Callable[[str], Drawing]] = {lg.to_dot: read_dot, lg.to_mermaid: read_mermaid}


@pytest.mark.parametrize("dump", DRAWN, ids=name)
def test_labels_are_read_back_as_they_are_for_any_name(dump: Dump) -> None:
    drawing = DRAWN[dump](dump(sum_of(NAMES)))
    rest = "\nversion=0\nfloat32[2] = [1.0, 2.0]"
    labels = {label.removesuffix(rest) for label in drawing.labels.values()}
    assert {f"variable '{text}'" for text in NAMES[1:]} <= labels
    assert "variable ''\nversion=0\nfloat32[] = 0.0" in labels
    assert len(drawing.labels) == 2 * len(NAMES) - 1
    assert len(drawing.edges) == 2 * len(NAMES) - 2


@pytest.mark.parametrize("dump", DRAWN, ids=name)
def test_what_cannot_be_seen_is_written_as_an_escape(dump: Dump) -> None:
    text = dump(lg.Var("a\0b\x1b\t\ud800", 1.0))
    assert "variable 'a\\x00b\\x1b\\t\\ud800'" in DRAWN[dump](text).labels["n0"]
    assert text.encode()  # a lone half of a character could not be written to a file


@pytest.mark.parametrize("dump", DRAWN, ids=name)
def test_scopes_are_boxes(dump: Dump) -> None:
    x = lg.asarray([1.0])
    with lg.scope('a "b"\n<c>'):
        x = -x
        with lg.scope("d"):
            x = lg.exp(x)
        x = -x
    boxes = DRAWN[dump](dump(x)).boxes
    assert boxes == {'a "b"\n<c>': ["n1", "n3"], 'a "b"\n<c>.d': ["n2"]}


@pytest.mark.parametrize("dump", DRAWN, ids=name)
def test_leaves_remembered_nodes_and_targets_look_different(dump: Dump) -> None:
    x = lg.asarray([1.0])
    y = (-x).realize() * lg.Var("w", 2.0) + 1.0
    looks = DRAWN[dump](dump(lg.exp(y))).looks
    kinds = {n: looks[n] for n in ("n0", "n1", "n2", "n4", "n3", "n6")}
    assert len(set(kinds.values())) == 6
    assert looks["n3"] == looks["n5"]


@pytest.mark.parametrize("dump", DRAWN, ids=name)
def test_a_hundred_doublings_are_101_nodes_and_200_edges(dump: Dump) -> None:
    drawing = DRAWN[dump](dump(diamonds(100)))
    assert len(drawing.labels) == 101
    assert drawing.edges == [(f"n{i}", f"n{i + 1}") for i in range(100) for _ in "ab"]


@pytest.mark.parametrize("dump", DRAWN, ids=name)
def test_what_is_left_out_is_counted(dump: Dump) -> None:
    w = lg.Var("w", [1.0, 2.0])
    drawing = DRAWN[dump](dump(chain(5000) * w, w, limit=10))
    assert len(drawing.labels) == 11
    assert drawing.labels["more"] == "+4993 more nodes"
    assert {"n5001", "n5002"} <= drawing.labels.keys()  # the targets
    assert drawing.edges.count(("more", "n4993")) == 1
    assert len(drawing.edges) == 7 + 2 + 1


def test_what_hidden_nodes_read_is_connected_to_them_once() -> None:
    w = lg.Var("w", 1.0)
    drawing = read_dot(lg.to_dot(w + chain(5) * w * w, limit=2))
    assert drawing.edges == [("n0", "n9"), ("n0", "more"), ("more", "n9")]


def test_only_mermaid_has_a_limit_of_its_own() -> None:
    assert "more nodes" not in lg.to_dot(chain(5000))
    assert "+4801 more nodes" in lg.to_mermaid(chain(5000))
    assert len(read_mermaid(lg.to_mermaid(chain(5000), limit=None)).labels) == 5001


@pytest.mark.parametrize("dump", DRAWN, ids=name)
@pytest.mark.parametrize("limit", [0, -3])
def test_a_limit_must_be_positive(dump: Dump, limit: int) -> None:
    with pytest.raises(ValueError, match=f"limit must be None or at least 1; got {limit}"):
        dump(chain(1), limit=limit)
