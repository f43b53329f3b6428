"""Operands for every op of the table, drawn as its record says."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import lazygraph as lg
from lazygraph.extend import OPS, Kind, Op, Sample, Spec, apply
from tests.lazygraph.exactness import Array

TABLE = [op for op in OPS.values() if op.kind is not Kind.LEAF]
POINTWISE = [op for op in TABLE if op.kind is Kind.POINTWISE]
ELEMENTWISE = [op for op in POINTWISE if not op.params]  # those of any operands of one dtype
DIFFERENTIABLE = [op for op in TABLE if op.gradient is not None]

FLOATS = (np.float32, np.float64)
INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
DTYPES = (*FLOATS, *INTEGERS, np.bool_)


def name(thing: Any) -> str:
    return str(getattr(thing, "name", getattr(thing, "__name__", thing)))


def operand_count(op: Op) -> int:
    return len(op.domain) or len(samples(op, np.random.default_rng(0))[0].inputs)


def samples(op: Op, rng: np.random.Generator) -> list[Sample]:
    """Those that the record gives, or one of shape (3, 67) from its domain."""
    if op.samples is not None:
        return op.samples(rng)
    return [Sample(tuple(rng.uniform(low, high, (3, 67)) for low, high in op.domain))]


def takes_floats(op: Op) -> bool:
    every = samples(op, np.random.default_rng(0))
    return any(x.dtype.kind == "f" and x.size for sample in every for x in sample.inputs)


def cast(sample: Sample, dtype: Any) -> Sample:
    """The sample with its floating operands in another dtype."""
    return Sample(
        tuple(x.astype(dtype) if x.dtype.kind == "f" else x for x in sample.inputs),
        sample.params,
    )


def accepts(op: Op, dtypes: Sequence[Any]) -> bool:
    """Whether an op without parameters takes operands of these dtypes as they are."""
    tensors = [lg.zeros((2,), dtype=dtype) for dtype in dtypes]
    try:
        y = apply(op, *tensors)
    except lg.errors.DTypeError:
        return False
    return all(x is t.node for x, t in zip(y.node.inputs, tensors, strict=True))


def operand_dtypes(op: Op, dtype: Any) -> list[Any]:
    """The dtype for each operand; those before `coerce_from` have one of their own."""
    given = samples(op, np.random.default_rng(0))[0].inputs
    return [given[i].dtype if i < op.coerce_from else dtype for i in range(operand_count(op))]


def dtypes_of(op: Op) -> list[Any]:
    return [dtype for dtype in DTYPES if accepts(op, operand_dtypes(op, dtype))]


def drawn(
    op: Op, dtype: Any, shapes: Sequence[tuple[int, ...]], rng: np.random.Generator
) -> list[Array]:
    """Operands of an elementwise op: from its domain, or small integers not below zero."""
    result = []
    for i, (kind, shape) in enumerate(zip(operand_dtypes(op, dtype), shapes, strict=True)):
        if np.dtype(kind).kind == "f":
            low, high = op.domain[i] if op.domain else (-2.0, 2.0)
            result.append(rng.uniform(low, high, shape).astype(kind))
        else:
            result.append(rng.integers(0, 5, shape).astype(kind))
    return result


def special(dtype: Any) -> Array:
    """The values at which an implementation may differ from the definition."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return np.array([False, True])
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        numbers = {limits.min, limits.min + 1, -3, -1, 0, 1, 2, 7, limits.max - 1, limits.max}
        return np.array([n for n in sorted(numbers) if limits.min <= n <= limits.max], kind)
    limit = np.finfo(kind)
    subnormal, tiny, largest = limit.smallest_subnormal, limit.tiny, limit.max
    sizes = [0.0, subnormal, tiny, limit.eps, 0.3, 0.5, 1.0, 2.0, 3.0, 88.0, 710.0, largest]
    numbers_of_both_signs = [sign * size for size in (*sizes, np.inf) for sign in (1, -1)]
    return np.array([*numbers_of_both_signs, np.nan], kind)


def grid(op: Op, dtype: Any) -> list[Array]:
    """Every combination of special values, as operands that broadcast against each other."""
    kinds = operand_dtypes(op, dtype)
    axes = [special(kind) for kind in kinds]
    if op.name == "power" and np.dtype(dtype).kind in "iu":
        axes[1] = axes[1][axes[1] >= 0]  # integers have no negative powers
    return [
        x.reshape(*(-1 if i == axis else 1 for axis in range(len(axes))))
        for i, x in enumerate(axes)
    ]


def evaluated(op: Op, inputs: Sequence[Array], params: Any = (), before: int = 99) -> Array:
    """What the record says the value is, computed by NumPy from dense operands.

    The memory of the result holds the number `before` when the record gets it.
    """
    named = op.named(params)
    dense = [np.ascontiguousarray(x).reshape(x.shape) for x in inputs]
    with np.errstate(all="ignore"):
        if op.kind is Kind.VIEW:
            return np.array(op.evaluate(*dense, **named))
        spec = inferred(op, inputs, params)
        out = np.full(spec.shape, before).astype(spec.dtype.dtype)
        op.evaluate(*dense, out, **named)
    return out


def inferred(op: Op, inputs: Sequence[Array], params: Any = ()) -> Spec:
    specs = [Spec(x.shape, lg.as_dtype(x.dtype)) for x in inputs]
    return op.infer(*specs, **op.named(params))


def applied(op: Op, inputs: Sequence[Array], params: Any = ()) -> lg.Tensor:
    return apply(op, *(lg.asarray(x) for x in inputs), params=params)
