"""What every record of the table promises: value, spec, bits and instructions."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import lazygraph as lg
from lazygraph.extend import Op
from lazygraph.ops.scalars import NumpyScalars
from tests.lazygraph import op_cases
from tests.lazygraph.exactness import Array, assert_same_bits
from tests.lazygraph.op_cases import ELEMENTWISE, FLOATS, POINTWISE, TABLE, applied, evaluated


def cases(wanted: Callable[[Op], Any], dtypes: Sequence[Any] = op_cases.DTYPES) -> list[Any]:
    """Elementwise ops of a kind, with each dtype that they take."""
    return [
        pytest.param(op, dtype, id=f"{op.name}-{np.dtype(dtype).name}")
        for op in ELEMENTWISE
        if wanted(op)
        for dtype in op_cases.dtypes_of(op)
        if dtype in dtypes
    ]


ANY_DTYPE = cases(lambda op: True)
SHAPES = ((), (0,), (1,), (67,), (3, 0), (2, 1, 5))
BROADCAST: dict[int, tuple[tuple[tuple[int, ...], ...], ...]] = {
    1: (),
    2: (
        ((3, 1), (1, 4)),
        ((), (2, 3)),
        ((2, 3), ()),
        ((2, 1, 3), (4, 1)),
        ((0, 1), (1, 3)),
        ((1,), (5,)),
    ),
    3: (((3, 1), (1, 4), ()), ((), (2, 3), (3,)), ((2, 1), (0,), (1, 1)), ((4,), (), ())),
}


@pytest.mark.parametrize("dtype", FLOATS, ids=op_cases.name)
@pytest.mark.parametrize("op", TABLE, ids=op_cases.name)
def test_a_sample_has_its_inferred_spec_and_the_value_that_evaluate_writes(
    op: Op, dtype: Any, rng: np.random.Generator
) -> None:
    for sample in op_cases.samples(op, rng):
        sample = op_cases.cast(sample, dtype)
        y = applied(op, sample.inputs, sample.params)
        assert y.node.spec == op_cases.inferred(op, sample.inputs, sample.params)
        assert_same_bits(y, evaluated(op, sample.inputs, sample.params))
        assert y.numpy().dtype == y.dtype.dtype


@pytest.mark.parametrize("op", TABLE, ids=op_cases.name)
def test_every_element_of_a_result_is_written_whatever_its_memory_held(
    op: Op, rng: np.random.Generator
) -> None:
    for sample in op_cases.samples(op, rng):
        found = evaluated(op, sample.inputs, sample.params, before=99)
        assert_same_bits(found, evaluated(op, sample.inputs, sample.params, before=0))


@pytest.mark.parametrize("op", TABLE, ids=op_cases.name)
def test_an_op_has_samples_or_a_domain_for_each_operand(op: Op) -> None:
    assert bool(op.domain) != (op.samples is not None)
    assert all(low < high for low, high in op.domain)


@pytest.mark.parametrize(("op", "dtype"), ANY_DTYPE)
def test_any_shape_will_do_empty_and_without_axes_included(
    op: Op, dtype: Any, rng: np.random.Generator
) -> None:
    for shape in SHAPES:
        inputs = op_cases.drawn(op, dtype, [shape] * op_cases.operand_count(op), rng)
        y = applied(op, inputs)
        assert y.shape == y.numpy().shape == shape
        assert_same_bits(y, evaluated(op, inputs))


@pytest.mark.parametrize(("op", "dtype"), ANY_DTYPE)
def test_operands_broadcast_as_if_they_had_been_stretched_before(
    op: Op, dtype: Any, rng: np.random.Generator
) -> None:
    for shapes in BROADCAST[op_cases.operand_count(op)]:
        inputs = op_cases.drawn(op, dtype, shapes, rng)
        y = applied(op, inputs)
        assert y.shape == np.broadcast_shapes(*shapes)
        assert_same_bits(y, evaluated(op, np.broadcast_arrays(*inputs)))


@pytest.mark.parametrize(("op", "dtype"), ANY_DTYPE)
def test_special_values_have_the_bits_of_evaluate_and_of_emit(op: Op, dtype: Any) -> None:
    assert op.emit is not None
    inputs = op_cases.grid(op, dtype)
    wanted = evaluated(op, np.broadcast_arrays(*inputs))
    assert_same_bits(applied(op, inputs), wanted)
    with np.errstate(all="ignore"):
        assert_same_bits(op.emit(NumpyScalars(), *np.broadcast_arrays(*inputs)), wanted)


@pytest.mark.parametrize(("op", "dtype"), ANY_DTYPE)
def test_emit_describes_the_bits_of_evaluate(
    op: Op, dtype: Any, rng: np.random.Generator
) -> None:
    assert op.emit is not None
    inputs = op_cases.drawn(op, dtype, [(999,)] * op_cases.operand_count(op), rng)
    with np.errstate(all="ignore"):
        assert_same_bits(op.emit(NumpyScalars(), *inputs), evaluated(op, inputs))


@pytest.mark.parametrize("op", [op for op in POINTWISE if op.params], ids=op_cases.name)
def test_emit_with_parameters_describes_the_bits_of_evaluate(
    op: Op, rng: np.random.Generator
) -> None:
    assert op.emit is not None
    for sample in op_cases.samples(op, rng):
        found = op.emit(NumpyScalars(), *sample.inputs, **op.named(sample.params))
        assert_same_bits(found, evaluated(op, sample.inputs, sample.params))


@pytest.mark.parametrize(("op", "dtype"), cases(lambda op: op.commutes))
def test_operands_that_commute_may_change_places(op: Op, dtype: Any) -> None:
    a, b = np.broadcast_arrays(*op_cases.grid(op, dtype))
    assert_same_bits(evaluated(op, (a, b)), evaluated(op, (b, a)))


@pytest.mark.parametrize(("op", "dtype"), cases(lambda op: op.in_place))
def test_the_result_may_take_the_place_of_an_operand(op: Op, dtype: Any) -> None:
    inputs = [np.array(x) for x in np.broadcast_arrays(*op_cases.grid(op, dtype))]
    wanted = evaluated(op, inputs)
    for i in [i for i, x in enumerate(inputs) if x.dtype == wanted.dtype]:
        operands = [x.copy() for x in inputs]
        with np.errstate(all="ignore"):
            op.evaluate(*operands, operands[i])
        assert_same_bits(operands[i], wanted)


# Views of other data that hold the elements of a matrix, laid out otherwise.
LAYOUTS: dict[str, Callable[[Array], lg.Tensor]] = {
    "by columns": lambda x: lg.asarray(x.T).T,
    "every second row": lambda x: lg.asarray(np.repeat(x, 2, axis=0))[::2],
    "every third column": lambda x: lg.asarray(np.repeat(x, 3, axis=1))[:, ::3],
    "backwards": lambda x: lg.asarray(x[::-1, ::-1])[::-1, ::-1],
    "from right to left": lambda x: lg.asarray(x[:, ::-1])[:, ::-1],
}


@pytest.mark.parametrize(("op", "dtype"), cases(lambda op: op.domain, FLOATS))
def test_bits_do_not_depend_on_how_operands_lie(
    op: Op, dtype: Any, rng: np.random.Generator
) -> None:
    count = op_cases.operand_count(op)
    inputs = op_cases.drawn(op, dtype, [(37, 41)] * count, rng)
    wanted = evaluated(op, inputs)
    for layouts in itertools.product(LAYOUTS.values(), repeat=count):
        operands = [lay_out(x) for lay_out, x in zip(layouts, inputs, strict=True)]
        assert_same_bits(lg.extend.apply(op, *operands), wanted)
