"""gradcheck finds what is wrong and says where; gradient maps find Vars by name."""

import re
from typing import Any

import numpy as np
import pytest

import lazygraph as lg
from lazygraph import errors

MODES = pytest.mark.parametrize("mode", ["directional", "coordinates"])


def off(factor: float, at: int = 0) -> Any:
    """A product of three, whose gradient with respect to one of them is off by a factor."""

    def forward(*xs: lg.Tensor) -> Any:
        a, b, c = xs

        def pullback(g: lg.Tensor) -> list[lg.Tensor]:
            shares = [g * b * c, g * a * c, g * a * b]
            shares[at] = shares[at] * factor
            return shares

        return a * b * c, pullback

    return lg.custom_gradient(forward)


@MODES
def test_right_gradients_pass(mode: str, rng: np.random.Generator) -> None:
    def function(x: lg.Tensor, ids: lg.Tensor, w: lg.Tensor) -> lg.Tensor:
        return lg.log_softmax(lg.tanh(x[ids] @ w) / 0.01)

    x, w = lg.Var("x", rng.standard_normal((5, 3))), rng.standard_normal((3, 2))
    report = lg.gradcheck(function, [x, np.array([1, 1, 4]), w], mode=mode)
    assert report.inputs == 2
    assert report.differences == (2 if mode == "directional" else 15 + 6)
    assert report.largest_error < 1e-7


@MODES
@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_wrong_share_is_found_and_its_input_named(mode: str, at: int) -> None:
    inputs = [np.array([1.0, 2.0]), lg.Var("b", [3.0, 5.0]), 7.0]
    lg.gradcheck(off(1.0, at), inputs, mode=mode)
    name = ["input 0", "input 1 ('b')", "input 2"][at]
    with pytest.raises(errors.GradientError, match=re.escape(f"with respect to {name} at (")):
        lg.gradcheck(off(1.0 + 1e-5, at), inputs, mode=mode)


@MODES
def test_the_coordinate_that_is_off_by_most_is_named(mode: str) -> None:
    @lg.custom_gradient
    def square(x: lg.Tensor) -> Any:
        return x * x, lambda g: g * x * np.array([[2.0, 2.0], [2.1, 4.0]])

    with pytest.raises(errors.GradientError) as caught:
        lg.gradcheck(lambda x: lg.sum(square(x)), [[[1.0, 2.0], [3.0, 4.0]]], mode=mode)
    found = re.fullmatch(
        r"the gradient with respect to input 0 at \(1, 1\) must be (\S+); got (\S+) "
        r"\(2 of 4 coordinates are off\)",
        str(caught.value),
    )
    assert found is not None
    wanted, got = map(float, found.groups())
    assert got == pytest.approx(2.0 * wanted, rel=1e-6)


def test_a_gradient_that_is_zero_by_mistake_is_found() -> None:
    with pytest.raises(errors.GradientError, match=r"at \(\) must be .*; got 0 \(1 of 1 "):
        lg.gradcheck(lambda x: lg.stop_gradient(x) * 1.0, [2.0])


def test_nan_does_not_pass() -> None:
    with pytest.raises(errors.GradientError, match=r"at \(1,\) must be nan; got"):
        lg.gradcheck(lg.log, [[1.0, 0.0]])


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(errors.GradientError, match="must give the same value twice"):
        lg.gradcheck(lambda x: x + lg.random.uniform((2,)), [[1.0, 2.0]])
    with pytest.raises(errors.DTypeError, match=r"compute in float64 where .*; got float32"):
        lg.gradcheck(lambda x: lg.astype(x, "float32"), [[1.0]])
    with pytest.raises(ValueError, match="mode must be 'directional' or 'coordinates'; got 'a"):
        lg.gradcheck(lg.exp, [[1.0]], mode="all")


def test_a_gradient_map_finds_a_var_by_its_name() -> None:
    w, v = lg.Var("w", [2.0]), lg.Var("v", [3.0])
    gradients = lg.sum(w * w * v).backward()
    assert gradients["w"] is gradients[w]
    assert "v" in gradients
    assert "u" not in gradients
    assert gradients.get("u") is None
    with pytest.raises(
        KeyError, match="the loss must depend on what is looked up; got Var 'u'"
    ):
        gradients["u"]


def test_a_name_that_two_vars_have_finds_neither() -> None:
    w, other = lg.Var("w", [2.0]), lg.Var("w", [3.0])
    gradients = lg.sum(w * other).backward()
    assert "w" not in gradients
    for look_up in (gradients.__getitem__, gradients.get):
        with pytest.raises(errors.GradientError, match="be that of one Var; got 'w', of 2"):
            look_up("w")
    assert gradients[other].tolist() == [2.0]
