"""What kernels say of themselves before there is code: keys, costs, refusals."""

from dataclasses import replace

import numpy as np

from lazygraph.backends.native import kernels
from lazygraph.dtypes import float64
from tests.lazygraph.exactness import assert_same_bits
from tests.native.kernel_calls import Call, Tape, layer_norm, view

Generator = np.random.Generator


def test_new_numbers_of_rows_need_no_new_code(rng: Generator) -> None:
    keys = set()
    for rows in (3, 64, 1000):
        tape = Tape()
        layer_norm(tape, tape.array(rng.standard_normal((rows, 40))))
        keys.add(kernels.plan(tape.statements).key)
    for size in (8, 5000):
        tape = Tape()
        x = tape.array(rng.standard_normal(size))
        tape.call("multiply", tape.array(np.float64(2.0)), x)
        keys.add(kernels.plan(tape.statements).key)
    assert len(keys) == 2


def test_places_are_no_part_of_the_code(rng: Generator) -> None:
    tape = Tape()
    x, y = (tape.array(rng.standard_normal((4, 6))[:, i:]) for i in (1, 2))
    for operand in (x, y):
        total = tape.call("sum", operand, params=((1,),), stored=False)
        tape.call("divide", total, total)
    first, second = kernels.plan(tape.statements[:2]), kernels.plan(tape.statements[2:])
    assert first.key != second.key  # they have five and four columns
    tape.statements.clear()
    for operand in (y, x):
        tape.call("exp", replace(operand, shape=(4, 4)))
    first, second = (kernels.plan([statement]) for statement in tape.statements)
    assert first.key == second.key
    assert first.arguments != second.arguments


def test_no_rows_give_what_no_elements_come_to() -> None:
    tape = Tape()
    x = tape.array(np.ones((5, 40), np.float32))
    outs = [tape.call("sum", x, params=(axes,)) for axes in ((0,), (1,))]
    memory = [a.copy() for a in tape.memory]
    Call(kernels.plan(tape.statements), memory, count=0)(2)
    assert_same_bits(view(memory, outs[0]), np.zeros((1, 40), np.float32))
    assert_same_bits(view(memory, outs[1]), view(tape.memory, outs[1]))


def refused(tape: Tape) -> str:
    *before, last = tape.statements
    assert not before or kernels.refusal(before) is None
    assert not kernels.joins(before, last)
    reason = kernels.refusal(tape.statements)
    assert reason is not None
    return reason


def test_what_every_row_is_needed_for_cannot_be_read_in_the_same_kernel() -> None:
    for axes in ((0,), (0, 1)):
        tape = Tape()
        x = tape.array(np.ones((8, 40)))
        tape.call("divide", x, tape.call("sum", x, params=(axes,)))
        assert "must read the elements" in refused(tape)


def test_elements_of_others_cannot_be_read_in_the_same_kernel() -> None:
    tape = Tape()
    x = tape.array(np.ones((8, 8)))
    y = tape.call("negative", x)
    tape.call("exp", replace(y, strides=y.strides[::-1]))
    assert "must read the elements" in refused(tape)


def test_elements_of_others_cannot_be_overwritten() -> None:
    tape = Tape()
    x = tape.array(np.ones((8, 8)))
    y = tape.call("negative", x)
    tape.call("exp", y, out=replace(x, strides=x.strides[::-1]))
    assert "must not overwrite" in refused(tape)
    tape = Tape()
    x = tape.array(np.ones((8, 8)))
    y = tape.call("negative", x)
    tape.call("exp", x, out=y)
    assert "must not overwrite" in refused(tape)


def test_kernels_refuse_what_does_not_fit() -> None:
    x = np.ones((8, 6, 5))
    for params, reason in {
        ((1,),): "leading or trailing",
        ((0, 2),): "leading or trailing",
    }.items():
        tape = Tape()
        tape.call("sum", tape.array(x), params=params)
        assert reason in refused(tape)
    tape = Tape()
    tape.call("exp", tape.call("negative", tape.array(x)))
    tape.call("exp", tape.array(np.ones((8, 7))))
    assert "one a row" in refused(tape)
    tape = Tape()
    tape.call("sum", tape.array(x), params=((1, 2),))
    tape.call("sum", tape.array(x), params=((2,),))
    assert "agree on what a row is" in refused(tape)
    tape = Tape()
    tape.call("norm", tape.array(x), params=(float64,))
    tape.call("argmax", tape.array(x), params=(0,))
    tape.call("exp", tape.array(np.ones((0, 3))))
    assert not any(map(kernels.accepts, tape.statements))


def test_a_kernel_says_what_it_costs() -> None:
    tape = Tape()
    x = tape.array(np.ones((50, 40), np.float32))
    y = tape.call("add", x, tape.array(np.ones(40, np.float32)), stored=False)
    tape.call("sum", y, params=((0,),))
    tape.call("multiply", y, y)
    kernel = kernels.plan(tape.statements)
    assert kernel.bytes_read == 4 * (50 * 40 + 40)
    assert kernel.bytes_written == 4 * (50 * 40 + 40)
    assert kernel.flops == 50 * 40 * (1 + 3 + 1)
    assert kernel.needs_finish
    assert kernel.scratch_bytes(4) == 2 * 48 * 4  # two chunks of at most 32 rows
