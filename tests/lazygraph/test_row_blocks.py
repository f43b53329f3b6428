"""Done a few rows at a time, calls compute what they compute for all rows at once."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazygraph as lg
from lazygraph import plan
from lazygraph.backends.numpy import rows
from tests.lazygraph.exactness import bits
from tests.lazygraph.random_programs import Program
from tests.lazygraph.test_bits import no_cut, outcome

Build = Callable[[lg.Tensor, lg.Tensor], lg.Tensor]


@pytest.fixture
def resize(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Sets the bytes of a block, for plans that are built from now on."""

    def to(size: int) -> None:
        monkeypatch.setattr(rows, "BLOCK_BYTES", size)
        monkeypatch.setattr(plan, "cache", plan.PlanCache())

    return to


@pytest.mark.parametrize("chunk", range(8))
def test_random_programs_have_the_same_bits_in_blocks_of_any_size(
    chunk: int, resize: Callable[[int], None]
) -> None:
    for seed in range(1000 + 8 * chunk, 1008 + 8 * chunk):
        program = Program(seed)
        resize(1 << 18)
        whole = outcome(program, no_cut, no_cut)
        for size in (64, 1000):
            resize(size)
            same = [
                a == b for a, b in zip(whole, outcome(program, no_cut, no_cut), strict=True)
            ]
            assert all(same), f"program {seed}, value {same.index(False)}: {program}"


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("chunk", range(3))
def test_random_programs_have_the_same_bits_on_any_number_of_threads(
    threads: int, chunk: int, resize: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(2000 + 8 * chunk, 2008 + 8 * chunk):
        program = Program(seed)
        resize(1 << 18)
        with lg.using(threads=1):
            alone = outcome(program, no_cut, no_cut)
        monkeypatch.setattr(rows, "SHARED_BYTES", 1)
        resize(64)
        with lg.using(threads=threads):
            assert outcome(program, no_cut, no_cut) == alone, f"program {seed}: {program}"


SIDE = 1024  # of a square whose rows take several blocks

BUILDS: dict[str, Build] = {
    "a computed row beside the rows of a square": lambda x, v: (lg.abs(v) + 0.3) + x,
    "the same row in place and again": lambda x, v: lg.sin(lg.abs(v) + x) + lg.sin(lg.abs(v)),
    "a column beside the rows": lambda x, v: (lg.abs(v) + 0.3)[:, None] * lg.sin(x),
    "rows brought to mean 0": lambda x, v: lg.layer_norm(x, v, v),
    "a softmax of rows": lambda x, v: lg.softmax(x * 2.0) * v,
    "a softmax of columns": lambda x, v: lg.softmax(x * 2.0, axis=0) * v,
    "a sum over rows between": lambda x, v: lg.sin(x) - lg.sum(lg.sin(x) * v, axis=0),
    "a transpose between": lambda x, v: lg.sin(lg.cos(x).T * v) + lg.cos(x),
    "a reshape between": lambda x, v: lg.reshape(lg.sin(x), (SIDE // 4, 4, SIDE)) * v,
}


@pytest.mark.parametrize("name", BUILDS)
def test_large_arrays_give_what_each_step_alone_gives(
    name: str, rng: np.random.Generator
) -> None:
    x = lg.asarray(rng.standard_normal((SIDE, SIDE)).astype(np.float32))
    v = lg.asarray(rng.standard_normal(SIDE).astype(np.float32))

    def run() -> list[lg.Tensor]:
        y = BUILDS[name](x, v)
        return [y, *lg.grad(lg.mean(y * y), [x, v])]

    together, apart = run(), run()
    lg.realize(together)
    for node in lg.extend.postorder(t.node for t in apart):
        lg.Tensor(node).realize()
    assert [bits(t) for t in together] == [bits(t) for t in apart]


def test_what_only_a_block_reads_takes_the_memory_of_a_block() -> None:
    x = lg.asarray(np.ones((SIDE, SIDE), np.float32))
    explained = lg.explain(lg.sum(lg.sin(lg.exp(x) * 2.0), axis=1))
    assert {step.where for step in explained.steps[:-1]} <= {"block", "in place"}
    assert explained.arena_bytes < SIDE * SIDE


def test_an_error_in_a_block_names_its_step(resize: Callable[[int], None]) -> None:
    resize(64)
    x: Any = lg.asarray(np.full((64, 8), 2))
    with pytest.raises(ValueError, match="negative integer powers") as caught:
        ((x + 1) ** (x - 3) * 2).realize()
    assert "in power int64[64, 8], recorded at test_row_blocks.py:" in caught.value.__notes__[0]
