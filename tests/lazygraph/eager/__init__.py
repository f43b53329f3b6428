"""A model of lazygraph and of training: the same names, computed at once by NumPy."""

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np

import lazygraph
from lazygraph.extend import OPS, Kind
from tests.lazygraph import op_cases
from tests.lazygraph.eager import (
    composed,
    elementwise,
    movement,
    random,
    reductions,
    steps,
    variables,
)
from tests.lazygraph.eager.values import Value, disturbed


def _nothing(*_: Any, **__: Any) -> None:
    """What is asked of lazygraph and has no meaning where all is computed at once."""


def _realize(*values: Any) -> None:
    for value in values:
        several = value if isinstance(value, list) else [value]
        for each in several:
            each.realize()


def _together(*values: Any) -> Any:
    _realize(*values)
    return values[-1]


lg = SimpleNamespace(
    **{
        name: function
        for module in (elementwise, reductions, movement, composed, variables)
        for name, function in vars(module).items()
        if name in lazygraph.__all__
    },
    **{x.name: x.name for x in vars(lazygraph).values() if isinstance(x, lazygraph.DType)},
    random=random,
    realize=_realize,
    set_verify=_nothing,
    listing=_nothing,
    explain=_nothing,
    to_dot=_nothing,
    to_json=_nothing,
    scope=nullcontext,
    no_realize=nullcontext,
)
training = SimpleNamespace(SGD=steps.SGD, AdamW=steps.AdamW, TrainingLoop=steps.TrainingLoop)


def sampled(name: str, seed: int) -> Value:
    """What a record says that one of its samples gives."""
    op = OPS[name]
    sample = op_cases.samples(op, np.random.default_rng(seed))[0]
    y = op_cases.evaluated(op, sample.inputs, sample.params)
    dtype = y.dtype.name
    return Value(y, disturbed(y, dtype) if dtype == "float64" else y, dtype)


# A gradient that is a function of Python is not pickled.
SAMPLED = tuple(
    op.name for op in OPS.values() if op.kind is not Kind.LEAF and op.name != "custom_gradient"
)
NAMESPACE: dict[str, Any] = {
    "np": np,
    "lg": lg,
    "training": training,
    "sampled": sampled,
    "pickled": variables.pickled,
    "cloned": variables.cloned,
    "bend": variables.bend,
    "together": _together,
}
