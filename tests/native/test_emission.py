"""Every `emit` rule of the table means in machine code what `evaluate` means in NumPy."""

from functools import cache, partial
from typing import Any

import numpy as np
import pytest

from lazygraph.backends.native.register import Register
from lazygraph.backends.native.scalars import LlvmScalars
from lazygraph.extend import Op
from lazygraph.ops.scalars import NumpyScalars
from tests.lazygraph import op_cases
from tests.lazygraph.exactness import Array, assert_same_bits
from tests.lazygraph.op_cases import ELEMENTWISE, FLOATS, POINTWISE, evaluated, name
from tests.native.accuracy import NUMPY, last_place
from tests.native.compiling import EIGHT, Library, Rule


class Listener:
    """Scalars of NumPy that remember which methods were called."""

    def __init__(self) -> None:
        self.called: set[str] = set()

    def __getattr__(self, method: str) -> Any:
        self.called.add(method)
        return getattr(NumpyScalars(), method)


@cache
def methods_of(op: Op) -> frozenset[str]:
    """The methods of the protocol that a rule uses."""
    assert op.emit is not None
    k, inputs = Listener(), op_cases.grid(op, op_cases.dtypes_of(op)[0])
    with np.errstate(all="ignore"):
        op.emit(k, *np.broadcast_arrays(*inputs))
    return frozenset(k.called)


def is_exact(op: Op, dtype: Any) -> bool:
    return dtype not in FLOATS or not methods_of(op) & NUMPY.keys()


@cache
def library(dtype: Any) -> Library:
    """Every rule that takes the dtype."""
    rules = {}
    for op, taken in CASES:
        if taken is dtype and op.emit is not None:
            rules[op.name] = Rule(op.emit, op_cases.operand_dtypes(op, dtype))
    return Library(rules, EIGHT)


# Some integer dtypes stand for the others, of which the methods are tested one by one.
FREQUENT = (*FLOATS, np.int32, np.uint8, np.bool_)
CASES = [(op, dtype) for op in ELEMENTWISE for dtype in op_cases.dtypes_of(op)]


def cases(exact: bool) -> list[Any]:
    return [
        pytest.param(
            op,
            dtype,
            id=f"{op.name}-{name(dtype)}",
            marks=[] if dtype in FREQUENT else [pytest.mark.slow],
        )
        for op, dtype in CASES
        if is_exact(op, dtype) == exact
    ]


def special_and_random(op: Op, dtype: Any, rng: np.random.Generator) -> list[Array]:
    grid = [x.ravel() for x in np.broadcast_arrays(*op_cases.grid(op, dtype))]
    drawn = op_cases.drawn(op, dtype, [(999,)] * len(grid), rng)
    return [np.concatenate(both) for both in zip(grid, drawn, strict=True)]


@pytest.mark.parametrize(("op", "dtype"), cases(exact=True))
def test_rules_without_a_series_have_the_bits_of_evaluate(
    op: Op, dtype: Any, rng: np.random.Generator
) -> None:
    inputs = special_and_random(op, dtype, rng)
    assert_same_bits(library(dtype).run(op.name, *inputs), evaluated(op, inputs))


@pytest.mark.parametrize(("op", "dtype"), cases(exact=False))
def test_rules_with_a_series_are_within_four_units_in_the_last_place(
    op: Op, dtype: Any, rng: np.random.Generator
) -> None:
    # Units of the largest of result and operands: a sum within a rule may cancel.
    inputs = special_and_random(op, dtype, rng)
    found, wanted = library(dtype).run(op.name, *inputs), evaluated(op, inputs)
    ordinary = np.isfinite(wanted)
    assert_same_bits(found[~ordinary], wanted[~ordinary])
    compared = [wanted, *(inputs if len(methods_of(op)) > 1 else [])]
    sizes = [np.where(np.isfinite(x), x, 0)[ordinary] for x in compared]
    unit = np.maximum.reduce([last_place(x, dtype) for x in sizes])
    assert np.all(np.abs(found[ordinary] - wanted[ordinary]) <= 4 * unit)
    assert_same_bits(np.signbit(found[ordinary]), np.signbit(wanted[ordinary]))


@pytest.mark.parametrize("op", [op for op in POINTWISE if op.params], ids=name)
def test_rules_with_parameters_have_the_bits_of_evaluate(
    op: Op, rng: np.random.Generator
) -> None:
    assert op.emit is not None
    for sample in op_cases.samples(op, rng):
        emit = partial(_with_parameters, op=op, parameters=sample.params)
        dtypes = [x.dtype for x in sample.inputs]
        found = Library({"rule": Rule(emit, dtypes)}, EIGHT).run("rule", *sample.inputs)
        assert_same_bits(found, evaluated(op, sample.inputs, sample.params))


def _with_parameters(k: LlvmScalars, *operands: Register, op: Op, parameters: Any) -> Any:
    assert op.emit is not None
    return op.emit(k, *operands, **op.named(parameters))


def test_some_rules_use_a_series_and_most_do_not() -> None:
    assert {"exp", "sigmoid", "softplus"} <= {case.values[0].name for case in cases(False)}
    assert len(cases(exact=True)) > 4 * len(cases(exact=False))
