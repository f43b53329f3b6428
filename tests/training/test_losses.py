"""Losses: closed forms, extreme scores, and what is refused."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator

import lazygraph as lg
from lazygraph import errors
from tests.training.differences import assert_gradients_hold
from training.losses import cross_entropy, mse_loss


class TestCrossEntropy:
    def test_has_the_closed_form_of_two_classes(self) -> None:
        for distance in (-3.0, 0.0, 0.5, 20.0):
            loss = cross_entropy(lg.asarray(np.array([[distance, 0.0]])), [0])
            assert loss.item() == pytest.approx(math.log1p(math.exp(-distance)), rel=1e-14)

    def test_of_even_scores_is_the_logarithm_of_the_number_of_classes(self) -> None:
        loss = cross_entropy(lg.full((2, 3, 7), 5.0, dtype="float64"), np.ones((2, 3), int))
        assert loss.shape == ()
        assert loss.item() == pytest.approx(math.log(7), rel=1e-15)

    def test_is_the_mean_over_all_targets(self, rng: Generator) -> None:
        scores = rng.standard_normal((2, 3, 5))
        targets = rng.integers(0, 5, (2, 3))
        share = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
        each = -np.log(np.take_along_axis(share, targets[..., None], -1)[..., 0])
        none = cross_entropy(lg.asarray(scores), targets, reduction="none")
        assert none.shape == (2, 3)
        np.testing.assert_allclose(none.numpy(), each, rtol=1e-13)
        total = cross_entropy(lg.asarray(scores), targets, reduction="sum")
        assert total.item() == pytest.approx(each.sum(), rel=1e-13)
        mean = cross_entropy(lg.asarray(scores), targets)
        assert mean.item() == pytest.approx(each.mean(), rel=1e-13)

    def test_has_the_gradient_softmax_minus_one_hot(self, rng: Generator) -> None:
        scores = lg.asarray(rng.standard_normal((4, 5)))
        targets = rng.integers(0, 5, 4)
        gradient = cross_entropy(scores, targets).backward()[scores].numpy()
        share = np.exp(scores.numpy())
        expected = (share / share.sum(-1, keepdims=True) - np.eye(5)[targets]) / 4
        np.testing.assert_allclose(gradient, expected, rtol=1e-13, atol=1e-16)

    def test_has_the_slope_of_its_gradient(self, rng: Generator) -> None:
        scores = lg.Var("scores", rng.standard_normal((3, 2, 4)))
        targets = rng.integers(0, 4, (3, 2))
        assert_gradients_hold(lambda: cross_entropy(scores, targets), {"scores": scores}, rng)

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_stays_finite_for_extreme_scores(self, dtype: str) -> None:
        scores = lg.asarray([[1e4, -1e4, 0.0], [-1e4, 1e4, 1e4]], dtype=dtype)
        losses = cross_entropy(scores, [1, 1], reduction="none")
        assert losses.tolist() == pytest.approx([2e4, math.log(2)], rel=1e-6)
        gradient = lg.sum(losses).backward()[scores]
        assert gradient.tolist() == [[1.0, -1.0, 0.0], [0.0, -0.5, 0.5]]

    def test_leaves_out_a_class_that_is_ruled_out(self) -> None:
        scores = lg.asarray([[0.0, -math.inf, 0.0]])
        loss = cross_entropy(scores, [2])
        assert loss.item() == pytest.approx(math.log(2), rel=1e-6)
        assert loss.backward()[scores].tolist() == [[0.5, 0.0, -0.5]]

    def test_keeps_the_dtype_of_the_scores(self) -> None:
        for dtype in (lg.float32, lg.float64):
            assert cross_entropy(lg.zeros((2, 3), dtype=dtype), [0, 2]).dtype is dtype

    @pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "int64", "uint64"])
    def test_takes_labels_of_every_integer_dtype(self, dtype: str) -> None:
        scores = lg.asarray([[0.0, 3.0], [4.0, 0.0]])
        loss = cross_entropy(scores, np.array([1, 0], dtype), reduction="none")
        expected = [math.log1p(math.exp(-3)), math.log1p(math.exp(-4))]
        assert loss.tolist() == pytest.approx(expected, rel=1e-5)

    @pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
    @pytest.mark.parametrize("label", [3, 100, -1, -3, -100])
    def test_refuses_a_label_that_is_no_class(self, label: int, dtype: str) -> None:
        # Counting from the end would train on another class, silently.
        loss = cross_entropy(lg.zeros((2, 3)), np.array([1, label], dtype))
        message = f"^index {label} is out of bounds for axis 1 with size 3, where none may be"
        with pytest.raises(errors.BoundsError, match=message):
            loss.item()

    @pytest.mark.parametrize("targets", [[1.0, 0.0], [True, False]])
    def test_refuses_labels_that_are_not_integers(self, targets: list[Any]) -> None:
        with pytest.raises(
            errors.DTypeError, match=r"^cross_entropy: targets must be integers; g"
        ):
            cross_entropy(lg.zeros((2, 3)), targets)

    def test_refuses_scores_that_are_not_floating(self) -> None:
        with pytest.raises(errors.DTypeError, match="logits must be floating; got int64"):
            cross_entropy(lg.asarray([[1, 2]]), [0])

    @pytest.mark.parametrize(("scores", "labels"), [((2, 3), (3,)), ((2, 3), (2, 1)), ((), ())])
    def test_refuses_shapes_that_do_not_fit(
        self, scores: tuple[int, ...], labels: tuple[int, ...]
    ) -> None:
        message = (
            "cross_entropy: logits must have the shape of the targets and one more axis; "
            f"got {scores} and {labels}"
        )
        with pytest.raises(errors.ShapeError) as caught:
            cross_entropy(lg.zeros(scores), np.zeros(labels, int))
        assert str(caught.value) == message
        assert [note.split(" built at ")[0] for note in caught.value.__notes__] == [
            f"  float32{list(scores)}",
            f"  int64{list(labels)}",
        ]

    def test_refuses_another_reduction(self) -> None:
        message = "^reduction must be 'mean', 'sum' or 'none'; got 'max'$"
        with pytest.raises(ValueError, match=message):
            cross_entropy(lg.zeros((2, 3)), [0, 1], reduction="max")


class TestSquaredError:
    def test_has_its_closed_form(self) -> None:
        prediction, target = lg.asarray([2.0, 4.0, 9.0]), lg.asarray([2.0, 5.0, 7.0])
        assert mse_loss(prediction, target).item() == pytest.approx(5 / 3, rel=1e-7)
        assert mse_loss(prediction, target, reduction="sum").item() == 5.0
        assert mse_loss(prediction, target, reduction="none").tolist() == [0.0, 1.0, 4.0]
        assert mse_loss(prediction, prediction).item() == 0.0

    def test_has_the_gradient_of_its_closed_form(self) -> None:
        prediction = lg.asarray([2.0, 4.0, 9.0, 1.0])
        target = np.array([2.0, 5.0, 7.0, 1.0], np.float32)
        gradient = mse_loss(prediction, target).backward()[prediction]
        assert gradient.tolist() == [0.0, -0.5, 1.0, 0.0]

    def test_has_the_slope_of_its_gradient(self, rng: Generator) -> None:
        prediction = lg.Var("prediction", rng.standard_normal((3, 2)))
        target = lg.Var("target", rng.standard_normal((3, 2)))
        variables = {"prediction": prediction, "target": target}
        assert_gradients_hold(lambda: mse_loss(prediction, target), variables, rng)

    def test_refuses_to_broadcast(self) -> None:
        # Silently, this would be 17.33 and training would find the mean.
        message = (
            "mse_loss: prediction and target must have the same shape; got (3, 1) and (3,)"
        )
        with pytest.raises(errors.ShapeError) as caught:
            mse_loss(lg.asarray([[2.0], [4.0], [9.0]]), lg.asarray([2.0, 4.0, 9.0]))
        assert str(caught.value) == message
        with pytest.raises(errors.ShapeError, match=r"got \(3,\) and \(\)"):
            mse_loss(lg.asarray([2.0, 4.0, 9.0]), 2.0)

    def test_refuses_another_reduction(self) -> None:
        with pytest.raises(ValueError, match=r"^reduction must be"):
            mse_loss(lg.ones((2,)), lg.ones((2,)), reduction="average")
