"""Calls with machine code of their own mean there what they mean in NumPy."""

from typing import Any

import numpy as np
import pytest

from lazygraph.backends.native.special import PLANNERS
from lazygraph.graph.engine import OPS
from lazygraph.graph.op import Kind, Sample
from tests.lazygraph.exactness import assert_same_bits
from tests.native.specials import Array, expected, outcome, planned

FLOATS = (np.float32, np.float64)


def cast(array: Array, dtype: Any) -> Array:
    return array.astype(dtype) if array.dtype.kind == "f" else array


def check(name: str, params: Any, inputs: list[Array], *, threads: tuple[int, ...]) -> None:
    """The bits are the same for all thread counts, and NumPy's where nothing is rounded."""
    op = OPS[name]
    wanted = expected(op, params, inputs)
    first = outcome(op, params, inputs, wanted, threads[0]).out
    if op.kind is Kind.CONTRACTION:
        close_to(first, wanted, inputs)
    else:
        assert_same_bits(first, wanted)
    for count in threads[1:]:
        assert_same_bits(outcome(op, params, inputs, wanted, count).out, first)


def close_to(found: Array, wanted: Array, inputs: list[Array]) -> None:
    """As near as sums of so many products in another order are."""
    size = float(np.prod([np.abs(x).max() for x in inputs]))
    terms = max(x[0].size for x in inputs) * max(1, len(inputs[0]))
    bound = 4 * np.finfo(wanted.dtype).eps * size * terms**0.5
    np.testing.assert_allclose(found, wanted, rtol=0, atol=bound)


def samples() -> list[Any]:
    cases = []
    for name in PLANNERS:
        rows = OPS[name].samples
        assert rows is not None
        for i, sample in enumerate(rows(np.random.default_rng(0))):
            cases.append(pytest.param(name, sample, id=f"{name}-{i}"))
    return cases


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("name", "sample"), samples())
def test_samples_of_the_table_are_done_as_by_numpy(
    name: str, sample: Sample, dtype: Any
) -> None:
    inputs = [cast(x, dtype) for x in sample.inputs]
    wanted = expected(OPS[name], sample.params, inputs)
    if planned(OPS[name], sample.params, inputs, wanted) is None:
        axes = OPS[name].named(sample.params).get("axes", (0,))
        several = len(axes) > 1
        assert several or not (wanted.size and all(x.size for x in inputs))
    else:
        check(name, sample.params, inputs, threads=(1, 3))
