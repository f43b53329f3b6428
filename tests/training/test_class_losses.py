"""Losses of classes with weights, smoothing and rows that do not count; of yes and no."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray

import lazygraph as lg
from lazygraph import errors
from tests.training.differences import assert_gradients_hold
from training import TrainingLoop, binary_cross_entropy_with_logits, cross_entropy
from training.optimizers import SGD

Array = NDArray[Any]
LN2, LN3 = math.log(2.0), math.log(3.0)
WEIGHT = [0.5, 2.0, 1.0, 3.0]


def by_loops(
    scores: Array,
    labels: Array,
    weight: Any = None,
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
) -> tuple[list[float], float]:
    """The loss of each row, and what the mean divides their sum by."""
    w = np.ones(scores.shape[-1]) if weight is None else np.array(weight)
    losses, whole = [], 0.0
    for row, label in zip(scores, labels, strict=True):
        if label == ignore_index:
            losses.append(0.0)
            continue
        costs = -np.log(np.exp(row) / np.exp(row).sum())
        even = float(np.mean(w * costs))
        right = float(w[label] * costs[label])
        losses.append((1.0 - label_smoothing) * right + label_smoothing * even)
        whole += float(w[label])
    return losses, whole


OPTIONS = [
    dict(zip(("weight", "ignore_index", "label_smoothing"), values, strict=True))
    for values in itertools.product([None, WEIGHT], [None, 1, -7], [0.0, 0.25, 1.0])
]


def drawn(rng: Generator, options: dict[str, Any]) -> tuple[Array, Array]:
    labels = rng.integers(0, 4, 9)
    if options["ignore_index"] is not None:
        labels[[2, 5]] = options["ignore_index"]
    return rng.standard_normal((9, 4)), labels


class TestCrossEntropy:
    @pytest.mark.parametrize("options", OPTIONS, ids=str)
    def test_is_what_loops_say(self, options: dict[str, Any], rng: Generator) -> None:
        scores, labels = drawn(rng, options)
        losses, whole = by_loops(scores, labels, **options)
        if options["weight"] is not None:
            options = {**options, "weight": np.array(options["weight"])}

        def ours(reduction: str) -> Array:
            loss = cross_entropy(lg.asarray(scores), labels, reduction=reduction, **options)
            assert loss.dtype is lg.float64
            return loss.numpy()

        np.testing.assert_allclose(ours("none"), losses, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(ours("sum"), sum(losses), rtol=1e-12)
        np.testing.assert_allclose(ours("mean"), sum(losses) / whole, rtol=1e-12)

    @pytest.mark.parametrize("options", OPTIONS, ids=str)
    def test_has_the_slope_of_its_gradient(
        self, options: dict[str, Any], rng: Generator
    ) -> None:
        scores, labels = drawn(rng, options)
        variables = {"scores": lg.Var("scores", scores)}
        if options["weight"] is not None:
            variables["weight"] = lg.Var("weight", np.array(options["weight"]))
            options = {**options, "weight": variables["weight"]}
        assert_gradients_hold(
            lambda: cross_entropy(variables["scores"], labels, **options), variables, rng
        )

    def test_has_the_slope_of_its_slope(self, rng: Generator) -> None:
        scores = lg.Var("scores", rng.standard_normal((5, 4)))
        labels, v = np.array([0, 3, 1, -7, 2]), rng.standard_normal((5, 4))
        options: dict[str, Any] = {"ignore_index": -7, "label_smoothing": 0.2}

        def slope() -> lg.Tensor:
            loss = cross_entropy(scores, labels, weight=np.array(WEIGHT), **options)
            return lg.sum(lg.grad(loss, scores) * v)

        assert_gradients_hold(slope, {"scores": scores}, rng)

    def test_averages_over_the_rows_that_count(self) -> None:
        # Dividing by all three rows would give 0.6931.
        z = lg.asarray([[0.0, 0.0], [LN3, 0.0], [5.0, 1.0]])
        loss = cross_entropy(z, [0, 1, -100], ignore_index=-100)
        assert loss.item() == pytest.approx(1.0397208, rel=1e-6)
        expected = [[-0.25, 0.25], [0.375, -0.375], [0.0, 0.0]]
        np.testing.assert_allclose(loss.backward()[z].numpy(), expected, rtol=1e-6)

    @pytest.mark.parametrize("weight", [None, np.ones(2, np.float32)])
    @pytest.mark.parametrize("smoothing", [0.0, 0.1])
    def test_of_no_row_that_counts_is_zero_with_a_gradient_of_zero(
        self, weight: Any, smoothing: float
    ) -> None:
        # A NaN would end the run, here or in a sum of losses.
        z = lg.Var("z", np.array([[0.0, 5.0], [np.nan, -np.inf]], np.float32))
        loss = cross_entropy(
            z, [-1, -1], weight=weight, ignore_index=-1, label_smoothing=smoothing
        )
        assert loss.item() == 0.0
        assert loss.backward()[z].numpy().tobytes() == np.zeros((2, 2), np.float32).tobytes()
        assert TrainingLoop().step(loss, SGD([z], lr=1.0)).applied

    def test_does_not_look_at_rows_that_do_not_count(self) -> None:
        rows = np.array([[1.0, 2.0], [np.nan, np.inf]], np.float32)
        z = lg.asarray(rows)
        loss = cross_entropy(z, [0, 9], ignore_index=9)
        alone = lg.asarray(rows[:1])
        assert loss.item() == cross_entropy(alone, [0]).item()
        gradient = loss.backward()[z].tolist()
        assert gradient == [*cross_entropy(alone, [0]).backward()[alone].tolist(), [0.0, 0.0]]

    def test_smooths_towards_all_classes_alike(self) -> None:
        # 0.704700 has 1 - s C / (C - 1) on the right class.
        z = lg.asarray([[0.0, LN2, 0.0]])
        for smoothing, expected in ((0.0, 0.6931472), (0.1, 0.7393570), (1.0, 1.1552453)):
            loss = cross_entropy(z, [1], label_smoothing=smoothing)
            assert loss.item() == pytest.approx(expected, rel=1e-6)

    @pytest.mark.parametrize("dtype", ["uint8", "int8", "int64", "uint64"])
    def test_ignores_labels_of_every_integer_dtype(self, dtype: str) -> None:
        z = lg.asarray([[0.0, 0.0], [9.0, 0.0]])
        labels = np.array([1, 100], dtype)
        assert cross_entropy(z, labels, ignore_index=100).item() == pytest.approx(LN2, rel=1e-6)

    def test_ignores_nothing_where_no_label_can_be_it(self) -> None:
        z = lg.asarray([[0.0, 0.0], [0.0, 0.0]])
        for ignored in (-100, 300):
            loss = cross_entropy(z, np.array([1, 0], np.uint8), ignore_index=ignored)
            assert loss.item() == pytest.approx(LN2, rel=1e-6)

    @pytest.mark.parametrize("label", [4, -1, -100])
    def test_still_refuses_a_label_that_is_no_class(self, label: int) -> None:
        loss = cross_entropy(lg.zeros((2, 4)), [0, label], ignore_index=-7, label_smoothing=0.1)
        with pytest.raises(errors.BoundsError, match=rf"^index {label} is out of bounds"):
            loss.item()

    def test_without_options_records_what_it_always_did(self) -> None:
        def ops(**options: Any) -> list[str]:
            loss = cross_entropy(lg.zeros((2, 4)), [0, 1], **options)
            return [node.op.name for node in lg.extend.postorder([loss.node])]

        assert ops(weight=None, ignore_index=None, label_smoothing=0.0) == ops()
        assert not {"where", "not_equal"} & set(ops())
        assert "where" in ops(ignore_index=-1)

    def test_refuses_weights_of_another_shape(self) -> None:
        message = (
            r"^cross_entropy: weight must have the shape \(4,\), of the classes; got \(3,\)"
        )
        with pytest.raises(errors.ShapeError, match=message):
            cross_entropy(lg.zeros((2, 4)), [0, 1], weight=lg.ones((3,)))

    @pytest.mark.parametrize("smoothing", [-0.1, 1.1, math.nan])
    def test_refuses_what_is_no_share(self, smoothing: float) -> None:
        message = rf"^label_smoothing must be in \[0, 1\]; got {smoothing}$"
        with pytest.raises(ValueError, match=message):
            cross_entropy(lg.zeros((2, 4)), [0, 1], label_smoothing=smoothing)


class TestBinaryCrossEntropy:
    def test_stays_finite_for_extreme_scores(self) -> None:
        # The logarithm of the sigmoid would be that of 0.
        z = lg.asarray([60.0, -60.0, 200.0, 0.0])
        loss = binary_cross_entropy_with_logits(z, [0, 1, 1, 0])
        assert loss.item() == pytest.approx(30.173287, rel=1e-6)
        np.testing.assert_allclose(
            loss.backward()[z].numpy(), [0.25, -0.25, 0.0, 0.125], atol=1e-7
        )

    @pytest.mark.parametrize("answers", [bool, int, np.float32])
    def test_is_the_cross_entropy_of_two_classes(self, answers: Any, rng: Generator) -> None:
        z, yes = rng.standard_normal((3, 4)), rng.integers(0, 2, (3, 4))
        loss = binary_cross_entropy_with_logits(lg.asarray(z), yes.astype(answers))
        both = lg.asarray(np.stack([np.zeros_like(z), z], axis=-1))
        assert loss.item() == pytest.approx(cross_entropy(both, yes).item(), rel=1e-13)

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_keeps_small_losses(self, dtype: str) -> None:
        z = lg.asarray([30.0, -30.0], dtype=dtype)
        losses = binary_cross_entropy_with_logits(z, [1, 0], reduction="none")
        assert losses.dtype.name == dtype
        np.testing.assert_allclose(losses.numpy(), math.exp(-30.0), rtol=1e-6)

    def test_has_the_slope_of_its_gradient(self, rng: Generator) -> None:
        z = lg.Var("z", rng.standard_normal((3, 4)))
        t = lg.Var("t", rng.uniform(0.1, 0.9, (3, 4)))
        variables = {"z": z, "t": t}
        assert_gradients_hold(lambda: binary_cross_entropy_with_logits(z, t), variables, rng)
        v = rng.standard_normal((3, 4))

        def slope() -> lg.Tensor:
            return lg.sum(lg.grad(binary_cross_entropy_with_logits(z, t), z) * v)

        assert_gradients_hold(slope, variables, rng)

    @pytest.mark.parametrize("t", [0.0, 0.3, 1.0])
    def test_has_the_slope_of_sigmoid_at_zero(self, t: float) -> None:
        for zero in (0.0, -0.0):
            z = lg.asarray([zero], dtype="float64")
            g = lg.grad(binary_cross_entropy_with_logits(z, [t]), z)
            assert g.item() == pytest.approx(0.5 - t, abs=1e-15)
            assert lg.grad(g, z).item() == pytest.approx(0.25, rel=1e-15)

    def test_refuses_to_broadcast(self) -> None:
        message = (
            r"^binary_cross_entropy_with_logits: prediction and target must have the same "
            r"shape; got \(3, 1\) and \(3,\)"
        )
        with pytest.raises(errors.ShapeError, match=message):
            binary_cross_entropy_with_logits(lg.zeros((3, 1)), [1, 0, 1])

    def test_refuses_scores_that_are_not_floating(self) -> None:
        message = r"^binary_cross_entropy_with_logits: logits must be floating; got int64"
        with pytest.raises(errors.DTypeError, match=message):
            binary_cross_entropy_with_logits(lg.asarray([1, 2]), [0, 1])

    def test_refuses_another_reduction(self) -> None:
        with pytest.raises(ValueError, match=r"^reduction must be 'mean', 'sum' or 'none'"):
            binary_cross_entropy_with_logits(lg.zeros((2,)), [0, 1], reduction="max")
