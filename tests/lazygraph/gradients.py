"""Gradients of ordinary functions of tensors against directional differences."""

from collections.abc import Callable, Sequence

import numpy as np

import lazygraph as lg
from tests.lazygraph.differences import assert_close, directional, inner
from tests.lazygraph.exactness import Array

Function = Callable[..., lg.Tensor]


def assert_gradients(function: Function, xs: Sequence[Array], rng: np.random.Generator) -> None:
    """First and second order, in float64: <u, J v> == <J' u, v>, and the same of <J' u, v>."""
    u = rng.uniform(-1.0, 1.0, function(*map(lg.asarray, xs)).shape)
    v, w = ([np.asarray(rng.uniform(-1.0, 1.0, x.shape)) for x in xs] for _ in range(2))

    def pulled_back(*tensors: lg.Tensor) -> lg.Tensor:
        shares = lg.grad(function(*tensors), tensors, upstream=u)
        total = lg.asarray(0.0, dtype="float64")
        for share, direction in zip(shares, v, strict=True):
            total = total + lg.sum(share * direction)
        return total

    _assert_gradient(function, xs, u, v)
    _assert_gradient(pulled_back, xs, np.array(1.0), w)


def _assert_gradient(
    function: Function, xs: Sequence[Array], u: Array, v: Sequence[Array]
) -> None:
    along = directional(lambda at: function(*map(lg.asarray, at)).numpy(), xs, v)
    tensors = [lg.asarray(x) for x in xs]
    found = lg.grad(function(*tensors), tensors, upstream=u, missing="zero")
    shares = [share.numpy() for share in found]
    assert [share.shape for share in shares] == [x.shape for x in xs]
    scale = inner([np.abs(share) for share in shares], [np.abs(x) for x in v])
    assert_close(inner(shares, v), inner([u], [np.asarray(along)]), scale)
