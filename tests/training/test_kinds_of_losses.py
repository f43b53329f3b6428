"""The kinds behind reported faults of losses and pooling, with drawn numbers and shapes."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazygraph as lg
import training

TOLERANCE = {"float32": 2e-6, "float64": 1e-12}
DTYPES = pytest.mark.parametrize("dtype", TOLERANCE)
EARLY = pytest.mark.parametrize("early", [False, True], ids=["lazy", "realized early"])


def softplus(z: float) -> float:
    return max(z, 0.0) + math.log1p(math.exp(-abs(z)))


def sigmoid(z: float) -> float:
    return 1.0 / (1.0 + math.exp(-z)) if z >= 0 else math.exp(z) / (1.0 + math.exp(z))


@DTYPES
@EARLY
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_scores_of_any_size_have_a_finite_binary_cross_entropy(
    reduction: str, early: bool, dtype: str, rng: np.random.Generator
) -> None:
    sizes = [0.0, 1e-8, 0.1, 1.0, 17.0, 60.0, 89.0, 200.0, 1e4, 1e30]
    z = np.array([sign * size for size in sizes for sign in (1, -1)], dtype).reshape(4, 5)
    for t in (np.zeros(z.shape), np.ones(z.shape), rng.uniform(0.0, 1.0, z.shape)):
        t = t.astype(dtype)
        leaf = lg.asarray(z)
        scores = leaf * 1.0
        if early:
            scores.realize()
        loss = training.binary_cross_entropy_with_logits(scores, t, reduction=reduction)
        u = rng.uniform(0.5, 2.0, loss.shape)
        slope = lg.grad(loss, leaf, upstream=u.astype(dtype))
        pairs = list(zip(z.ravel().tolist(), t.ravel().tolist(), strict=True))
        each = np.array([(1 - y) * softplus(s) + y * softplus(-s) for s, y in pairs])
        wanted = {"none": each.reshape(z.shape), "mean": each.mean(), "sum": each.sum()}
        share = np.array([sigmoid(s) - y for s, y in pairs]).reshape(z.shape) * u
        if reduction == "mean":
            share /= z.size
        rtol = TOLERANCE[dtype]
        assert np.allclose(loss.numpy(), wanted[reduction], rtol=rtol, atol=rtol)
        assert np.allclose(slope.numpy(), share, rtol=rtol, atol=rtol)


@DTYPES
@EARLY
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 1.0])
def test_only_rows_that_count_are_averaged_whatever_stands_in_the_others(
    smoothing: float, early: bool, dtype: str, rng: np.random.Generator
) -> None:
    for counting in (0, 1, 4, 6):
        labels = rng.integers(0, 5, 6)
        labels[rng.permutation(6)[counting:]] = -1
        rows = np.flatnonzero(labels >= 0)
        z = rng.uniform(-40.0, 40.0, (6, 5)).astype(dtype)
        z[labels < 0, rng.integers(5)] = rng.choice([np.nan, np.inf, -np.inf])
        leaf = lg.asarray(z)
        scores = leaf * 1.0
        if early:
            scores.realize()
        options: dict[str, Any] = {"ignore_index": -1, "label_smoothing": smoothing}
        loss = training.cross_entropy(scores, labels, **options)
        u = rng.uniform(-2.0, 2.0)
        slope = lg.grad(loss, leaf, upstream=np.asarray(u, dtype)).numpy()
        kept = z[rows].astype(np.float64)
        shifted = kept - kept.max(axis=1, keepdims=True)
        logs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        target = np.full(kept.shape, smoothing / 5)
        target[np.arange(rows.size), labels[rows]] += 1.0 - smoothing
        count = max(counting, 1)
        rtol = 10 * TOLERANCE[dtype]
        assert np.isclose(loss.item(), -(target * logs).sum() / count, rtol=rtol, atol=rtol)
        wanted = np.zeros(z.shape)
        wanted[rows] = u * (np.exp(logs) - target) / count
        assert np.allclose(slope, wanted, rtol=rtol, atol=rtol)
        assert not slope[labels < 0].any()


PAIRED: dict[str, Callable[[Any, Any], lg.Tensor]] = {
    "mse_loss": training.mse_loss,
    "huber_loss": training.huber_loss,
    "binary_cross_entropy_with_logits": training.binary_cross_entropy_with_logits,
    "kl_divergence": training.kl_divergence,
}
SHAPES = [(), (1,), (3,), (1, 3), (3, 1), (3, 3), (1, 1), (3, 3, 1)]


@pytest.mark.parametrize("name", PAIRED)
def test_a_loss_of_pairs_stretches_neither_of_them(name: str) -> None:
    for one, other in itertools.permutations(SHAPES, 2):
        message = rf"^{name}: .* must have the same shape; got .*"
        with pytest.raises(lg.errors.ShapeError, match=message) as caught:
            PAIRED[name](lg.zeros(one), np.zeros(other, np.float32))
        assert f"{one} and {other}" in str(caught.value)


@DTYPES
@pytest.mark.parametrize("ceil_mode", [False, True])
def test_every_window_of_a_short_row_sees_an_element_and_the_greatest_of_them(
    ceil_mode: bool, dtype: str, rng: np.random.Generator
) -> None:
    # All lengths, sizes, strides and paddings; every number is below zero.
    for length, size, stride in itertools.product(range(1, 9), range(1, 5), range(1, 5)):
        for padding in range(size // 2 + 1):
            if length + 2 * padding < size:
                continue
            x = -rng.permutation(np.arange(1.0, length + 1)).astype(dtype)
            starts = list(range(-padding, length + padding - size + 1, stride))
            follower = starts[-1] + stride
            if ceil_mode and starts[-1] + size < length + padding and follower < length:
                starts.append(follower)
            spans = [range(max(start, 0), min(start + size, length)) for start in starts]
            leaf = lg.asarray(x.reshape(1, 1, length))
            y = lg.max_pool1d(leaf, size, stride=stride, padding=padding, ceil_mode=ceil_mode)
            found = y.tolist()[0][0]
            assert found == [max(x[i] for i in span) for span in spans]
            wanted = np.zeros(length)
            for span, u in zip(spans, itertools.count(1), strict=False):
                wanted[max(span, key=lambda i, x=x: x[i])] += u  # type: ignore[misc]
            upstream = np.arange(1.0, len(spans) + 1, dtype=dtype).reshape(y.shape)
            assert lg.grad(y, leaf, upstream=upstream).tolist()[0][0] == wanted.tolist()
