"""What errors say: one sentence on what is needed, and the user's line for each operand."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazygraph as lg
from lazygraph.extend import Kind, Op, Rule, Spec, apply, infer, verify
from lazygraph.passes.rewrite import Known, apply_rules

errors = lg.errors
X23, X2 = lg.zeros((2, 3)), lg.zeros((2,))
I2, B2 = lg.asarray([1, 2]), lg.asarray([True, False])

# What is called, the error, and the whole sentence.
SENTENCES: tuple[tuple[Callable[[], Any], type[Exception], str], ...] = (
    (
        lambda: X23 @ X23,
        errors.ShapeError,
        "matmul: the columns of the left, 3, must equal the rows of the right, 2; "
        "got (2, 3) and (2, 3)",
    ),
    (
        lambda: lg.matmul(X23, 2.0),
        errors.ShapeError,
        "matmul: both operands need at least one axis; got (2, 3) and ()",
    ),
    (
        lambda: X23 + X2,
        errors.ShapeError,
        "add: operands must have shapes that broadcast, equal or 1 on each axis; "
        "got (2, 3) and (2,)",
    ),
    (
        lambda: lg.where(B2, X23, 1.0),
        errors.ShapeError,
        "where: operands must have shapes that broadcast, equal or 1 on each axis; "
        "got (2,) and (2, 3)",
    ),
    (
        lambda: B2 + B2,
        errors.DTypeError,
        "add: arithmetic needs numbers; got bool (use the logical functions, or astype)",
    ),
    (lambda: -B2, errors.DTypeError, "negative: the operand must be numbers; got bool[2]"),
    (
        lambda: lg.logical_and(X2, B2),
        errors.DTypeError,
        "logical_and: a logical function needs bool; got float32",
    ),
    (
        lambda: X2 & X2,
        errors.DTypeError,
        "bitwise_and: a bitwise function needs integers or bool; got float32",
    ),
    (
        lambda: B2 << B2,
        errors.DTypeError,
        "bitwise_left_shift: a shift needs integers; got bool",
    ),
    (
        lambda: I2 + np.uint64(1),
        errors.DTypeError,
        "add: operands must have a common dtype; got int64 and uint64",
    ),
    (
        lambda: lg.asarray([1], dtype="uint8") * 256,
        errors.DTypeError,
        "multiply: a Python scalar must fit the tensor's dtype, uint8; got 256",
    ),
    (
        lambda: lg.norm(I2),
        errors.DTypeError,
        "norm: norm needs a floating tensor; got int64[2]",
    ),
    (
        lambda: lg.reshape(X23, (4,)),
        errors.ShapeError,
        "reshape: the new shape must hold the same 6 elements; got (4,) for (2, 3)",
    ),
    (
        lambda: lg.permute_dims(X23, (0, 0)),
        errors.ShapeError,
        "permute_dims: axes must be a permutation of the 2 axes of (2, 3); got (0, 0)",
    ),
    (
        lambda: lg.broadcast_to(X23, (2, 4)),
        errors.ShapeError,
        "broadcast_to: (2, 3) must broadcast to the wanted shape; got (2, 4)",
    ),
    (
        lambda: lg.concat([X23, X2]),
        errors.ShapeError,
        "concat: the shapes must agree on every axis but 0; got (2, 3) and (2,)",
    ),
    (
        lambda: lg.max(lg.zeros((0,))),
        errors.ShapeError,
        "max: the reduced axes must not be empty; got axes (0,) of (0,)",
    ),
    (
        lambda: lg.take(X23, X2, axis=0),
        errors.DTypeError,
        "gather: indices must be integers; got float32[2]",
    ),
    (
        lambda: lg.take_along_axis(X23, lg.asarray([[0]]), axis=1),
        errors.ShapeError,
        "take_along_axis: indices must have the tensor's shape on every axis but 1; "
        "got (1, 1) for (2, 3)",
    ),
)


@pytest.mark.parametrize(
    ("call", "error", "sentence"), SENTENCES, ids=[s[2] for s in SENTENCES]
)
def test_an_operation_says_what_it_needs_and_where_each_operand_was_built(
    call: Callable[[], Any], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == sentence
    assert caught.value.__notes__
    for note in caught.value.__notes__:
        assert re.match(r"  \w+\[[\d, ]*\] built at test_messages.py:\d+.*:  \S", note)


def hidden_layer(x: lg.Tensor) -> lg.Tensor:
    return lg.tanh(x)


def test_notes_name_file_line_function_and_text_of_the_user() -> None:
    wide = hidden_layer(X23)
    narrow = lg.asarray(np.ones((2, 5), np.float32))
    with pytest.raises(errors.ShapeError) as caught:
        wide @ narrow
    first = hidden_layer.__code__.co_firstlineno + 1
    assert caught.value.__notes__ == [
        f"  float32[2, 3] built at test_messages.py:{first} in hidden_layer:  "
        "return lg.tanh(x)",
        f"  float32[2, 5] built at test_messages.py:{first + 5} in "
        f"{test_notes_name_file_line_function_and_text_of_the_user.__name__}:  "
        "narrow = lg.asarray(np.ones((2, 5), np.float32))",
    ]


def picking(x: lg.Tensor, ids: lg.Tensor) -> lg.Tensor:
    return lg.sum(lg.take(x, ids))


def test_an_error_of_a_step_names_the_line_that_recorded_it_in_a_derivative_too() -> None:
    x = lg.asarray([1.0, 2.0])
    y = picking(x, lg.asarray([0, 4]) + 1)
    line = picking.__code__.co_firstlineno + 1
    for asked in (y, y.backward()[x]):
        with pytest.raises(errors.BoundsError) as caught:
            asked.realize()
        assert str(caught.value) == "index 5 is out of bounds for axis 0 with size 2"
        (note,) = caught.value.__notes__
        assert f", recorded at test_messages.py:{line} in picking:  return lg.sum" in note


def test_an_op_without_a_rule_is_named_with_its_line_when_a_gradient_is_asked_for() -> None:
    stairs = Op("stairs", infer.numeric, np.floor, Kind.POINTWISE)
    x = lg.asarray([1.5])
    y = lg.sum(apply(stairs, x))
    assert y.item() == 1.0
    message = (
        "stairs must have a gradient rule to be differentiated; it has none, and was record"
    )
    with pytest.raises(errors.GradientError, match=message + "ed at test_messages.py:"):
        y.backward()


def test_a_broken_graph_is_found_and_named() -> None:
    node = (X2 + 1.0).node
    node.spec = Spec((3,), lg.float32)
    message = "after recording, node .* should be float32.2.; it stems from test_messages.py:"
    with pytest.raises(errors.InternalError, match=message):
        verify([node])


def test_rules_that_undo_one_another_are_named() -> None:
    def swapped(node: Any, known: Known) -> Any:
        a, b = node.inputs
        return apply(node.op, lg.Tensor(b), lg.Tensor(a)).node

    rule = Rule("add", "x + y -> y + x", swapped)
    with pytest.raises(errors.InternalError, match="rules on add undo one another"):
        apply_rules([(X2 + I2).node], [rule], Known({}))


def test_a_rule_that_changes_the_spec_is_named() -> None:
    rule = Rule("add", "x + y -> x", lambda node, known: node.inputs[0])
    with pytest.raises(errors.InternalError) as caught:
        apply_rules([(X2[:, None] + X23).node], [rule], Known({}))
    assert str(caught.value) == "'x + y -> x' made float32[2, 1] of float32[2, 3]"


def test_every_error_is_of_the_family_and_a_builtin() -> None:
    for name, error in vars(errors).items():
        if isinstance(error, type) and name != "LazyGraphError":
            assert issubclass(error, errors.LazyGraphError)
            assert error.__bases__[1].__module__ == "builtins"
