"""The MLP: outputs and gradients against plain NumPy, losses, errors."""

from typing import Any

import numpy as np
import pytest
from numpy.random import Generator

import lazygraph as lg
from lazygraph import errors
from tests.training import reference
from tests.training.differences import assert_gradients_hold
from training.losses import mse_loss
from training.models import MLP


@pytest.mark.parametrize("activation", [lg.relu, lg.tanh, lg.gelu])
def test_the_mlp_computes_what_plain_numpy_does(activation: Any, rng: Generator) -> None:
    model = MLP((3, 5, 4, 2), activation, seed=1, dtype=lg.float64)
    plain: dict[Any, Any] = {
        lg.relu: lambda x: np.maximum(x, 0),
        lg.tanh: np.tanh,
        lg.gelu: reference.gelu,
    }
    x = y = rng.standard_normal((7, 3))
    for i in range(3):
        y = reference.linear(reference.below(model.state_dict(), f"layers.{i}"), y)
        y = plain[activation](y) if i < 2 else y
    np.testing.assert_allclose(model(x).numpy(), y, rtol=1e-12, atol=1e-14)


def test_the_mlp_has_the_slope_of_its_gradients(rng: Generator) -> None:
    model = MLP((3, 5, 4), lg.tanh, dtype=lg.float64)
    x, targets = rng.standard_normal((7, 3)), rng.integers(0, 4, 7)
    assert_gradients_hold(lambda: model(x, targets)[1], model.parameters(), rng)


def test_the_mlp_has_the_loss_that_it_is_given(rng: Generator) -> None:
    model = MLP((3, 4), loss=mse_loss)
    x = rng.standard_normal((7, 3)).astype(np.float32)
    outputs, loss = model(x, np.zeros((7, 4), np.float32))
    assert loss.item() == pytest.approx((outputs.numpy() ** 2).mean(), rel=1e-6)


def test_the_mlp_has_paths_and_repeats_with_its_seed() -> None:
    first, again, other = MLP((3, 5, 2)), MLP((3, 5, 2)), MLP((3, 5, 2), seed=1)
    paths = [f"layers.{i}.{kind}" for i in range(2) for kind in ("weight", "bias")]
    assert list(first.parameters()) == paths
    for path, array in first.state_dict().items():
        assert array.tobytes() == again.state_dict()[path].tobytes()
        assert array.tobytes() != other.state_dict()[path].tobytes()


@pytest.mark.parametrize("sizes", [(), (3,), (3, 0)])
def test_the_mlp_needs_two_sizes(sizes: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"^an MLP needs two sizes or more, from 1 up; got \("):
        MLP(sizes)


def test_the_mlp_names_the_layer_that_does_not_fit() -> None:
    with pytest.raises(errors.ShapeError, match=r"^Linear layers\.0: x must have the shape"):
        MLP((3, 2))(lg.ones((4, 5)))
