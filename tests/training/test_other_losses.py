"""The Huber loss and the divergence of distributions: closed forms, kinks, what is refused."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator

import lazygraph as lg
from lazygraph import errors
from tests.training.differences import assert_gradients_hold
from training import huber_loss, kl_divergence, mse_loss

LN2 = math.log(2.0)


class TestHuber:
    def test_is_half_the_square_near_zero_and_a_line_far_out(self) -> None:
        distances = np.array([-5.0, -2.0, -1.0, 0.0, 0.5, 2.0, 1e30])
        losses = huber_loss(lg.asarray(distances), np.zeros(7), delta=2.0, reduction="none")
        expected = [2.0 * 4.0, 2.0, 0.5, 0.0, 0.125, 2.0, 2e30]
        np.testing.assert_allclose(losses.numpy(), expected, rtol=1e-15)

    def test_has_a_gradient_that_no_outlier_exceeds(self) -> None:
        x = lg.asarray([-1e20, -2.0, -0.5, 0.0, 2.0, 1e20])
        loss = huber_loss(x, lg.zeros((6,)), delta=2.0, reduction="sum")
        assert loss.backward()[x].tolist() == [-2.0, -2.0, -0.5, 0.0, 2.0, 2.0]

    def test_within_delta_is_half_the_squared_error(self, rng: Generator) -> None:
        x, target = rng.standard_normal((3, 4)), rng.standard_normal((3, 4))
        loss = huber_loss(lg.asarray(x), target, delta=100.0).item()
        assert loss == pytest.approx(mse_loss(lg.asarray(x), target).item() / 2, rel=1e-14)

    def test_has_the_slope_of_its_gradient(self, rng: Generator) -> None:
        x = lg.Var("x", 2.0 * rng.standard_normal((4, 3)))
        target = lg.Var("target", rng.standard_normal((4, 3)))
        variables = {"x": x, "target": target}
        assert_gradients_hold(lambda: huber_loss(x, target, delta=0.7), variables, rng)
        curvature = lg.grad(lg.sum(lg.grad(huber_loss(x, target, reduction="sum"), x)), x)
        near = np.abs(x.numpy() - target.numpy()) < 1.0
        assert curvature.tolist() == near.astype(float).tolist()

    @pytest.mark.parametrize("delta", [0.0, -1.0, math.inf, math.nan])
    def test_refuses_a_delta_out_of_range(self, delta: float) -> None:
        with pytest.raises(
            ValueError, match=rf"^delta must be above 0 and finite; got {delta}$"
        ):
            huber_loss(lg.zeros((2,)), lg.zeros((2,)), delta=delta)

    def test_refuses_to_broadcast(self) -> None:
        message = (
            r"^huber_loss: prediction and target must have the same shape; got \(2, 1\) an"
        )
        with pytest.raises(errors.ShapeError, match=message):
            huber_loss(lg.zeros((2, 1)), lg.zeros((2,)))


class TestDivergence:
    def test_is_what_the_definition_says(self, rng: Generator) -> None:
        p, q = rng.dirichlet(np.ones(4), (2, 3)), rng.dirichlet(np.ones(4), (2, 3))
        expected = (p * np.log(p / q)).sum(-1)
        log_q = lg.asarray(np.log(q))
        for target, options in ((p, {}), (np.log(p), {"log_target": True})):
            for reduction, wanted in (
                ("none", expected),
                ("sum", expected.sum()),
                ("mean", expected.mean()),
            ):
                found = kl_divergence(log_q, target, reduction=reduction, **options)
                np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12)

    def test_of_equal_distributions_is_zero(self, rng: Generator) -> None:
        z = lg.asarray(rng.standard_normal((3, 5)))
        loss = kl_divergence(lg.log_softmax(z), lg.log_softmax(z), log_target=True)
        assert loss.item() == 0.0

    @pytest.mark.parametrize(
        "target", [([0.0, 1.0], {}), ([-math.inf, 0.0], {"log_target": True})]
    )
    def test_asks_nothing_of_a_class_that_does_not_occur(self, target: Any) -> None:
        values, options = target
        for log_q in ([-LN2, -LN2], [-math.inf, -LN2]):
            x = lg.asarray([log_q])
            loss = kl_divergence(x, lg.asarray([values]), **options)
            assert loss.item() == pytest.approx(LN2, rel=1e-6)
            assert loss.backward()[x].tolist() == [[0.0, -1.0]]

    def test_of_what_was_ruled_out_but_occurs_is_infinite(self) -> None:
        x = lg.asarray([[-math.inf, 0.0]])
        assert kl_divergence(x, lg.asarray([[0.5, 0.5]])).item() == math.inf

    @pytest.mark.parametrize("log_target", [False, True])
    def test_has_the_slope_of_its_gradient(self, log_target: bool, rng: Generator) -> None:
        z = lg.Var("z", rng.standard_normal((3, 4)))
        t = lg.Var("t", rng.standard_normal((3, 4)))

        def loss() -> lg.Tensor:
            target = lg.log_softmax(t) if log_target else lg.softmax(t)
            return kl_divergence(lg.log_softmax(z), target, log_target=log_target)

        assert_gradients_hold(loss, {"z": z, "t": t}, rng)

    def test_refuses_other_shapes(self) -> None:
        message = (
            r"^kl_divergence: prediction and target must have the same shape; got \(2,\) a"
        )
        with pytest.raises(errors.ShapeError, match=message):
            kl_divergence(lg.zeros((2,)), lg.zeros((3,)))
        message = (
            r"^kl_divergence: prediction and target need an axis of classes; got shape \(\)"
        )
        with pytest.raises(errors.ShapeError, match=message):
            kl_divergence(lg.zeros(()), lg.zeros(()))
