"""What errors say that speak of no operand: of axes, keys, names, losses, settings."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazygraph as lg
from lazygraph.extend import OPS
from lazygraph.graph.engine import register

errors = lg.errors
X23, X2 = lg.zeros((2, 3)), lg.zeros((2,))
I2, SCALAR = lg.asarray([1, 2]), lg.asarray(1.0)
SQUARED = lg.sum(X2 * X2)


def with_two_versions() -> lg.Tensor:
    w = lg.Var("w", 1.0)
    old = w + 0.0
    w.assign(2.0)
    return old * w


Asked = tuple[Callable[[], Any], type[Exception], str]

VALUES: tuple[Asked, ...] = (
    (X23.item, errors.ShapeError, "item needs a tensor of one element; got float32[2, 3]"),
    (
        lambda: bool(X2),
        errors.ShapeError,
        "bool() needs a tensor of one element; got float32[2]",
    ),
    (
        lambda: float(X2),
        errors.ShapeError,
        "float() needs a tensor of one element; got float32[2]",
    ),
    (lambda: int(X2), errors.ShapeError, "int() needs a tensor of one element; got float32[2]"),
    (
        lambda: [0][SCALAR],
        TypeError,
        "an index must be an integer tensor; got float32[]",
    ),
    (lambda: len(SCALAR), TypeError, "a tensor of shape () has no length"),
    (
        lambda: lg.realize(X2, "a"),
        TypeError,
        "realize takes tensors and containers of them; got 'a'",
    ),
    (
        lambda: lg.asarray(["a"]),
        errors.DTypeError,
        "data must be numbers or booleans; got <U1 from ['a']",
    ),
    (
        lambda: lg.asarray(np.zeros(4)[::2], copy=False),
        ValueError,
        "copy=False needs a C-contiguous array of the wanted dtype; "
        "got float64 with strides (16,) for float64",
    ),
    (
        lambda: lg.add(X2, "a"),  # type: ignore[arg-type]
        TypeError,
        "an operand must be a Tensor, a Var, a NumPy array or a Python number; got 'a'",
    ),
    (
        lambda: X2 + "a",  # type: ignore[operator]
        TypeError,
        "unsupported operand type(s) for +: 'Tensor' and 'str'",
    ),
    (
        lambda: lg.as_dtype("float16"),
        errors.DTypeError,
        "a dtype must be one of bool, int8, int16, int32, int64, uint8, uint16, uint32, "
        "uint64, float32, float64; got 'float16'",
    ),
)

AXES: tuple[Asked, ...] = (
    (lambda: X2.T, errors.ShapeError, "T needs a matrix, of two axes; got float32[2]"),
    (lambda: X2.mT, errors.ShapeError, "mT needs at least two axes; got float32[2]"),
    (
        lambda: lg.sum(X2, axis=1),
        errors.BoundsError,
        "axis must lie in [-1, 1) for 1 axes; got 1",
    ),
    (
        lambda: lg.sum(X2, axis="a"),  # type: ignore[arg-type]
        TypeError,
        "axis must be an integer; got 'a'",
    ),
    (
        lambda: lg.sum(X2, axis=(0, -1)),
        ValueError,
        "the axes of a reduction must be distinct; got (0, -1)",
    ),
    (
        lambda: lg.squeeze(X2, 0),
        errors.ShapeError,
        "squeeze needs axes of length 1; got axes (0,) of (2,)",
    ),
    (lambda: lg.concat([]), errors.ShapeError, "concat needs at least one tensor; got none"),
    (lambda: lg.stack([]), errors.ShapeError, "stack needs at least one tensor; got none"),
    (
        lambda: lg.take(X23, I2),
        errors.ShapeError,
        "take needs an axis for a tensor of shape (2, 3); got None",
    ),
    (
        lambda: lg.zeros((2, -1)),
        errors.ShapeError,
        "a shape must have no negative length; got (2, -1)",
    ),
    (lambda: lg.arange(0, 3, 0), ValueError, "the step of arange must not be 0; got 0"),
    (lambda: lg.tril(X2), errors.ShapeError, "a triangle needs at least two axes; got (2,)"),
    (
        lambda: lg.attention(X2, X23, X23),
        errors.ShapeError,
        "attention needs at least two axes, (time, width); got (2,), (2, 3) and (2, 3)",
    ),
    (
        lambda: lg.gelu(X2, approximate="x"),
        ValueError,
        "approximate must be 'none' or 'tanh'; got 'x'",
    ),
)

KEYS: tuple[Asked, ...] = (
    (
        lambda: X2[5],
        errors.BoundsError,
        "index 5 is out of bounds for axis 0 with size 2",
    ),
    (
        lambda: X23[0, -4],
        errors.BoundsError,
        "index -4 is out of bounds for axis 1 with size 3",
    ),
    (
        lambda: X2[0, 0],
        errors.BoundsError,
        "a tensor of shape (2,) takes 1 indices; got 2",
    ),
    (
        lambda: X23[..., ...],
        errors.BoundsError,
        "an index may contain one ellipsis; got 2",
    ),
    (
        lambda: X2["a"],
        TypeError,
        "an index must be an integer, a slice, None, ..., or an array of integers or booleans; "
        "got 'a'",
    ),
)

VARS: tuple[Asked, ...] = (
    (
        lambda: lg.Var(3, 1.0),  # type: ignore[arg-type]
        TypeError,
        "the name of a Var must be a string; got 3",
    ),
    (
        lambda: lg.Var("w", [1.0]).assign(X2),
        errors.ShapeError,
        "w: a new value must have the shape (1,); got (2,)",
    ),
    (
        lambda: lg.Var("i", [1, 2]).assign(X2),
        errors.DTypeError,
        "i: a new value must be int64; got float32",
    ),
    (
        lambda: with_two_versions().backward(),
        errors.GradientError,
        "a graph must use one version of each Var; got versions 0 and 1 of 'w'",
    ),
    (
        lambda: SQUARED.backward()[lg.Var("v", 1.0)],
        KeyError,
        "the loss must depend on what is looked up; got Var 'v'",
    ),
)

LOSSES: tuple[Asked, ...] = (
    (
        lambda: lg.sum(I2).backward(),
        errors.GradientError,
        "a gradient needs a floating loss; got int64[]",
    ),
    (
        lambda: X2.backward(),
        errors.GradientError,
        "a loss that is not one element needs an upstream; got float32[2]",
    ),
    (
        lambda: X2.backward(X23),
        errors.ShapeError,
        "upstream must have the loss's spec, float32[2]; got float32[2, 3]",
    ),
    (
        lambda: lg.grad(SQUARED, X2, missing="x"),
        ValueError,
        "missing must be 'raise' or 'zero'; got 'x'",
    ),
)

OTHERS: tuple[Asked, ...] = (
    (lambda: lg.random.seed(-1), ValueError, "a seed must be in [0, 2**64); got -1"),
    (
        lambda: lg.random.uniform((2,), dtype=int),
        errors.DTypeError,
        "random floats need a floating dtype; got int64",
    ),
    (
        lambda: register(OPS["add"]),
        errors.InternalError,
        "the name of an op must be unique; got 'add' twice",
    ),
)
ALL = (*VALUES, *AXES, *KEYS, *VARS, *LOSSES, *OTHERS)


@pytest.mark.parametrize(("call", "error", "sentence"), ALL, ids=[asked[2] for asked in ALL])
def test_a_request_that_cannot_be_met_says_what_it_needs(
    call: Callable[[], Any], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error) as caught:
        call()
    assert caught.value.args[0] == sentence


def test_a_missing_node_is_described_by_its_line() -> None:
    with pytest.raises(KeyError) as caught:
        SQUARED.backward()[X23]
    assert caught.value.args[0].startswith(
        "the loss must depend on what is looked up; got <node "
    )
    assert "broadcast_to float32[2, 3]> of test_requests.py:" in caught.value.args[0]


@pytest.mark.parametrize(
    ("call", "start"),
    [
        (lambda: lg.asarray([[1], [1, 2]]), "nested lists must have rows of equal length: "),
        (lambda: lg.set_backend("x"), "the backend must be one of numpy"),
    ],
)
def test_a_sentence_that_others_end_begins_with_what_is_needed(
    call: Callable[[], Any], start: str
) -> None:
    with pytest.raises(errors.LazyGraphError) as caught:
        call()
    assert caught.value.args[0].startswith(start)
