"""Norms and clipping: closed forms, extreme values, and inputs that stay as they are."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray

import lazygraph as lg
from training import clip_grad_norm, clip_grad_value, global_norm, harvest

Array = NDArray[Any]
EXPONENTS = pytest.mark.parametrize("p", [0.5, 1.0, 2.0, 3.0, math.inf])
DTYPES = pytest.mark.parametrize("dtype", ["float32", "float64"])


def tensors(*arrays: Any, dtype: str = "float64") -> dict[str, lg.Tensor]:
    return {
        f"g{i}": lg.asarray(np.array(array, np.float64).astype(dtype))
        for i, array in enumerate(arrays)
    }


def closed_form(arrays: list[Array], p: float) -> float:
    flat = np.abs(np.concatenate([array.ravel() for array in arrays]))
    return float(flat.max() if p == math.inf else np.sum(flat**p) ** (1.0 / p))


@EXPONENTS
@DTYPES
def test_the_global_norm_is_that_of_one_long_vector(
    rng: Generator, p: float, dtype: str
) -> None:
    arrays = [rng.standard_normal(shape).astype(dtype) for shape in ((3, 4), (5,), (), (1, 1))]
    grads = {str(i): lg.asarray(array) for i, array in enumerate(arrays)}
    norm = global_norm(grads, p)
    assert (norm.shape, norm.dtype) == ((), lg.float64)
    expected = closed_form([array.astype(np.float64) for array in arrays], p)
    assert norm.item() == pytest.approx(expected, rel=1e-14)


@EXPONENTS
@pytest.mark.parametrize(
    ("dtype", "scale"),
    [
        ("float64", 1e200),
        ("float64", 1e-300),
        ("float64", 1e-320),
        ("float32", 1e38),
        ("float32", 1e-38),
        ("float32", 1e-44),
    ],
)
def test_powers_neither_overflow_nor_vanish(p: float, dtype: str, scale: float) -> None:
    # Within one gradient, and between several.
    arrays = [
        (scale * np.array([2.0, 1.0])).astype(dtype),
        (scale * np.array(1.5)).astype(dtype),
    ]
    grads = {str(i): lg.asarray(array) for i, array in enumerate(arrays)}
    unit = [array.astype(np.float64) / scale for array in arrays]
    assert global_norm(grads, p).item() / scale == pytest.approx(closed_form(unit, p), rel=1e-4)
    largest = np.float64(np.max([array.max() for array in arrays]))
    exact = closed_form([array.astype(np.float64) / largest for array in arrays], p)
    assert global_norm(grads, p).item() == pytest.approx(exact * largest, rel=1e-13, abs=5e-324)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e200])
def test_large_and_small_gradients_are_clipped_alike(scale: float) -> None:
    # max_norm / (norm + 1e-6): only against the small ones does the floor count.
    bound = 0.5 * scale
    clipped = clip_grad_norm(tensors([3.0 * scale], [4.0 * scale]), bound)
    factor = bound / (5.0 * scale + 1e-6)
    np.testing.assert_allclose(clipped["g0"].numpy(), [3.0 * scale * factor], rtol=1e-15)
    np.testing.assert_allclose(clipped["g1"].numpy(), [4.0 * scale * factor], rtol=1e-15)


def test_gradients_near_the_end_of_float32_are_clipped() -> None:
    grads = tensors([3e38, -3e38], [2e38], dtype="float32")
    clipped = clip_grad_norm(grads, 1.0)
    assert clipped["g0"].dtype is lg.float32
    norm = math.sqrt(22.0)
    np.testing.assert_allclose(clipped["g0"].numpy(), [3 / norm, -3 / norm], rtol=1e-6)


def test_clipping_reports_the_norm_before_and_reaches_the_bound() -> None:
    # A generator is as good as a mapping, and is consumed once.
    pairs = ((name, g) for name, g in tensors([3.0], [4.0]).items())
    grads = dict(pairs)
    assert global_norm(iter(grads.items())).item() == 5.0
    clipped = clip_grad_norm(((name, g) for name, g in grads.items()), 1.0)
    assert list(clipped) == ["g0", "g1"]
    np.testing.assert_allclose(clipped["g0"].numpy(), [0.6], rtol=1e-6)
    np.testing.assert_allclose(clipped["g1"].numpy(), [0.8], rtol=1e-6)
    assert global_norm(clipped).item() == pytest.approx(1.0, rel=1e-6)
    assert global_norm(clip_grad_norm(clipped, 1.0)).item() == pytest.approx(1.0, rel=1e-6)


@DTYPES
@pytest.mark.parametrize("max_norm", [10.0, math.inf])
def test_below_the_bound_all_bits_stay(rng: Generator, dtype: str, max_norm: float) -> None:
    grads = tensors(rng.standard_normal(7), [-0.0, 3e-39], dtype=dtype)
    clipped = clip_grad_norm(grads, max_norm)
    for name, g in grads.items():
        assert clipped[name].dtype is g.dtype
        assert clipped[name].numpy().tobytes() == g.numpy().tobytes()


def test_an_infinite_bound_changes_nothing_whatever_the_norm() -> None:
    grads = tensors([math.inf, 1.0, -0.0], [math.nan])
    for clipped in (clip_grad_norm(grads, math.inf), clip_grad_value(grads, math.inf)):
        assert clipped["g0"].tolist() == [math.inf, 1.0, 0.0]
        assert math.isnan(clipped["g1"].tolist()[0])


def test_a_bound_of_zero_gives_zeros() -> None:
    grads = tensors([3.0, -4.0], [0.0])
    assert clip_grad_norm(grads, 0.0)["g0"].tolist() == [0.0, 0.0]
    assert clip_grad_value(grads, 0.0)["g0"].tolist() == [0.0, 0.0]


@EXPONENTS
def test_nan_passes_through(p: float) -> None:
    grads = tensors([math.nan, 1.0], [2.0])
    assert math.isnan(global_norm(grads, p).item())
    clipped = clip_grad_norm(grads, 1.0, p)
    assert np.isnan(clipped["g0"].numpy()).all()
    assert np.isnan(clipped["g1"].numpy()).all()
    by_value = clip_grad_value(grads, 1.5)
    np.testing.assert_array_equal(by_value["g0"].numpy(), [math.nan, 1.0])
    np.testing.assert_array_equal(by_value["g1"].numpy(), [1.5])


@EXPONENTS
def test_the_norm_of_an_infinite_gradient_is_infinite(p: float) -> None:
    assert global_norm(tensors([math.inf, 1.0], [2.0]), p).item() == math.inf
    assert global_norm(tensors([2.0], [-math.inf, 1.0]), p).item() == math.inf


@EXPONENTS
def test_the_norm_of_nothing_is_zero(p: float) -> None:
    assert global_norm({}, p).item() == 0.0
    assert global_norm(tensors([], np.zeros((0, 3))), p).item() == 0.0
    assert global_norm(tensors([0.0, 0.0], [-0.0]), p).item() == 0.0
    assert global_norm(tensors([], [3.0, 4.0]), 2.0).item() == 5.0
    assert clip_grad_norm({}, 1.0, p) == {}
    assert clip_grad_norm(tensors([0.0, 0.0]), 1.0, p)["g0"].tolist() == [0.0, 0.0]


@EXPONENTS
def test_clipping_by_any_norm_reaches_its_bound(rng: Generator, p: float) -> None:
    grads = tensors(rng.standard_normal((2, 3)), rng.standard_normal(4))
    before = global_norm(grads, p).item()
    clipped = clip_grad_norm(grads, 0.25 * before, p)
    assert global_norm(clipped, p).item() == pytest.approx(0.25 * before, rel=1e-5)


def test_clipping_gives_new_mappings_and_leaves_its_inputs() -> None:
    w = lg.Var("w", np.array([3.0, 4.0]))
    grads = harvest((0.5 * lg.sum(w * w)).backward(), [w])
    given = dict(grads)
    bits = grads["w"].numpy().tobytes()
    for clipped in (clip_grad_norm(grads, 1.0), clip_grad_value(grads, 1.0)):
        assert clipped is not grads
        assert clipped["w"] is not grads["w"]
        clipped["w"].realize()
        clipped.clear()
    assert grads == given
    assert grads["w"].numpy().tobytes() == bits


def test_clipping_is_lazy_and_differentiable() -> None:
    x = lg.asarray(np.array([3.0, 4.0]))
    with lg.no_realize():
        clipped = clip_grad_value(clip_grad_norm({"x": x}, 1.0), 0.7)
        slope = lg.grad(lg.sum(clipped["x"]), x)
    # Below 0.7: x0 / |x|, whose slopes are (1 - 0.36) / 5 and -0.48 / 5.
    np.testing.assert_allclose(slope.numpy(), [0.128, -0.096], rtol=1e-5)


def test_a_harvest_takes_what_the_loss_reached_in_the_order_of_the_parameters() -> None:
    v, w, unused = (lg.Var(name, [1.0]) for name in ("v", "w", "unused"))
    found = harvest(lg.sum(2.0 * w + 3.0 * v).backward(), [w, unused, v])
    assert {name: g.tolist() for name, g in found.items()} == {"w": [2.0], "v": [3.0]}
    assert list(found) == ["w", "v"]


@pytest.mark.parametrize("bound", [-1.0, math.nan])
def test_a_bound_is_not_negative(bound: float) -> None:
    # It would turn the gradients round.
    with pytest.raises(ValueError, match="max_norm must not be negative; got"):
        clip_grad_norm(tensors([1.0]), bound)
    with pytest.raises(ValueError, match="limit must not be negative; got"):
        clip_grad_value(tensors([1.0]), bound)


@pytest.mark.parametrize("p", [0.0, -1.0, math.nan])
def test_a_norm_has_an_exponent_above_0(p: float) -> None:
    with pytest.raises(ValueError, match="norm_type must be greater than 0; got"):
        global_norm(tensors([1.0]), p)


def test_a_gradient_map_must_be_harvested_first() -> None:
    w = lg.Var("w", [1.0])
    with pytest.raises(TypeError, match="clipping needs gradients by name, as `harvest` gives"):
        global_norm(lg.sum(w * w).backward())
