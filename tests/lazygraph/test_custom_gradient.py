"""Custom gradients: what they give, what a plan knows of them, what they refuse."""

import gc
import pickle
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import lazygraph as lg
from lazygraph import errors
from lazygraph.plan import cache
from tests.lazygraph.exactness import assert_same_bits

Scaled = Callable[..., lg.Tensor]


@dataclass(frozen=True)
class Settings:
    scale: float
    modes: tuple[str, ...] = ("a",)


def scaled_gradient(factor: Any) -> Scaled:
    """The identity, whose gradient is multiplied by what `factor` holds."""

    def forward(x: lg.Tensor) -> Any:
        return x * 1.0, lambda g: g * (factor[0] if isinstance(factor, list) else factor)

    return lg.custom_gradient(forward)


def gradient(function: Scaled, *data: Any) -> list[Any]:
    xs = [lg.asarray(x) for x in data]
    found = lg.grad(lg.sum(function(*xs)), xs)
    assert [g.node.spec for g in found] == [x.node.spec for x in xs]
    return [g.tolist() for g in found]


def derived(function: Scaled, data: Any, key: Any = None) -> tuple[Any, int]:
    """The gradient as a training step derives it, and how many plans were built."""
    x = lg.asarray(data)
    loss = lg.sum(function(x))
    found = lg.extend.scan([loss.node], through_remembered=True)
    before = lg.stats().plans_built
    values, _ = lg.extend.realize_derived(
        found, lambda _: ([loss.backward()[x]], None), [], ("gradient", key)
    )
    return values[0].tolist(), lg.stats().plans_built - before


class TestTheGradient:
    def test_is_that_of_the_pullback_and_not_that_of_the_ops(self) -> None:
        @lg.custom_gradient
        def square(x: lg.Tensor) -> Any:
            return x * x, lambda g: g * 100.0

        assert square(lg.asarray([3.0])).tolist() == [9.0]
        assert gradient(square, [3.0]) == [[100.0]]

    def test_has_a_share_for_each_tensor_and_none_for_other_arguments(self) -> None:
        @lg.custom_gradient
        def mixed(x: Any, power: int, y: Any, z: Any, *, shift: float) -> Any:
            return x**power + y + z + shift, lambda g: (g * power, None, g * shift)

        x, y, z = lg.asarray([2.0]), np.array([1.0], np.float32), lg.Var("z", [5.0])
        value = mixed(x, 3, y, z, shift=0.5)
        assert value.tolist() == [14.5]
        gradients = lg.sum(value).backward()
        assert (gradients[x].tolist(), gradients[z].tolist()) == ([3.0], [0.5])
        assert y is not None

    def test_takes_shares_that_broadcast_and_of_another_dtype(self) -> None:
        @lg.custom_gradient
        def spread(x: lg.Tensor, y: lg.Tensor) -> Any:
            return x + y, lambda g: (1.0, lg.astype(g, "float64"))

        assert gradient(spread, [[1.0], [2.0]], [1.0, 2.0, 3.0]) == [[[1.0]] * 2, [2.0] * 3]

    def test_has_a_gradient_of_its_own_through_what_it_closes_over(self) -> None:
        @lg.custom_gradient
        def exponential(x: lg.Tensor) -> Any:
            y = lg.exp(x)
            return y, lambda g: g * y

        x = lg.asarray([0.5, 1.0])
        first = lg.grad(lg.sum(exponential(x)), x)
        second = lg.grad(lg.sum(first), x)
        assert_same_bits(first, lg.exp(x))
        assert_same_bits(second, lg.exp(x))

    def test_is_checked_when_it_is_registered(self) -> None:
        def forward(x: lg.Tensor, y: lg.Tensor) -> Any:
            return x * y * y, lambda g: (g * y * y, g * x * y)

        lg.custom_gradient(lambda x, y: (x * y, lambda g: (g * y, g * x)), check=([2.0], 3.0))
        with pytest.raises(errors.GradientError, match=r"input 1 at \(1,\) must be .*; got "):
            lg.custom_gradient(check=([1.0, 4.0], [1.0, 2.0]))(forward)


class TestAPlan:
    def test_is_used_again_for_other_tensors(self, rng: np.random.Generator) -> None:
        def function(x: lg.Tensor, weight: lg.Tensor) -> lg.Tensor:
            @lg.custom_gradient
            def inner(x: lg.Tensor) -> Any:
                y = lg.sin(x)

                def pullback(g: lg.Tensor) -> lg.Tensor:
                    return g * y * weight

                return y, pullback

            return inner(x)

        plans = []
        for _ in range(3):
            a, b = rng.standard_normal((2, 4))
            before = lg.stats().plans_built
            x, weight = lg.asarray(a), lg.asarray(b)
            found = lg.grad(lg.sum(function(x, weight)), x).numpy()
            plans.append(lg.stats().plans_built - before)
            np.testing.assert_allclose(found, np.sin(a) * b, rtol=1e-14)
        assert plans == [1, 0, 0]

    @pytest.mark.parametrize(
        ("one", "other"),
        [(2.0, 3.0), (0.0, -0.0), (2, 2.0), (1, True), (np.float32(2.0), np.float32(3.0))],
    )
    def test_is_for_one_value_of_a_constant(self, one: Any, other: Any) -> None:
        x = np.zeros((3, 3), np.float32)
        case = (repr(one), repr(other))
        for constant, plans in ((one, 1), (other, 1), (one, 0), (other, 0)):
            wanted = (np.ones_like(x) * constant).tolist()
            assert str(derived(scaled_gradient(constant), x, case)) == str((wanted, plans))

    def test_takes_nan_for_equal_to_itself(self) -> None:
        plans = [derived(scaled_gradient(float("nan")), np.ones((3, 1, 7)))[1] for _ in "ab"]
        assert plans == [1, 0]

    def test_knows_frozen_settings_and_functions_in_a_closure(self) -> None:
        def function(settings: Settings) -> Scaled:
            def scale(g: lg.Tensor) -> lg.Tensor:
                return g * settings.scale

            def forward(x: lg.Tensor) -> Any:
                return x * 2.0, lambda g: scale(g)

            return lg.custom_gradient(forward)

        for number, plans in ((1.0, 1), (1.0, 0), (4.0, 1), (1.0, 0)):
            assert derived(function(Settings(number)), [1.0]) == ([number], plans)

    def test_is_not_used_again_if_something_may_change_unnoticed(self) -> None:
        factor = [2.0]
        function = scaled_gradient(factor)
        kept = len(cache.keys())
        with pytest.warns(UserWarning, match="forward depends on 'factor', whose contents may"):
            assert derived(function, [1.0]) == ([2.0], 1)
        factor[0] = 5.0
        assert derived(function, [1.0]) == ([5.0], 1)  # and says nothing any more
        assert len(cache.keys()) == kept

    def test_knows_other_custom_gradients_and_checkpoints_in_a_pullback(self) -> None:
        inner = scaled_gradient(3.0)
        again = lg.checkpoint(lambda g: g * inner(g))

        def forward(x: lg.Tensor) -> Any:
            return x * 1.0, lambda g: again(inner(g)) * lg.sum(g)

        plans = [derived(lg.custom_gradient(forward), [1.0, 2.0])[1] for _ in range(3)]
        assert plans == [1, 0, 0]

    def test_keeps_no_tensor_alive(self) -> None:
        nodes = []

        def forward(x: lg.Tensor) -> Any:
            residual = x * 3.0
            nodes.append(weakref.ref(residual.node))
            return x * 1.0, lambda g: g * residual

        gc.disable()
        try:
            assert derived(lg.custom_gradient(forward), np.ones(5))[1] == 1
            assert nodes[0]() is None
        finally:
            gc.enable()

    def test_leaves_the_pullback_unrecorded_if_it_is_there(self) -> None:
        def step(weight: float) -> tuple[Any, int]:
            scale = lg.asarray(weight)
            return derived(
                lg.custom_gradient(lambda x: (x * x, lambda g: g * scale)), [1.0, 2.0]
            )

        for weight, plans in ((2.0, 1), (7.0, 0), (-1.0, 0)):
            assert step(weight) == ([weight, weight], plans)


GLOBAL = lg.asarray([10.0])
WEIGHT = lg.Var("weight", [1.0])


def weighted(g: lg.Tensor) -> lg.Tensor:
    return g * GLOBAL * WEIGHT


def test_what_the_module_holds_counts_as_it_was_when_the_call_was_recorded() -> None:
    global GLOBAL
    GLOBAL = lg.asarray([10.0])
    WEIGHT.assign(np.array([1.0]))
    function = lg.custom_gradient(lambda x: (x * 3.0, lambda g: weighted(g)))
    assert derived(function, [1.0]) == ([10.0], 1)
    GLOBAL = lg.asarray([20.0])
    WEIGHT.assign(np.array([2.0]))
    assert derived(function, [1.0]) == ([40.0], 0)
    x = lg.asarray([1.0])
    y = lg.sum(function(x))
    GLOBAL = lg.asarray([0.0])
    WEIGHT.assign(np.array([0.0]))
    assert y.backward()[x].tolist() == [40.0]


class TestRefusals:
    def test_of_a_var_that_is_no_argument(self) -> None:
        w = lg.Var("w", [2.0])
        message = (
            "^<lambda> must be given every Var that it uses as an argument.*; got Var 'w' f"
        )
        with pytest.raises(errors.GradientError, match=message):
            lg.custom_gradient(lambda x: (x * w, lambda g: g))(lg.ones((1,)))
        detached = lg.custom_gradient(lambda x: (x * w.tensor().detach(), lambda g: g * w))
        assert gradient(detached, [1.0]) == [[2.0]]

    def test_of_what_is_no_tensor_and_pullback(self) -> None:
        for result in (1.0, lg.ones(()), (lg.ones(()), 2), (1.0, abs), None):
            with pytest.raises(
                TypeError, match="must return a tensor and a function of its up"
            ):
                lg.custom_gradient(lambda x, result=result: result)(lg.ones(()))

    def test_of_a_wrong_number_or_shape_of_shares(self) -> None:
        two = lg.custom_gradient(lambda x, y: (x + y, lambda g: (g, g, g)))
        x = lg.ones((2,))
        with pytest.raises(
            errors.GradientError, match="a share for each of 2 tensors; got 3, f"
        ):
            lg.sum(two(x, x)).backward()
        wide = lg.custom_gradient(lambda x: (x, lambda g: lg.ones((3,))))
        with pytest.raises(errors.ShapeError, match=r"share of the shape \(2,\); got \(3,\)"):
            lg.sum(wide(x)).backward()

    def test_of_a_tensor_by_keyword(self) -> None:
        function = lg.custom_gradient(lambda x, y: (x + y, lambda g: g))
        with pytest.raises(TypeError, match="must be given tensors by position; got a keyword"):
            function(lg.ones(()), y=lg.ones(()))

    def test_of_a_pickled_graph(self) -> None:
        y = scaled_gradient(2.0)(lg.ones((2,)))
        with pytest.raises(TypeError, match="must have no gradient in Python; got that of"):
            pickle.dumps(y)
        assert pickle.loads(pickle.dumps(y.realize().detach())).tolist() == [1.0, 1.0]


def test_a_dump_names_the_pullback() -> None:
    y = scaled_gradient(2.0)(lg.ones((2,)))
    assert "pullback='scaled_gradient.<locals>.forward.<locals>.<lambda>'" in lg.listing(y)
