"""Products of matrices are right for every layout, split and number of threads."""

import ctypes
import itertools
import threading
from functools import cache
from typing import Any

import numpy as np
import pytest
from llvmlite import ir

from lazygraph.backends.native import openblas, threads
from lazygraph.backends.native.barrier import Crew
from lazygraph.backends.native.contraction import Matrices, Sizes, Split, emit_product
from lazygraph.backends.native.symbols import symbols
from lazygraph.backends.native.waiting import I64, POINTER
from tests.native.processes import run as run_process
from tests.native.programs import Program, integer

Array = np.ndarray[Any, np.dtype[Any]]
ELEMENTS = {"float32": ir.FloatType(), "float64": ir.DoubleType()}
FLAGS = (False, True)
# Batch, rows, columns, inner: products that are dealt out by matrix, row, column, inner axis.
SHAPES = [
    (1, 1, 1, 1),
    (2, 40, 24, 33),
    (3, 17, 50, 40),
    (7, 64, 64, 32),
    (16, 8, 8, 8),
    (1, 200, 64, 100),
    (1, 30, 300, 65),
    (1, 5, 16, 9000),
    (5, 100, 3, 129),
]


@cache
def program(
    dtype: str, left: bool, right: bool, accumulate: bool, split: Split, alone: bool = False
) -> Program:
    """A product whose operands and sizes are in the context; `alone`: as one thread of many."""

    def body(b: ir.IRBuilder, context: ir.Value, crew: Crew) -> None:
        def at(position: int, kind: ir.Type = I64) -> ir.Value:
            return b.load(integer(b, context, I64(position)), typ=kind)

        def matrices(position: int, transposed: bool = False) -> Matrices:
            pointer = at(position, POINTER)
            return Matrices(pointer, at(position + 1), at(position + 2), transposed)

        sizes = Sizes(at(0), at(1), at(2), at(3))
        operands = matrices(4, left), matrices(7, right), matrices(10)
        if alone:
            crew = Crew(at(13), at(14), crew.team)
        element = ELEMENTS[dtype]
        emit_product(b, element, *operands, sizes, crew, accumulate=accumulate, split=split)

    return Program(body, symbols())


def multiply(
    p: Program, count: int, x: Array, y: Array, out: Array, *, crew: tuple[int, ...] = ()
) -> None:
    """Run a product of stacks whose rows may lie apart; transposed ones are given as views."""
    batch, rows, columns = out.shape
    numbers = [batch, rows, columns, x.shape[2]]
    for array in (x, y, out):
        stride, *steps = (step // array.itemsize for step in array.strides)
        # Of a matrix without elements NumPy says that its rows are no step apart.
        leading = max(steps) if array.size else max(1, array.shape[2])
        numbers += [array.ctypes.data, leading, stride]
    context = np.array([*numbers, *crew], np.int64)
    threads.run(p.address, context.ctypes.data, count)


def integers(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    """Small whole numbers: every sum of their products is exact, in whatever order."""
    return rng.integers(-8, 9, shape).astype(dtype)


def flipped(x: Array, transposed: bool) -> Array:
    """The same matrices, stored as their transposes."""
    return x.swapaxes(1, 2).copy().swapaxes(1, 2) if transposed else x


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ELEMENTS)
def test_products_are_exact_for_every_layout_and_thread_count(
    dtype: str, shape: tuple[int, int, int, int], rng: np.random.Generator
) -> None:
    batch, rows, columns, inner = shape
    x = integers(rng, (batch, rows, inner), dtype)
    y = integers(rng, (batch, inner, columns), dtype)
    before = integers(rng, (batch, rows, columns), dtype)
    for left, right, accumulate in itertools.product(FLAGS, FLAGS, FLAGS):
        p = program(dtype, left, right, accumulate, Split.AUTO)
        expected = x @ y + before if accumulate else x @ y
        for count in (1, 2, 3, 4):
            out = before.copy() if accumulate else np.full_like(before, np.nan)
            multiply(p, count, flipped(x, left), flipped(y, right), out)
            np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("split", Split)
@pytest.mark.parametrize("shape", [s for s in SHAPES if s[3] != 9000], ids=str)
def test_the_threads_share_every_result_without_overlap(
    shape: tuple[int, int, int, int], split: Split, rng: np.random.Generator
) -> None:
    batch, rows, columns, inner = shape
    x = integers(rng, (batch, rows, inner), "float32")
    y = integers(rng, (batch, inner, columns), "float32")
    p = program("float32", False, False, False, split, alone=True)
    for count in (1, 2, 3, 5):
        owners = np.zeros((batch, rows, columns), np.int64)
        for thread in range(count):
            out = np.full((batch, rows, columns), np.nan, np.float32)
            multiply(p, 1, x, y, out, crew=(thread, count))
            own = ~np.isnan(out)
            np.testing.assert_array_equal(out[own], (x @ y)[own])
            owners += own
        assert np.all(owners == 1)


def part_of(thread: int, shape: tuple[int, int, int, int], split: Split) -> Array:
    """Which elements of the result the given one of two threads writes."""
    batch, rows, columns, inner = shape
    x, y = np.ones((batch, rows, inner)), np.ones((batch, inner, columns))
    out = np.full((batch, rows, columns), np.nan)
    p = program("float64", False, False, False, split, alone=True)
    multiply(p, 1, x, y, out, crew=(thread, 2))
    written: Array = ~np.isnan(out)
    return written


def test_small_products_are_the_work_of_one_thread() -> None:
    assert part_of(0, (2, 16, 16, 16), Split.AUTO).all()
    assert not part_of(1, (2, 16, 16, 16), Split.AUTO).any()


@pytest.mark.parametrize(
    ("shape", "split", "own"),
    [
        ((4, 64, 64, 64), Split.AUTO, np.s_[2:]),
        ((1, 128, 64, 64), Split.AUTO, np.s_[:, 64:]),
        ((1, 64, 128, 64), Split.AUTO, np.s_[:, :, 64:]),
        ((2, 16, 16, 1), Split.MATRICES, np.s_[1:]),
        ((1, 64, 128, 1), Split.ROWS, np.s_[:, 32:]),
        ((1, 64, 16, 1), Split.COLUMNS, np.s_[:]),
        ((1, 64, 40, 1), Split.COLUMNS, np.s_[:, :, 16:]),
    ],
    ids=str,
)
def test_the_second_of_two_threads_owns_the_second_half(
    shape: tuple[int, int, int, int], split: Split, own: Any
) -> None:
    expected = np.zeros((shape[0], shape[1], shape[2]), np.bool_)
    expected[own] = True
    np.testing.assert_array_equal(part_of(1, shape, split), expected)


def test_a_matrix_may_serve_the_whole_stack_and_rows_may_lie_apart(
    rng: np.random.Generator,
) -> None:
    wide = integers(rng, (6, 40, 100), "float32")
    x, y = wide[:, :, 10:74], np.broadcast_to(integers(rng, (64, 48), "float32"), (6, 64, 48))
    whole = np.full((6, 40, 90), 7.0, np.float32)
    out = whole[:, :, 20:68]
    p = program("float32", False, False, False, Split.AUTO)
    for count in (1, 2, 3):
        out[...] = np.nan
        multiply(p, count, x, y, out)
        np.testing.assert_array_equal(out, x @ y)
        assert np.all(whole[:, :, :20] == 7.0)
        assert np.all(whole[:, :, 68:] == 7.0)


@pytest.mark.parametrize("split", Split)
@pytest.mark.parametrize("empty", range(4), ids=["batch", "rows", "columns", "inner"])
def test_sizes_may_be_zero(empty: int, split: Split) -> None:
    shape = [3, 40, 20, 30]
    shape[empty] = 0
    batch, rows, columns, inner = shape
    x, y = np.ones((batch, rows, inner)), np.ones((batch, inner, columns))
    out = np.full((batch, rows, columns), np.nan)
    for count in (1, 2, 3):
        p = program("float64", False, False, False, split)
        multiply(p, count, x, y, out)
    np.testing.assert_array_equal(out, np.zeros((batch, rows, columns)))


def test_new_sizes_need_no_new_code() -> None:
    before = program.cache_info().misses
    for batch in range(1, 6):
        assert part_of(0, (batch, 16, 16, 16), Split.AUTO).all()
    assert program.cache_info().misses <= before + 1


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_bits_are_the_same_in_every_run(
    shape: tuple[int, int, int, int], rng: np.random.Generator
) -> None:
    # Wherever the operands lie.
    batch, rows, columns, inner = shape
    x = rng.standard_normal((batch, rows, inner)).astype(np.float32)
    y = rng.standard_normal((batch, inner, columns)).astype(np.float32)
    p = program("float32", False, False, False, Split.AUTO)
    for count in (1, 2, 3):
        found = set()
        for offset in range(10):
            moved = np.empty(x.size + 16, np.float32)[offset:][: x.size].reshape(x.shape)
            moved[...] = x
            out = np.empty((batch, rows, columns), np.float32)
            multiply(p, count, moved, y, out)
            found.add(out.tobytes())
        assert len(found) == 1


def test_threads_of_python_can_multiply_at_once(rng: np.random.Generator) -> None:
    p = program("float32", False, False, False, Split.AUTO)
    x, y = integers(rng, (8, 64, 48), "float32"), integers(rng, (8, 48, 64), "float32")
    expected, wrong = x @ y, []

    def work(count: int) -> None:
        for _ in range(20):
            out = np.full_like(expected, np.nan)
            multiply(p, count, x, y, out)
            if not np.array_equal(out, expected):
                wrong.append(count)

    workers = [threading.Thread(target=work, args=(1 + i % 3,)) for i in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []


FORKED = """
import os, warnings
import numpy as np
from tests.native.test_contraction import Split, multiply, program

warnings.simplefilter("ignore")  # newer Pythons warn of a fork with threads
p = program("float32", False, False, False, Split.AUTO)

def check():
    x, y = np.ones((4, 64, 64), np.float32), np.ones((4, 64, 64), np.float32)
    for count in (1, 2, 3):
        out = np.zeros_like(x)
        multiply(p, count, x, y, out)
        assert np.all(out == 64.0)

check()
child = os.fork()
check()
if child == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
check()
print("done")
"""


def test_after_a_fork_parent_and_child_multiply() -> None:
    assert run_process(FORKED) == "done\n"


def test_the_library_computes_with_one_thread_and_is_not_that_of_numpy() -> None:
    count = openblas.library().scipy_openblas_get_num_threads
    count.argtypes, count.restype = [], ctypes.c_int
    assert count() == 1
    assert (
        run_process("""
import ctypes, os
os.environ["OPENBLAS_NUM_THREADS"] = "2"
import numpy as np

def of_numpy():
    with open("/proc/self/maps") as maps:
        paths = {line.split()[-1] for line in maps if "numpy.libs" in line}
    (path,) = [path for path in paths if "openblas" in path]
    return ctypes.CDLL(path).scipy_openblas_get_num_threads64_()

before = of_numpy()
from lazygraph.backends.native import openblas
openblas.library()
print(before == of_numpy(), hasattr(ctypes.CDLL(None), "scipy_cblas_sgemm"))
""")
        == "True False\n"
    )
