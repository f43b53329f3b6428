"""Layers, losses and schedules give what PyTorch gave on the same numbers."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazygraph as lg
import training
from benchmarks.record_layers import (
    LENGTH,
    RECORD,
    drawn,
    tied,
)

FOUND = json.loads(RECORD.read_text(encoding="utf-8"))
Figures = dict[str, Any]


def cases(name: str) -> pytest.MarkDecorator:
    ids = [json.dumps(case["options"]) for case in FOUND[name]]
    return pytest.mark.parametrize("case", FOUND[name], ids=ids)


def assert_agree(found: lg.Tensor, leaves: list[Any], case: Figures) -> None:
    """The value, and the gradients against the upstream that was used for the record."""
    expected = np.array(case["value"])
    if expected.ndim and found.size == expected.size:
        found = lg.reshape(found, expected.shape)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-9, atol=1e-12)
    upstream = drawn(*expected.shape, phase=0.5)
    gradients = lg.grad(found, leaves, upstream=upstream)
    for g, wanted in zip(gradients, case["gradients"], strict=True):
        np.testing.assert_allclose(g.numpy(), wanted, rtol=1e-9, atol=1e-12)


def options_of(case: Figures) -> dict[str, Any]:
    return {k: tuple(v) if isinstance(v, list) else v for k, v in case["options"].items()}


@cases("conv2d")
def test_convolution(case: Figures) -> None:
    shapes = drawn(2, 2, 5, 4), drawn(3, 2, 3, 2, phase=1.0), drawn(3)
    leaves = [lg.asarray(x) for x in shapes]
    assert_agree(lg.conv2d(*leaves, **options_of(case)), leaves, case)


@pytest.mark.parametrize("name", ["max_pool2d", "avg_pool2d"])
def test_pooling(name: str) -> None:
    for case in FOUND[name]:
        x = lg.asarray(tied(1, 2, 5, 6))
        assert_agree(getattr(lg, name)(x, **options_of(case)), [x], case)


@cases("rms_norm")
def test_rms_norm(case: Figures) -> None:
    leaves = [lg.asarray(drawn(2, 3, 4)), lg.asarray(drawn(4, phase=1.0))]
    assert_agree(lg.rms_norm(*leaves, **case["options"]), leaves, case)


@cases("batch_norm")
def test_batch_norm(case: Figures) -> None:
    norm = training.BatchNorm(3, **case["options"], dtype=lg.float64)
    state = norm.state_dict()
    norm.load_state_dict({**state, "weight": drawn(3, phase=1.0), "bias": drawn(3, phase=2.0)})
    norm(drawn(4, 3, 2, 2, phase=3.0))
    x = lg.asarray(drawn(4, 3, 2, 2))
    assert_agree(norm(x), [x, norm.weight, norm.bias], case)
    for var, value in norm.updates():
        var.assign(value)
    running = [norm.running_mean.numpy(), norm.running_var.numpy()]
    np.testing.assert_allclose(running, case["running"], rtol=1e-9)
    np.testing.assert_allclose(norm.eval()(x).numpy(), case["in_use"], rtol=1e-9)


@cases("cross_entropy")
def test_cross_entropy(case: Figures) -> None:
    z, options = lg.asarray(drawn(2, 3, 4)), options_of(case)
    if "weight" in options:
        options["weight"] = np.array(options["weight"])
    assert_agree(training.cross_entropy(z, case["labels"], **options), [z], case)


@pytest.mark.parametrize("name", ["binary_cross_entropy_with_logits", "huber_loss"])
def test_losses_of_pairs(name: str) -> None:
    loss = getattr(training, name)
    for case in FOUND[name]:
        x = lg.asarray(3.0 * drawn(2, 3))
        target = (drawn(2, 3, phase=1.0) + 1.0) / 2.0
        assert_agree(loss(x, target, **case["options"]), [x], case)


@cases("kl_divergence")
def test_kl_divergence(case: Figures) -> None:
    reduction = {"batchmean": "mean"}.get(case["options"]["reduction"], "sum")
    z, target = lg.asarray(drawn(2, 3)), lg.softmax(drawn(2, 3, phase=1.0))
    loss = training.kl_divergence(lg.log_softmax(z), target, reduction=reduction)
    assert_agree(loss, [z], case)


SCHEDULES: dict[str, Callable[[dict[str, Any]], training.LrSchedule]] = {
    "ExponentialLR": lambda o: training.ExponentialSchedule(1.0, o["gamma"]),
    "OneCycleLR": lambda o: training.OneCycleSchedule(
        o["max_lr"],
        o["total_steps"],
        o.get("pct_start", 0.3),
        o.get("div_factor", 25.0),
        o.get("final_div_factor", 1e4),
    ),
    "CosineAnnealingWarmRestarts": lambda o: training.WarmRestartsSchedule(
        1.0, o["T_0"], o.get("T_mult", 1), min_lr=o.get("eta_min", 0.0)
    ),
    "SequentialLR": lambda o: training.SequenceSchedule(
        [
            training.ExponentialSchedule(1.0, 0.9),
            training.WarmRestartsSchedule(1.0, 4, factor=2),
        ],
        o["milestones"],
    ),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules(name: str) -> None:
    for case in FOUND[name]:
        schedule = SCHEDULES[name](case["options"])
        rates = [schedule.lr_at(step) for step in range(LENGTH)]
        np.testing.assert_allclose(rates, case["value"], rtol=1e-9, atol=1e-12)
