"""`repr` shows what is known, in little space, and computes nothing."""

from typing import Any

import numpy as np
import pytest

import lazygraph as lg


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "Tensor(float32[] = 0.1)"),
        (np.float64(1e300), "Tensor(float64[] = 1e+300)"),
        (True, "Tensor(bool[] = True)"),
        ([True, False], "Tensor(bool[2] = [True False])"),
        ([1.0, -0.0, float("nan")], "Tensor(float32[3] = [ 1. -0. nan])"),
        ([], "Tensor(float32[0] = [])"),
        (np.ones((0, 3)), "Tensor(float64[0, 3] = [])"),
        ([[1, 2], [3, 4]], "Tensor(int64[2, 2] = [[1 2]\n                      [3 4]])"),
        (np.arange(21), "Tensor(int64[21] = [ 0  1  2 ... 18 19 20])"),
    ],
)
def test_a_value_is_shown_as_numpy_shows_it(value: Any, text: str) -> None:
    assert repr(lg.asarray(value)) == text


@pytest.mark.parametrize(
    "shape", [(1_000_000,), (1000, 1000), (50, 50, 50), (2,) * 20, (7,) * 6, (1,) * 40 + (99,)]
)
def test_a_huge_value_is_shown_in_part(shape: tuple[int, ...]) -> None:
    text = repr(lg.asarray(np.ones(shape, np.int8)))
    assert text.startswith(f"Tensor(int8[{', '.join(map(str, shape))}] = [")
    assert " ... " in text
    assert text.count("1", text.index("=")) <= 36
    assert len(text) < 500


def test_a_pending_tensor_shows_what_and_where_it_is() -> None:
    line = test_a_pending_tensor_shows_what_and_where_it_is.__code__.co_firstlineno + 2
    y = lg.exp(lg.asarray(np.ones((3, 4), np.float32)))
    with lg.no_realize():
        text = repr(y)
    where = f"test_repr.py:{line} in test_a_pending_tensor_shows_what_and_where_it_is"
    assert text == f"Tensor(float32[3, 4], exp, recorded at {where})"
    assert y.node.value is None
