"""Layers for images and the network of them: first values, slopes, and what is refused."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator

import lazygraph as lg
import training
from lazygraph import errors
from tests.training.differences import assert_gradients_hold
from training import AvgPool2d, Conv2d, ConvNet, Flatten, MaxPool2d, Sequential

F64: dict[str, Any] = {"dtype": lg.float64}


@pytest.mark.parametrize(
    "layer",
    [
        Conv2d(2, 3, 3, **F64),
        Conv2d(2, 3, (2, 3), stride=(2, 1), padding=1, bias=False, **F64),
        Sequential(Conv2d(2, 3, 2, padding=1, **F64), lg.tanh, Conv2d(3, 2, 2, **F64)),
        Sequential(MaxPool2d(2), Flatten()),
        Sequential(MaxPool2d(3, stride=1, padding=1, ceil_mode=True), AvgPool2d(2)),
        AvgPool2d(3, stride=2, padding=1, count_include_pad=False),
    ],
    ids=["conv", "strided conv", "two convs", "max", "max and average", "average"],
)
def test_a_layer_has_the_slope_of_its_gradients(layer: Any, rng: Generator) -> None:
    x = lg.Var("x", rng.standard_normal((2, 2, 6, 7)))
    upstream = rng.standard_normal(layer(x).shape)
    variables = {**layer.parameters(), "x": x}
    assert_gradients_hold(lambda: lg.sum(lg.square(layer(x)) * upstream), variables, rng)


def test_layers_do_what_the_functions_do(rng: Generator) -> None:
    x = rng.standard_normal((2, 3, 8, 8)).astype(np.float32)
    conv = Conv2d(3, 4, 3, stride=2, padding=1)
    expected = lg.conv2d(x, conv.weight, conv.bias, stride=2, padding=1)
    assert conv(x).tolist() == expected.tolist()
    pooled = lg.max_pool2d(x, 3, stride=2, padding=1, ceil_mode=True)
    assert MaxPool2d(3, 2, 1, ceil_mode=True)(x).tolist() == pooled.tolist()
    mean = lg.avg_pool2d(x, 3, stride=2, padding=1, count_include_pad=False)
    assert AvgPool2d(3, 2, 1, count_include_pad=False)(x).tolist() == mean.tolist()
    assert Flatten()(x).tolist() == x.reshape(2, -1).tolist()


def test_a_convolution_begins_with_even_draws_below_one_over_the_root_of_its_inputs() -> None:
    layer = Conv2d(8, 300, (2, 4), generator=lg.random.Generator(0))
    shapes = {path: var.shape for path, var in layer.parameters().items()}
    assert shapes == {"weight": (300, 8, 2, 4), "bias": (300,)}
    for var in layer.parameters().values():
        assert 0.12 < np.abs(var.numpy()).max() <= 0.125
        assert var.numpy().std() == pytest.approx(0.125 / math.sqrt(3), rel=0.06)


def test_a_convolution_has_the_first_values_it_is_given() -> None:
    layer = Conv2d(
        1, 2, 2, weight_init=training.initial.ones, bias_init=training.initial.zeros, **F64
    )
    assert layer(np.ones((1, 1, 2, 2))).tolist() == [[[[4.0]], [[4.0]]]]
    assert list(Conv2d(1, 2, 2, bias=False).parameters()) == ["weight"]


def test_a_layer_names_itself_and_its_path() -> None:
    model = Sequential(Conv2d(1, 4, 3), lg.relu, Conv2d(5, 2, 3))
    with pytest.raises(errors.ShapeError) as caught:
        model(lg.ones((7, 1, 8, 8)))
    assert str(caught.value) == (
        "Conv2d layers.2: x must have the shape (batch, 5, height, width); got (7, 4, 6, 6)"
    )
    assert caught.value.__notes__[0].startswith("  float32[7, 4, 6, 6] built at ")
    for layer in (MaxPool2d(2), AvgPool2d(2)):
        message = (
            rf"^{type(layer).__name__}: x must have the shape \(batch, channels, height, w"
        )
        with pytest.raises(errors.ShapeError, match=message):
            layer(lg.ones((3, 4, 4)))
    with pytest.raises(
        errors.ShapeError, match=r"^Flatten: x must have the shape \(batch, \.\."
    ):
        Flatten()(2.0)


class TestConvNet:
    def test_is_the_network_of_its_parts(self, rng: Generator) -> None:
        model = ConvNet(2, (9, 8), classes=3, widths=(3, 4), hidden=5, seed=1, **F64)
        p = model.parameters()
        x = rng.standard_normal((6, 2, 9, 8))
        y: Any = x
        for i in range(2):
            y = lg.conv2d(y, *(p[f"convolutions.{i}.{part}"] for part in ("weight", "bias")))
            y = lg.relu(y)
        y = lg.reshape(lg.max_pool2d(y, 2), (6, 16))
        y = lg.relu(y @ p["hidden.weight"] + p["hidden.bias"])
        y = y @ p["output.weight"] + p["output.bias"]
        assert model(x).tolist() == y.tolist()

    def test_has_the_slope_of_its_gradients(self, rng: Generator) -> None:
        model = ConvNet(1, 8, classes=3, widths=(2, 3), hidden=4, activation=lg.tanh, **F64)
        x, labels = rng.standard_normal((3, 1, 8, 8)), rng.integers(0, 3, 3)
        assert_gradients_hold(lambda: model(x, labels)[1], model.parameters(), rng)

    def test_repeats_with_its_seed(self) -> None:
        made: dict[str, Any] = {"widths": (2,), "hidden": 3}
        first, again, other = (ConvNet(seed=seed, **made) for seed in (0, 0, 1))
        for path, array in first.state_dict().items():
            assert array.tobytes() == again.state_dict()[path].tobytes()
            assert array.tobytes() != other.state_dict()[path].tobytes()

    def test_has_the_loss_that_it_is_given(self, rng: Generator) -> None:
        model = ConvNet(widths=(2,), hidden=3, classes=2, loss=training.mse_loss)
        x = rng.standard_normal((4, 1, 28, 28)).astype(np.float32)
        scores, loss = model(x, np.zeros((4, 2), np.float32))
        assert loss.item() == pytest.approx((scores.numpy() ** 2).mean(), rel=1e-6)

    def test_learns_which_half_is_bright(self) -> None:
        rng = np.random.default_rng(0)
        x = 0.1 * rng.standard_normal((32, 1, 8, 8)).astype(np.float32)
        labels = np.arange(32) % 2
        x[labels == 0, :, :4] += 1.0
        x[labels == 1, :, 4:] += 1.0
        model = ConvNet(1, 8, classes=2, widths=(4,), hidden=8)
        losses = training.train(
            model, training.AdamW(model.parameters(), lr=0.01), lambda n: (x, labels), 30
        )
        assert losses[0] > 0.6
        assert losses[-1] < 0.02

    def test_realizes_once_a_step_and_builds_one_plan(self, rng: Generator) -> None:
        model = ConvNet(1, 8, classes=2, widths=(2,), hidden=3)
        optimizer = training.AdamW(model.parameters())
        loop = training.TrainingLoop(max_grad_norm=1.0)
        x = rng.standard_normal((4, 1, 8, 8)).astype(np.float32)
        loop.step(model(x, [0, 1, 0, 1])[1], optimizer)
        before = lg.stats()
        loop.step(model(x, [1, 1, 0, 1])[1], optimizer)
        after = lg.stats()
        assert after.realizations - before.realizations == 1
        assert after.plans_built == before.plans_built

    def test_refuses_images_that_are_too_small(self) -> None:
        assert ConvNet(size=6, hidden=3, widths=(2, 2)).hidden.weight.shape == (2, 3)
        message = (
            r"^the images of a ConvNet must be large enough for 2 windows of 3 and one of 2; "
            r"got \(5, 6\)$"
        )
        with pytest.raises(ValueError, match=message):
            ConvNet(size=(5, 6))

    @pytest.mark.parametrize("wrong", [{"channels": 0}, {"widths": (4, 0)}, {"pool": -1}])
    def test_refuses_numbers_below_one(self, wrong: dict[str, Any]) -> None:
        with pytest.raises(
            ValueError, match=r"^each number of a ConvNet must be at least 1; g"
        ):
            ConvNet(**wrong)
