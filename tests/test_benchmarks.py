"""The benchmarks compare like with like, and say what became of a program that failed."""

import math
from typing import Any

import numpy as np
import pytest

import lazygraph as lg
from benchmarks import by_hand, ours
from benchmarks.compare import disagreement
from benchmarks.running import Options, run
from benchmarks.workloads import (
    WORKLOADS,
    Arrays,
    Convolutional,
    Elements,
    Perceptron,
    Rows,
    Transformer,
    Workload,
)

SMALL = [
    WORKLOADS["tiny"].of(Perceptron((5, 7, 2), 6, regression=True)),
    WORKLOADS["mlp"].of(Perceptron((9, 8, 7, 4), 6)),
    WORKLOADS["gpt_baby_cpu"].of(Transformer(2, 2, width=8, time=5, rows=3, characters=11)),
    WORKLOADS["gpt_small"].of(Transformer(1, 3, width=12, time=7, rows=2, characters=6)),
    WORKLOADS["convnet"].of(Convolutional(10, (3, 4), hidden=6, classes=5, rows=3)),
    WORKLOADS["pointwise"].of(Elements(1000)),
    WORKLOADS["layernorm_softmax"].of(Rows(12, 9)),
]
each_workload = pytest.mark.parametrize("workload", SMALL, ids=lambda workload: workload.name)


def plain_erf(x: Any, out: Any) -> None:
    out[...] = np.vectorize(math.erf)(x)


def model_by_hand(workload: Workload, weights: Arrays, batch: Arrays) -> by_hand.Model:
    shape = workload.shape
    if isinstance(shape, Transformer):
        return by_hand.Transformer(shape, weights, batch, erf=plain_erf)
    return by_hand.model_of(shape, weights, batch)


def in_float64(arrays: Arrays) -> Arrays:
    return {k: x.astype(np.float64) if x.dtype == np.float32 else x for k, x in arrays.items()}


def test_every_workload_is_tried_here() -> None:
    assert [workload.name for workload in SMALL] == list(WORKLOADS)


@each_workload
def test_a_workload_is_the_same_whenever_it_is_drawn(workload: Workload) -> None:
    for first, again in zip(workload.draw(), workload.draw(), strict=True):
        assert list(first) == list(again)
        for name, array in first.items():
            assert array.tobytes() == again[name].tobytes()
            assert not np.shares_memory(array, again[name])


@each_workload
def test_three_steps_of_ours_have_the_losses_of_those_by_hand(workload: Workload) -> None:
    our_program = ours.prepare(workload)
    theirs = by_hand.program_of(model_by_hand(workload, *workload.draw()), workload.trained)
    losses = [
        [program.loss(program.step()) for _ in range(3)] for program in (our_program, theirs)
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    assert (len(set(losses[1])) == 3) == workload.trained


@each_workload
def test_our_gradients_are_those_by_hand(workload: Workload) -> None:
    # In float64, where what is not a rounding error stands out.
    weights, batch = map(in_float64, workload.draw())
    variables = {name: lg.Var(name, array) for name, array in weights.items()}
    tensors = {name: lg.asarray(array) for name, array in batch.items()}
    loss = ours.loss_of(workload.shape, variables, tensors)
    gradients = loss.backward()
    model = model_by_hand(workload, weights, batch)
    assert loss.item() == pytest.approx(model.run(), rel=1e-12)
    expected = model.as_drawn(model.gradients)
    assert expected.keys() == variables.keys()
    for name, var in variables.items():
        found, size = gradients[var].numpy(), np.abs(expected[name]).max()
        assert size > 0
        np.testing.assert_allclose(found, expected[name], rtol=1e-9, atol=1e-12 * size)


def test_losses_agree_up_to_the_tolerance() -> None:
    reference = {"losses": {"1": 2.0, "10": 1.0}}
    assert disagreement({"losses": {"1": 2.0001, "10": 1.0}}, reference) == ""
    words = disagreement({"losses": {"1": 2.0, "10": 1.001}}, reference)
    assert words == "the loss at step 10 is 1.001 instead of 1"
    assert disagreement({"losses": {"1": math.nan, "10": 1.0}}, reference)


class TestAProcess:
    def test_reports_the_losses_that_are_compared(self) -> None:
        finding = run("by_hand", "tiny", Options(threads=1), seconds=0)
        program = by_hand.prepare(WORKLOADS["tiny"])
        losses = [program.step() for _ in range(20)]
        expected = {str(i): pytest.approx(losses[i - 1], rel=1e-6) for i in (1, 10, 20)}
        assert finding["losses"] == expected

    def test_that_lacks_something_says_what(self) -> None:
        finding = run("autograd", "gpt_small", Options(), seconds=0)
        assert finding["missing"] in (
            "autograd is not installed",
            "no program in autograd for a Transformer",
        )

    def test_that_dies_or_hangs_is_a_finding(self) -> None:
        dead = run("ours", "tiny", Options(pythons={"ours": "/bin/false"}), seconds=0)
        assert dead == {"failed": "exit code 1: nothing was said"}
        hanging = run("ours", "tiny", Options(timeout=0.01), seconds=0)
        assert hanging == {"failed": "no answer within 0.01 s"}
        nowhere = run("ours", "tiny", Options(pythons={"ours": "/nowhere"}), seconds=0)
        assert nowhere == {"failed": "/nowhere: No such file or directory"}
