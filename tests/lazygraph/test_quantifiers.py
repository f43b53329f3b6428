"""Any, all and how many."""

from typing import Any

import numpy as np
import pytest

import lazygraph as lg
from tests.lazygraph.exactness import assert_same_bits
from tests.lazygraph.op_cases import DTYPES, special

FUNCTIONS = pytest.mark.parametrize("name", ["any", "all", "count_nonzero"])


@FUNCTIONS
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), ()])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions_are_those_of_numpy(
    name: str, dtype: Any, axis: Any, keepdims: bool, rng: np.random.Generator
) -> None:
    for zeros in (0.1, 0.5, 0.97):
        x = (rng.uniform(size=(2, 3, 4)) > zeros).astype(dtype)
        wanted = getattr(np, name)(x, axis=axis, keepdims=keepdims)
        found = getattr(lg, name)(lg.asarray(x), axis=axis, keepdims=keepdims)
        assert_same_bits(found, np.asarray(wanted, found.dtype.dtype))
        assert found.dtype is (lg.int64 if name == "count_nonzero" else lg.bool_)


@FUNCTIONS
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.uint64])
def test_only_zeros_count_as_false(name: str, dtype: Any) -> None:
    for value in special(dtype):
        x = np.array([value])
        assert getattr(lg, name)(lg.asarray(x)).item() == getattr(np, name)(x)


@FUNCTIONS
@pytest.mark.parametrize(
    ("shape", "axis"), [((0,), None), ((0, 3), 0), ((0, 3), 1), ((), None)]
)
def test_of_nothing_all_are_true_and_none_is(
    name: str, shape: tuple[int, ...], axis: int | None
) -> None:
    x = np.zeros(shape)
    wanted = getattr(np, name)(x, axis=axis)
    assert getattr(lg, name)(lg.asarray(x), axis=axis).tolist() == np.asarray(wanted).tolist()


def test_a_condition_has_no_gradient() -> None:
    x = lg.asarray([1.0, 0.0])
    with pytest.raises(lg.errors.GradientError, match="needs a floating loss"):
        lg.any(x).backward()
    y = lg.sum(lg.where(lg.any(x), x, 2.0 * x))
    assert y.backward()[x].tolist() == [1.0, 1.0]
