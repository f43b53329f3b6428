"""A steady step works in memory that it has: it allocates less than any of its arrays."""

import itertools
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from numpy.random import Generator

import lazygraph as lg
from training import GPT, AdamW, TrainingLoop

# What calls allocate inside: a chunk of a norm in float64, and indices of gathers; the error
# function four chunks of scratch, and NumPy's iterator two of buffers, of 128 KiB each.
SMALL = 150_000
WITH_ERF = SMALL + 6 * 128 * 1024
Step = Callable[[], object]


def perceptron(rng: Generator) -> Step:
    widths = (600, 600, 600)
    weights = [
        lg.Var(f"w{i}", rng.standard_normal((n, m)).astype(np.float32) * 0.05)
        for i, (n, m) in enumerate(itertools.pairwise(widths))
    ]
    x = lg.asarray(rng.standard_normal((500, 600)).astype(np.float32))
    optimizer, loop = AdamW(weights, lr=1e-3), TrainingLoop(max_grad_norm=1.0)

    def step() -> object:
        h = x
        for w in weights:
            h = lg.tanh(h @ w)
        return loop.step(lg.mean(h * h), optimizer)

    return step


def transformer(rng: Generator) -> Step:
    model = GPT(64, block_size=64, n_layer=2, n_head=4, n_embd=128, seed=1)
    optimizer = AdamW(model.parameters(), lr=1e-3)
    loop = TrainingLoop(max_grad_norm=1.0)
    tokens = lg.asarray(rng.integers(0, 64, (16, 65)))

    def step() -> object:
        return loop.step(model(tokens[:, :-1], tokens[:, 1:])[1], optimizer)

    return step


@pytest.mark.parametrize(
    ("make", "most"), [(perceptron, SMALL), (transformer, WITH_ERF)], ids=["mlp", "gpt"]
)
def test_a_steady_step_allocates_nothing_but_what_is_listed(
    make: Callable[[Generator], Step], most: int, rng: Generator
) -> None:
    step = make(rng)
    step()
    arrays = lg.stats().peak_bytes
    for _ in range(3):
        step()
    tracemalloc.start()
    try:
        step()
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        step()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak - before < most
    assert arrays > 4 * most  # so that one more array of the larger ones would be seen
