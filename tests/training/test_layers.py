"""Layers: values and slopes against plain NumPy in float64, dropout, and what is refused."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator

import lazygraph as lg
from lazygraph import errors
from tests.training import reference
from tests.training.differences import assert_gradients_hold
from training import SGD, TrainingLoop
from training.layers import Dropout, Embedding, LayerNorm, Linear, Sequential
from training.module import Module
from training.transformer import Block, CausalSelfAttention, FeedForward


def shake(module: Module, rng: Generator) -> dict[str, lg.Var]:
    """Give all parameters values of size 1, biases and scales too; returns them."""
    for var in module.parameters().values():
        var.assign(rng.standard_normal(var.shape))
    return module.parameters()


F64: dict[str, Any] = {"dtype": lg.float64}
LAYERS: dict[str, tuple[Module, Any]] = {
    "linear": (Linear(4, 6, **F64), reference.linear),
    "linear without bias": (Linear(4, 6, bias=False, **F64), reference.linear),
    "layer norm": (LayerNorm(4, **F64), reference.layer_norm),
    "layer norm without bias": (LayerNorm(4, bias=False, **F64), reference.layer_norm),
    "attention": (
        CausalSelfAttention(4, heads=2, **F64),
        lambda state, x: reference.attention(state, x, heads=2),
    ),
    "attention of one head without bias": (
        CausalSelfAttention(4, heads=1, bias=False, **F64),
        lambda state, x: reference.attention(state, x, heads=1),
    ),
    "feed forward": (FeedForward(4, 7, **F64), reference.feed_forward),
    "block": (Block(4, heads=2, **F64), lambda state, x: reference.block(state, x, heads=2)),
    "block without bias": (
        Block(4, heads=4, bias=False, **F64),
        lambda state, x: reference.block(state, x, heads=4),
    ),
}


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("shape", [(3, 5, 4), (5, 4), (2, 1, 3, 4), (1, 4)])
def test_a_layer_computes_what_plain_numpy_does(
    name: str, shape: tuple[int, ...], rng: Generator
) -> None:
    layer, expected = LAYERS[name]
    shake(layer, rng)
    x = rng.standard_normal(shape)
    y = layer(x)
    assert y.dtype is lg.float64
    np.testing.assert_allclose(y.numpy(), expected(layer.state_dict(), x), 1e-11, 1e-13)


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_has_the_slope_of_its_gradients(name: str, rng: Generator) -> None:
    layer, _ = LAYERS[name]
    x = lg.Var("x", rng.standard_normal((2, 5, 4)))
    variables = {**shake(layer, rng), "x": x}
    upstream = rng.standard_normal(layer(x).shape)
    assert_gradients_hold(lambda: lg.sum(layer(x) * upstream), variables, rng)


class TestLinear:
    def test_takes_a_single_row(self) -> None:
        layer = Linear(2, 3)
        layer.load_state_dict({"weight": [[1, 2, 3], [4, 5, 6]], "bias": [0, 0, 1]})
        assert layer(np.array([1.0, 2.0], np.float32)).tolist() == [9.0, 12.0, 16.0]

    def test_begins_with_even_draws_below_one_over_the_root_of_its_inputs(self) -> None:
        layer = Linear(64, 500, generator=lg.random.Generator(0))
        for var in layer.parameters().values():
            assert 0.12 < np.abs(var.numpy()).max() <= 0.125
            assert var.numpy().std() == pytest.approx(0.125 / math.sqrt(3), rel=0.05)

    def test_draws_from_the_generator_that_it_is_given_or_from_the_default_one(self) -> None:
        def weights(**given: Any) -> list[float]:
            return Linear(3, 2, **given).weight.numpy().ravel().tolist()

        assert weights(generator=lg.random.Generator(5)) == weights(
            generator=lg.random.Generator(5)
        )
        lg.random.seed(5)
        first, second = weights(), weights()
        lg.random.seed(5)
        assert first == weights() == weights(generator=lg.random.Generator(5)) != second

    def test_names_itself_its_path_and_the_line_of_an_operand_of_another_width(self) -> None:
        model = Sequential(Linear(3, 4), lg.relu, Linear(5, 2))
        with pytest.raises(errors.ShapeError) as caught:
            model(lg.ones((7, 3)))
        message = "Linear layers.2: x must have the shape (..., 5); got (7, 4)"
        assert str(caught.value) == message
        assert caught.value.__notes__[0].startswith("  float32[7, 4] built at ")
        with pytest.raises(
            errors.ShapeError, match=r"^Linear: x must .* \(\.\.\., 3\); got \(\)"
        ):
            Linear(3, 4)(2.0)


class TestEmbedding:
    def test_looks_rows_up_and_sums_the_gradients_of_each(self) -> None:
        # With rows of two numbers.
        table = Embedding(3, 2)
        table.load_state_dict({"weight": [[1, 2], [3, 4], [5, 6]]})
        y = table(np.array([[2, 0], [2, 2]], np.uint8))
        assert y.tolist() == [[[5.0, 6.0], [1.0, 2.0]], [[5.0, 6.0], [5.0, 6.0]]]
        weights = np.array([[[1, 10], [2, 20]], [[3, 30], [4, 40]]], np.float32)
        gradient = lg.sum(y * weights).backward()[table.weight]
        assert gradient.tolist() == [[2.0, 20.0], [0.0, 0.0], [8.0, 80.0]]

    def test_begins_with_normal_draws(self) -> None:
        values = Embedding(300, 200, generator=lg.random.Generator(0)).weight.numpy()
        assert abs(values.mean()) < 0.02
        assert values.std() == pytest.approx(1.0, rel=0.01)

    @pytest.mark.parametrize("token", [3, 7, -1, -3])
    def test_refuses_a_token_that_has_no_row(self, token: int) -> None:
        # Neither zeros nor the last row.
        rows = Embedding(3, 2)([1, token])
        message = f"^index {token} is out of bounds for axis 0 with size 3, where none may be"
        with pytest.raises(errors.BoundsError, match=message):
            rows.numpy()

    def test_refuses_tokens_that_are_not_integers(self) -> None:
        message = r"^Embedding: tokens must be integers; got float32"
        with pytest.raises(errors.DTypeError, match=message):
            Embedding(3, 2)([1.0])


class TestLayerNorm:
    def test_begins_as_the_plain_norm(self, rng: Generator) -> None:
        y = LayerNorm(50)(rng.standard_normal((3, 50)).astype(np.float32)).numpy()
        np.testing.assert_allclose(y.mean(-1), np.zeros(3), atol=1e-6)
        np.testing.assert_allclose(y.std(-1), np.ones(3), rtol=1e-4)

    def test_of_equal_numbers_is_the_bias(self) -> None:
        layer = LayerNorm(3)
        layer.load_state_dict({"weight": [5, 5, 5], "bias": [1, 2, 3]})
        assert layer(lg.full((2, 3), 7.0)).tolist() == [[1.0, 2.0, 3.0]] * 2

    def test_refuses_another_width(self) -> None:
        with pytest.raises(
            errors.ShapeError, match=r"^LayerNorm: x must have the shape \(\.\.\., 3"
        ):
            LayerNorm(3)(lg.ones((3, 1)))


class TestDropout:
    X = lg.ones((64,))

    def masks(self, seed: int, steps: int, evaluations: int = 0) -> list[tuple[bool, ...]]:
        """The masks of training steps of a model, and that many evaluations between them."""
        dropout = Dropout(0.5, lg.random.Generator(seed))
        weight = lg.Var("weight", np.ones(64, np.float32))
        optimizer, loop = SGD([weight], lr=1.0), TrainingLoop()
        found = []
        for _ in range(steps):
            before = weight.numpy()
            loop.step(lg.sum(dropout.train()(weight * self.X)), optimizer)
            found.append(tuple((before - weight.numpy() != 0.0).tolist()))
            for _ in range(evaluations):
                assert dropout.eval()(weight * self.X).tolist() == weight.numpy().tolist()
        return found

    def test_has_another_mask_in_every_step_and_the_same_ones_for_a_seed(self) -> None:
        first = self.masks(seed=3, steps=3)
        assert len(set(first)) == 3
        assert all(16 < sum(mask) < 48 for mask in first)
        assert self.masks(seed=3, steps=3) == first
        assert not set(self.masks(seed=4, steps=3)) & set(first)

    def test_draws_nothing_in_use(self) -> None:
        # How often one evaluates does not change the training.
        assert self.masks(3, 3, evaluations=2) == self.masks(3, 3)
        generator = lg.random.Generator(0)
        x = lg.ones((4,))
        assert Dropout(0.5, generator).eval()(x) is x
        assert Dropout(0.0, generator)(x) is x
        assert generator.state_dict()["counter"] == 0

    def test_builds_no_plan_for_another_mask(self) -> None:
        self.masks(seed=3, steps=2)
        before = lg.stats()
        self.masks(seed=5, steps=4)
        assert lg.stats().plans_built == before.plans_built

    @pytest.mark.parametrize("p", [0.1, 0.5, 0.75])
    def test_keeps_a_share_of_the_elements_and_their_mean(self, p: float) -> None:
        y = Dropout(p, lg.random.Generator(0))(lg.ones((100_000,))).numpy()
        np.testing.assert_allclose(np.unique(y), [0.0, 1 / (1 - p)], rtol=1e-6)
        assert np.mean(y == 0.0) == pytest.approx(p, abs=0.005)
        assert y.mean() == pytest.approx(1.0, abs=0.02)

    def test_passes_the_gradient_through_its_mask(self) -> None:
        y = Dropout(0.5, lg.random.Generator(0))(self.X)
        assert lg.sum(y).backward()[self.X].tolist() == y.tolist()

    def test_hides_what_is_not_finite_where_it_drops(self) -> None:
        x = lg.asarray([np.nan, np.inf, 1.0])
        assert Dropout(1.0)(x).tolist() == [0.0, 0.0, 0.0]
        assert lg.sum(Dropout(1.0)(x)).backward()[x].tolist() == [0.0, 0.0, 0.0]

    def test_is_one_value_however_it_is_computed(self) -> None:
        y = Dropout(0.5, lg.random.Generator(0))(self.X)
        a, b = y + 0.0, y * 1.0
        assert b.tolist() == a.tolist() == y.tolist()

    def test_follows_the_default_generator(self) -> None:
        dropout = Dropout(0.5)
        lg.random.seed(8)
        first, second = dropout(self.X).tolist(), dropout(self.X).tolist()
        lg.random.seed(8)
        assert dropout(self.X).tolist() == first != second

    @pytest.mark.parametrize("p", [-0.1, 1.1, math.nan])
    def test_refuses_what_is_no_probability(self, p: float) -> None:
        message = rf"^the probability of dropout must be in \[0, 1\]; got {p}$"
        with pytest.raises(ValueError, match=message):
            Dropout(p)


class TestAttention:
    def test_does_not_look_ahead(self, rng: Generator) -> None:
        layer = CausalSelfAttention(4, heads=2)
        shake(layer, rng)
        x = rng.standard_normal((1, 6, 4)).astype(np.float32)
        later = x.copy()
        later[:, 4:] += 1.0
        first, second = layer(x).numpy(), layer(later).numpy()
        assert first[:, :4].tobytes() == second[:, :4].tobytes()
        assert (first[:, 4:] != second[:, 4:]).all()

    def test_with_dropout_is_the_same_composition(self, rng: Generator) -> None:
        # A probability that float32 cannot tell from 0 keeps everything.
        layer = CausalSelfAttention(4, heads=2, dropout=1e-12, **F64)
        shake(layer, rng)
        x = rng.standard_normal((2, 5, 4))
        np.testing.assert_allclose(layer(x).numpy(), layer.eval()(x).numpy(), rtol=1e-10)

    def test_drops_weights_and_results_in_training_only(self, rng: Generator) -> None:
        generator = lg.random.Generator(0)
        layer = CausalSelfAttention(4, heads=2, dropout=0.5, generator=generator)
        start = generator.state_dict()["counter"]
        x = lg.ones((1, 5, 4))
        assert layer(x).tolist() != layer(x).tolist()
        assert generator.state_dict()["counter"] == start + 4  # two masks a call
        assert layer.eval()(x).tolist() == layer(x).tolist()
        assert generator.state_dict()["counter"] == start + 4

    def test_refuses_heads_that_do_not_divide_the_width(self) -> None:
        for heads in (3, 0, -2):
            message = f"^the heads of attention must divide its width; got {heads} and 8$"
            with pytest.raises(ValueError, match=message):
                CausalSelfAttention(8, heads)

    @pytest.mark.parametrize("shape", [(4,), (2, 5), ()])
    def test_refuses_another_shape(self, shape: tuple[int, ...]) -> None:
        message = r"^CausalSelfAttention: x must have the shape \(\.\.\., time, 4\); got \("
        with pytest.raises(errors.ShapeError, match=message):
            CausalSelfAttention(4, heads=2)(lg.ones(shape))


def test_layers_in_a_row_are_applied_in_order() -> None:
    double = Linear(1, 1)
    double.load_state_dict({"weight": [[2.0]], "bias": [0.0]})
    model = Sequential(double, lambda x: x + 1.0, double)
    assert model(lg.asarray([3.0])).tolist() == [14.0]
    assert list(model.parameters()) == ["layers.0.weight", "layers.0.bias"]
    assert Sequential()(5) == 5
