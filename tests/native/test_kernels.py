"""Kernels give NumPy's results; what was fused, and on how many threads, changes no bit."""

from typing import Any

import numpy as np
import pytest

from lazygraph.dtypes import float64
from tests.lazygraph.exactness import Array
from tests.lazygraph.op_cases import FLOATS, name
from tests.native.kernel_calls import Tape, assert_close, assert_exact, layer_norm, softmax

Generator = np.random.Generator


def layouts(rng: Generator, shape: tuple[int, int], dtype: Any) -> list[Array]:
    """Views of one shape, each of which lies in memory in another way."""
    rows, columns = shape

    def draw(*lengths: int) -> Array:
        return (100 * rng.standard_normal(lengths)).astype(dtype)

    return [
        draw(rows, columns),
        draw(columns, rows).T,
        draw(rows, 1),
        draw(columns),
        draw(),
        draw(rows, 3 * columns)[:, 1::3],
        draw(2 * rows, columns)[::2],
        draw(rows, columns)[::-1],
        draw(rows, columns)[:, ::-1],
        draw(rows, columns + 5)[:, 2 : 2 + columns],
        np.broadcast_to(draw(columns), shape),
    ]


SHAPES = [(7, 1), (5, 10), (3, 67), (4100, 3)]


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [*((shape, np.float32) for shape in SHAPES), ((5, 70), np.int8)],
    ids=str,
)
def test_operands_may_lie_in_memory_in_any_way(
    shape: tuple[int, int], dtype: Any, rng: Generator
) -> None:
    tape = Tape()
    first, *others = (tape.array(x) for x in layouts(rng, shape, dtype))
    y = first
    for other in others:
        y = tape.call("subtract", first, tape.call("multiply", y, other, stored=False))
    assert_exact(tape)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_results_may_lie_in_memory_in_any_way(shape: tuple[int, int], rng: Generator) -> None:
    for out in layouts(rng, shape, np.float32):
        if out.shape == shape and 0 not in out.strides:
            tape = Tape()
            x = tape.array(rng.standard_normal(shape).astype(np.float32))
            tape.call("multiply", x, x, out=tape.array(out))
            assert_exact(tape)


def test_three_axes_with_holes_and_stretched_operands(rng: Generator) -> None:
    tape = Tape()
    x = tape.array(rng.standard_normal((3, 8, 6, 40))[:, ::2])
    mask = tape.array(rng.standard_normal((6, 40)))
    scale = tape.array(rng.standard_normal((3, 1, 6, 1)))
    y = tape.call("add", tape.call("multiply", x, scale, stored=False), mask)
    tape.call("maximum", y, x)
    assert_exact(tape)


def test_dtypes_may_differ_within_a_kernel(rng: Generator) -> None:
    tape = Tape()
    x = tape.array(rng.standard_normal((37, 21)).astype(np.float32))
    wide = tape.call("astype", x, params=(float64,))
    above = tape.call("less", tape.array(np.float64(0.25)), wide)
    tape.call("where", above, x, tape.call("negative", x, stored=False))
    tape.call("sum", wide, params=((1,),))
    tape.call("any", above, params=((1,),))
    tape.call("all", above, params=((0,),))
    assert_close(tape, 4)


ROWS = [(4, 3), (600, 10), (50, 64), (9, 65), (20, 768), (3, 2500), (5, 50_000)]


@pytest.mark.parametrize("shape", ROWS, ids=str)
@pytest.mark.parametrize("dtype", FLOATS, ids=name)
@pytest.mark.parametrize("build", [softmax, layer_norm], ids=name)
def test_rows_of_several_passes(
    build: Any, shape: tuple[int, int], dtype: Any, rng: Generator
) -> None:
    tape = Tape()
    build(tape, tape.array(rng.standard_normal(shape).astype(dtype)))
    assert_close(tape, 40)


def test_a_row_of_any_number_of_axes(rng: Generator) -> None:
    tape = Tape()
    x = tape.array(rng.standard_normal((4, 5, 6, 7)))
    total = tape.call("sum", x, params=((2, 3),))
    tape.call("divide", x, tape.call("add", total, tape.array(np.float64(100.0))))
    assert_close(tape, 4)


def test_a_result_may_take_the_place_of_an_operand(rng: Generator) -> None:
    tape = Tape()
    x = tape.array(rng.integers(0, 99, (40, 100)).astype(np.float64))
    y = tape.array(rng.integers(0, 99, (40, 100)).astype(np.float64))
    total = tape.call("sum", x, params=((1,),), stored=False)
    doubled = tape.call("add", x, x, out=x)
    tape.call("subtract", y, total, out=y)
    again = tape.call("sum", doubled, params=((1,),))
    tape.call("multiply", tape.call("add", doubled, y), again)
    assert_exact(tape)


def test_what_is_overwritten_early_is_remembered_for_later_passes(rng: Generator) -> None:
    tape = Tape()
    x = tape.array(rng.integers(0, 99, (40, 100)).astype(np.float64))
    total = tape.call("sum", x, params=((1,),), stored=False)
    late = tape.call("subtract", x, total)
    tape.call("add", late, tape.call("negative", x, out=x))
    assert_exact(tape)
