"""RMS norm and batch norm: values, slopes, and statistics that move with the step."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray

import lazygraph as lg
from lazygraph import errors
from tests.training.differences import assert_gradients_hold
from training import SGD, BatchNorm, Linear, Module, RMSNorm, Sequential, TrainingLoop, train

F64: dict[str, Any] = {"dtype": lg.float64}
Array = NDArray[Any]


def shake(module: Module, rng: Generator) -> dict[str, lg.Var]:
    for var in module.parameters().values():
        var.assign(rng.standard_normal(var.shape))
    return module.parameters()


class TestRMSNorm:
    @pytest.mark.parametrize("shape", [(3, 5, 4), (1, 4), (4,)])
    def test_computes_what_plain_numpy_does(
        self, shape: tuple[int, ...], rng: Generator
    ) -> None:
        layer = RMSNorm(4, eps=0.3, **F64)
        weight = shake(layer, rng)["weight"].numpy()
        x = rng.standard_normal(shape)
        expected = x / np.sqrt((x * x).mean(-1, keepdims=True) + 0.3) * weight
        np.testing.assert_allclose(layer(x).numpy(), expected, rtol=1e-13)

    def test_has_the_slope_of_its_gradients(self, rng: Generator) -> None:
        layer = RMSNorm(4, **F64)
        x = lg.Var("x", rng.standard_normal((2, 3, 4)))
        upstream = rng.standard_normal((2, 3, 4))
        variables = {**shake(layer, rng), "x": x}
        assert_gradients_hold(lambda: lg.sum(layer(x) * upstream), variables, rng)

    def test_of_zeros_is_zero_with_a_finite_slope(self) -> None:
        x = lg.zeros((2, 3))
        y = lg.rms_norm(x, eps=1e-4)
        assert not y.numpy().any()
        np.testing.assert_allclose(lg.sum(y).backward()[x].numpy(), 100.0, rtol=1e-6)

    def test_refuses_another_width(self) -> None:
        message = r"^RMSNorm: x must have the shape \(\.\.\., 3\); got \(2, 4\)"
        with pytest.raises(errors.ShapeError, match=message):
            RMSNorm(3)(lg.ones((2, 4)))


def normalized(x: Array, mean: Array, variance: Array, state: dict[str, Array]) -> Array:
    shape = (-1, *[1] * (x.ndim - 2))
    y: Array = (x - mean.reshape(shape)) / np.sqrt(variance.reshape(shape) + 1e-5)
    return y * state["weight"].reshape(shape) + state["bias"].reshape(shape)


def taken_over(module: Module) -> None:
    for var, value in module.updates():
        var.assign(value)


@pytest.mark.parametrize("shape", [(5, 3), (4, 3, 6), (2, 3, 4, 5), (1, 3, 2)])
class TestBatchNorm:
    def test_uses_the_batch_in_training(self, shape: tuple[int, ...], rng: Generator) -> None:
        layer = BatchNorm(3, **F64)
        shake(layer, rng)
        x = rng.standard_normal(shape) * 3.0 + 5.0
        axes = (0, *range(2, x.ndim))
        expected = normalized(x, x.mean(axes), x.var(axes), layer.state_dict())
        np.testing.assert_allclose(layer(x).numpy(), expected, rtol=1e-12, atol=1e-13)

    def test_uses_running_statistics_after_eval(
        self, shape: tuple[int, ...], rng: Generator
    ) -> None:
        layer = BatchNorm(3, momentum=0.25, **F64)
        shake(layer, rng)
        mean, variance = np.zeros(3), np.ones(3)
        for _ in range(3):
            x = rng.standard_normal(shape) * 2.0 + 1.0
            axes = (0, *range(2, x.ndim))
            layer(x)
            taken_over(layer)
            mean = 0.75 * mean + 0.25 * x.mean(axes)
            variance = 0.75 * variance + 0.25 * x.var(axes, ddof=1)
        np.testing.assert_allclose(layer.running_mean.numpy(), mean, rtol=1e-13)
        np.testing.assert_allclose(layer.running_var.numpy(), variance, rtol=1e-13)
        expected = normalized(x, mean, variance, layer.state_dict())
        np.testing.assert_allclose(layer.eval()(x).numpy(), expected, rtol=1e-12)
        assert layer.updates() == []

    def test_has_the_slope_of_its_gradients(
        self, shape: tuple[int, ...], rng: Generator
    ) -> None:
        layer = BatchNorm(3, **F64)
        x = lg.Var("x", rng.standard_normal(shape))
        upstream = rng.standard_normal(shape)
        variables = {**shake(layer, rng), "x": x}

        def loss() -> lg.Tensor:
            y = layer(x)
            layer.updates()
            return lg.sum(lg.square(y) * upstream)

        assert_gradients_hold(loss, variables, rng)
        layer.eval()
        assert_gradients_hold(loss, variables, rng)


class TestRunningStatistics:
    def model(self) -> tuple[Sequential, BatchNorm]:
        norm = BatchNorm(2, momentum=0.5)
        return Sequential(Linear(1, 2), norm, Linear(2, 1)), norm

    X = np.array([[1.0], [3.0], [4.0]], np.float32)

    def test_are_no_parameters_but_part_of_the_state(self) -> None:
        model, norm = self.model()
        assert list(model.buffers()) == ["layers.1.running_mean", "layers.1.running_var"]
        assert not set(model.parameters()) & set(model.buffers())
        assert set(model.state_dict()) == {*model.parameters(), *model.buffers()}
        assert norm.running_var.name == "layers.1.running_var"
        other, other_norm = self.model()
        taken = {**model.state_dict(), "layers.1.running_mean": np.array([7.0, 8.0])}
        other.load_state_dict(taken)
        assert other_norm.running_mean.numpy().tolist() == [7.0, 8.0]
        del taken["layers.1.running_var"]
        message = "^a state must fit its model; missing: layers.1.running_var$"
        with pytest.raises(errors.CheckpointError, match=message):
            other.load_state_dict(taken)

    def test_move_with_the_step_in_its_one_realization(self) -> None:
        model, norm = self.model()
        optimizer = SGD(model.parameters(), lr=0.1)
        loop = TrainingLoop()
        outputs = []
        for _ in range(3):
            before, old = lg.stats(), norm.running_mean.numpy()
            hidden = model.layers[0](self.X).numpy()
            counted = lg.stats().realizations - before.realizations
            outcome = loop.step(
                lg.sum(lg.square(model(self.X))), optimizer, assign=model.updates()
            )
            outputs.append(outcome.loss)
            assert lg.stats().realizations - before.realizations == counted + 1
            expected = 0.5 * old + 0.5 * hidden.mean(0)
            np.testing.assert_allclose(norm.running_mean.numpy(), expected, rtol=1e-6)
            assert outcome.missing == ()
        assert norm.running_mean.version == norm.running_var.version == 3
        before = lg.stats()
        loop.step(lg.sum(lg.square(model(self.X))), optimizer, assign=model.updates())
        assert lg.stats().plans_built == before.plans_built

    def test_are_handed_out_once(self) -> None:
        model, norm = self.model()
        model(self.X)
        first = model.updates()
        assert [var for var, _ in first if var is norm.running_mean] == [norm.running_mean]
        assert len(first) == 2
        assert model.updates() == []

    def test_of_two_runs_in_a_step_follow_each_other(self) -> None:
        norm = BatchNorm(1, momentum=0.5)
        norm(np.array([[2.0], [6.0]], np.float32))
        norm(np.array([[0.0], [4.0]], np.float32))
        taken_over(norm)
        assert norm.running_mean.numpy().tolist() == [0.5 * (0.5 * 4.0) + 0.5 * 2.0]
        assert norm.running_var.numpy().tolist() == [0.5 * (0.5 + 0.5 * 8.0) + 0.5 * 8.0]

    def test_stay_where_a_step_is_skipped_or_refused(self) -> None:
        for policy in ("skip", "raise"):
            model, norm = self.model()
            optimizer, loop = SGD(model.parameters(), lr=0.1), TrainingLoop(nonfinite=policy)
            start = {name: x.tobytes() for name, x in model.state_dict().items()}
            loss = lg.sum(model(np.full((3, 1), np.inf, np.float32)))
            if policy == "raise":
                with pytest.raises(errors.NonFiniteError):
                    loop.step(loss, optimizer, assign=model.updates())
            else:
                assert loop.step(loss, optimizer, assign=model.updates()).skipped
            assert {name: x.tobytes() for name, x in model.state_dict().items()} == start
            assert norm.running_mean.version == 0

    def test_move_with_each_micro_batch(self) -> None:
        model, norm = self.model()
        optimizer, loop = SGD(model.parameters(), lr=0.1), TrainingLoop(accumulate=2)
        for version in (1, 2):
            loop.step(lg.sum(model(self.X)), optimizer, assign=model.updates())
            assert norm.running_mean.version == version
        assert model.layers[0].weight.version == 1  # type: ignore[attr-defined]

    def test_are_taken_over_by_the_plain_loop(self) -> None:
        model, norm = self.model()

        class Fit(Module):
            def __init__(self) -> None:
                self.model = model

            def forward(self, x: Any, y: Any) -> tuple[lg.Tensor, lg.Tensor]:
                outputs = self.model(x)
                return outputs, lg.mean(lg.square(outputs - y))

        fit = Fit()
        train(fit, SGD(fit.parameters(), lr=0.1), lambda n: (self.X, self.X), 4)
        assert norm.running_mean.version == 4

    def test_that_nobody_takes_over_are_an_error_before_they_fill_the_memory(self) -> None:
        model, _ = self.model()
        for _ in range(64):
            model(self.X)
        message = (
            r"^BatchNorm layers\.1: statistics must be taken over, by `loop\.step\(\.\.\., "
            r"assign=model\.updates\(\)\)`; got 64 runs since the last time$"
        )
        with pytest.raises(RuntimeError, match=message):
            model(self.X)
        model.updates()
        model(self.X)
        assert len(model.updates()) == 2

    def test_go_along_into_copies(self, rng: Generator) -> None:
        model, norm = self.model()
        norm.running_mean.assign(rng.standard_normal(2))
        model(self.X)
        for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            assert twin.state_dict()["layers.1.running_mean"].tolist() == (
                norm.running_mean.numpy().tolist()
            )
            pairs = twin.updates()
            assert [var.name for var, _ in pairs] == list(twin.buffers())
            assert not any(var is norm.running_mean for var, _ in pairs)

    def test_refuse_a_step_that_would_move_a_parameter_twice(self) -> None:
        w = lg.Var("w", [1.0])
        message = r"^assign must not name a parameter of the optimizer; got Var\('w', "
        with pytest.raises(ValueError, match=message):
            TrainingLoop().step(lg.sum(w * w), SGD([w], lr=1.0), assign=[(w, w * 2.0)])
        v = lg.Var("v", [1.0, 2.0])
        message = r"^v: a next value must be float32\[2\]; got float32\[1\]$"
        with pytest.raises(errors.ShapeError, match=message):
            TrainingLoop().step(lg.sum(w * w), SGD([w], lr=1.0), assign=[(v, w * 2.0)])


class TestRefusals:
    @pytest.mark.parametrize("shape", [(3,), (2, 4), (2, 4, 3), ()])
    def test_another_shape(self, shape: tuple[int, ...]) -> None:
        message = r"^BatchNorm: x must have the shape \(batch, 3, \.\.\.\); got \("
        with pytest.raises(errors.ShapeError, match=message):
            BatchNorm(3)(lg.ones(shape))

    def test_a_single_element_a_channel(self) -> None:
        message = r"^BatchNorm: training needs two elements a channel; got \(1, 3\)"
        with pytest.raises(errors.ShapeError, match=message):
            BatchNorm(3)(lg.ones((1, 3)))
        assert BatchNorm(3).eval()(lg.zeros((1, 3))).tolist() == [[0.0, 0.0, 0.0]]

    @pytest.mark.parametrize("momentum", [-0.1, 1.5])
    def test_a_momentum_out_of_range(self, momentum: float) -> None:
        message = rf"^the momentum of BatchNorm must be in \[0, 1\]; got {momentum}$"
        with pytest.raises(ValueError, match=message):
            BatchNorm(3, momentum)
