"""Bits do not depend on where, in what order or how often values are asked for."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazygraph as lg
from tests.lazygraph.exactness import Bits, bits
from tests.lazygraph.random_programs import Program

CHUNKS, PROGRAMS = 32, 10  # 320 programs
See = Callable[[lg.Tensor], object]


def no_cut(x: lg.Tensor) -> None:
    pass


def random_cuts(seed: int, share: float) -> See:
    """Realize a random one of the values seen so far, every now and then."""
    rng, seen = np.random.default_rng(seed), list[lg.Tensor]()

    def see(x: lg.Tensor) -> None:
        seen.append(x)
        if rng.random() < share:
            seen[rng.integers(len(seen))].realize()

    return see


def loss_of(values: list[lg.Tensor]) -> lg.Tensor:
    total = lg.asarray(0.0, dtype=lg.float64)
    for i, x in enumerate(values):
        total = total + lg.astype(lg.sum(lg.square(x)) * (0.5 + i), lg.float64)
    return total


def outcome(program: Program, see: See, see_gradients: See) -> list[Bits]:
    """Every value, its gradient, and the gradient of a gradient."""
    values = program.run(see)
    gradients = loss_of(values[-4:]).backward()
    for g in gradients.values():
        see_gradients(g)
    kept = [gradients[x] for x in values if x in gradients]
    second = lg.grad(lg.sum(kept[0] * kept[0]), values[:3], missing="zero")
    for g in second:
        see_gradients(g)
    lg.realize(values, kept, second)
    return [bits(x) for x in (*values, *kept, *second)]


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_random_programs_have_the_same_bits_wherever_they_are_cut(chunk: int) -> None:
    for seed in range(chunk * PROGRAMS, (chunk + 1) * PROGRAMS):
        program = Program(seed)
        with lg.using(verify=seed % 4 == 0):
            whole = outcome(program, no_cut, no_cut)
            cut = outcome(program, random_cuts(seed, 0.4), random_cuts(seed, 0.3))
        same = [a == b for a, b in zip(whole, cut, strict=True)]
        assert all(same), f"program {seed}, value {same.index(False)}: {program}"


def test_a_program_gives_different_bits_for_different_data() -> None:
    # The comparison can fail: one leaf off by one unit in the last place is seen.
    program = Program(3)
    first = outcome(program, no_cut, no_cut)
    leaf = next(x for x in program.leaves if x.size)
    leaf.reshape(-1)[0] = np.nextafter(leaf.reshape(-1)[0], np.inf)
    assert outcome(program, no_cut, no_cut) != first


Steps = Callable[[Callable[[lg.Tensor], lg.Tensor], lg.Tensor], lg.Tensor]

# Each takes another path in NumPy or BLAS if its operands lie otherwise.
KNOTS: dict[str, tuple[tuple[int, ...], Steps]] = {
    "a matrix times its transpose": ((17, 4), lambda see, x: see(x) @ see(x.T)),
    "a transpose times its matrix": ((40, 17), lambda see, x: see(x.T) @ see(x * 1.0)),
    "batches turned by batches": ((5, 17, 4), lambda see, x: see(x[::-1]) @ see(x.mT)),
    "paths that meet, one of them stopped": (
        (30, 9),
        lambda see, x: (lambda h: see(h).detach() * see(lg.cos(x)) + see(x * x) + h * x)(
            lg.sin(x)
        ),
    ),
    "batches times a vector": (
        (2, 18, 2, 17),
        lambda see, x: see(lg.permute_dims(x, (0, 2, 1, 3))) @ see(x[0, 0, 0]),
    ),
    "a turned batch times a vector": (
        (3, 17, 9),
        lambda see, x: see(see(x).mT) @ see(x[0, :, 0]),
    ),
    "a stretched row, turned": (
        (17, 17),
        lambda see, x: see(x) @ see(see(lg.broadcast_to(x[:1], (3, 2, 17))).mT),
    ),
    "a stretched matrix of columns": (
        (17, 9),
        lambda see, x: see(x) @ see(see(lg.broadcast_to(see(x.T), (3, 9, 17)))[1]),
    ),
    "a slice with gaps, permuted and merged": (
        (9, 17, 8),
        lambda see, x: (
            lg.reshape(see(lg.permute_dims(see(x[:, :3]), (2, 0, 1))), (8, 27))
            @ lg.reshape(x[0, :9], (-1,))[:27]
        ),
    ),
    "merged and split again": (
        (17, 9),
        lambda see, x: see(lg.reshape(see(lg.reshape(see(x.T), (-1,))), (9, 17))) @ see(x),
    ),
    "turned twice": ((17, 2), lambda see, x: see(see(x.T).T) @ see(x.T[:, :5])),
    "multiplied by one": ((300, 9), lambda see, x: see(see(x.T) * 1.0) @ see(x)),
    "negated twice": ((300, 9), lambda see, x: see(lg.negative(see(-see(x.T)))) @ see(x)),
    "the same branch twice": ((300, 9), lambda see, x: see(lg.where(x > 0, x, x).T) @ see(x)),
    "detached": ((300, 9), lambda see, x: see(see(x.T).detach()) @ see(x)),
    "thin by thin": ((1, 9), lambda see, x: see(x.T) @ see(x[:, ::-2])),
    "one column out of many": ((9, 17), lambda see, x: see(x[:, 3:4].T) @ see(x[:, ::-1])),
    "one row, stretched": ((1, 1, 3), lambda see, x: see(x) @ see(see(x[0].T) * x)),
    "exponentials backwards": ((1003,), lambda see, x: lg.exp(see(x[::-1]))),
    "logarithms of a reversed matrix": (
        (40, 41),
        lambda see, x: lg.log(see(lg.abs(x))[::-1, ::-1]) + lg.exp(see(x.T[::-1])).T,
    ),
    "one exponent for all": (
        (101,),
        lambda see, x: see(lg.abs(x)) ** see(lg.broadcast_to(lg.asarray(0.5), (101,))),
    ),
    "a single root": ((1,), lambda see, x: see(lg.abs(x)) ** see(x * 0 + 0.5)),
    "a sum over permuted axes": (
        (8, 17, 9),
        lambda see, x: lg.sum(see(lg.permute_dims(see(x), (2, 0, 1))), axis=(0, 2)),
    ),
    "a sum over every second, backwards": (
        (1003, 3),
        lambda see, x: lg.sum(see(x[::-2])) + lg.var(see(x[::-1, ::-1])),
    ),
    "a softmax across rows": ((40, 9), lambda see, x: lg.softmax(see(see(x.T)[::-1]), axis=0)),
    "equal summands added in another order": (
        (40, 9),
        lambda see, x: see(see(x + x[:1]) + see(x * 3.0)) + see(x * 3.0),
    ),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("name", KNOTS)
def test_every_choice_of_cuts_gives_the_same_bits(
    name: str, dtype: Any, rng: np.random.Generator
) -> None:
    shape, steps = KNOTS[name]
    data = rng.standard_normal(shape).astype(dtype)

    def run(cuts: tuple[bool, ...]) -> tuple[Bits, Bits, int]:
        seen = itertools.count()

        def see(x: lg.Tensor) -> lg.Tensor:
            place = next(seen)
            return x.realize() if place < len(cuts) and cuts[place] else x

        x = lg.asarray(data)
        y = steps(see, x)
        gradient = lg.grad(lg.sum(y * y), x)
        return bits(y), bits(gradient), next(seen)

    *wanted, count = run(())
    for cuts in itertools.product((False, True), repeat=count):
        assert list(run(cuts)[:2]) == wanted, cuts
