"""Random calls, cut into kernels wherever they go together, give NumPy's results."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from lazygraph.backends.native import kernels
from lazygraph.backends.native.statements import Statement
from tests.lazygraph.exactness import assert_same_bits
from tests.lazygraph.op_cases import POINTWISE, samples
from tests.native.kernel_calls import Tape, view

Generator = np.random.Generator
SHAPES = [(6, 10), (40, 7), (5, 96), (70, 64), (2, 1500), (1, 33), (130, 1)]
PAIRS = ("add", "subtract", "multiply", "maximum", "minimum")
REDUCTIONS = ("sum", "max", "min", "prod")


def random_calls(shape: tuple[int, int], rng: Generator) -> Tape:
    """Of integers, for which no order of a sum is better than another."""
    tape = Tape()
    kinds = (shape, (shape[0], 1), (shape[1],), ())
    pool = [tape.array(rng.integers(-9, 9, kind)) for kind in (*kinds, shape)]
    for _ in range(14):
        x, y = (pool[i] for i in rng.integers(len(pool), size=2))
        if rng.random() < 0.25:
            axes = ((0,), (1,), (0, 1))[rng.integers(3)]
            if x.shape == shape:
                pool.append(tape.call(str(rng.choice(REDUCTIONS)), x, params=(axes,)))
            continue
        shape_of_both = np.broadcast_shapes(x.shape, y.shape)
        out = x if rng.random() < 0.2 and x.shape == shape_of_both else None
        pool.append(tape.call(str(rng.choice(PAIRS)), x, y, out=out))
    return tape


def grouped(statements: list[Statement]) -> list[list[Statement]]:
    """Each statement in the kernel of those before it, if that is possible."""
    groups: list[list[Statement]] = []
    for statement in statements:
        if groups and kernels.joins(groups[-1], statement):
            groups[-1].append(statement)
        else:
            groups.append([statement])
    return groups


def without_memory(
    groups: list[list[Statement]], drop: Callable[[], bool]
) -> list[list[Statement]]:
    """Some of the results that no other kernel reads are not stored."""
    every = [statement for group in groups for statement in group]
    written = [statement.out.place for statement in every]
    found = []
    for group in groups:
        others = [s for s in every if s not in group]
        read = {operand.place for s in others for operand in s.operands}
        found.append(
            [
                replace(s, stored=False)
                if s.out.place not in read and written.count(s.out.place) == 1 and drop()
                else s
                for s in group
            ]
        )
    return found


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_random_calls(shape: tuple[int, int], rng: Generator) -> None:
    tape = random_calls(shape, rng)
    groups = grouped(tape.statements)
    assert len(groups) < len(tape.statements)
    some = without_memory(groups, lambda: bool(rng.random() < 0.7))
    stored = [s.out for group in some for s in group if s.stored]
    wanted = tape.evaluated()
    for threads in (1, 3):
        found = tape.run(threads, some)
        for out in stored:
            assert_same_bits(view(found, out), view(wanted, out))


def test_rules_have_the_same_bits_in_whole_vectors_and_in_tails(rng: Generator) -> None:
    whole, tails = Tape(), Tape()
    for op in POINTWISE:
        if op.emit is not None:
            sample = samples(op, rng)[0]
            every = np.broadcast_arrays(*sample.inputs)
            for tape, width in ((whole, every[0].shape[-1]), (tails, 3)):
                operands = [tape.array(x[..., -width:].copy()) for x in every]
                tape.call(op.name, *operands, params=sample.params)
    runs = [tape.run(groups=grouped(tape.statements)) for tape in (whole, tails)]
    for first, second in zip(whole.statements, tails.statements, strict=True):
        x, y = (view(run, s.out) for run, s in zip(runs, (first, second), strict=True))
        assert_same_bits(x[..., -3:], y)
