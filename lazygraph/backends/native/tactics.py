"""Choices that make kernels fast and change no bit: how wide, how unrolled, what lies where."""

from collections.abc import Sequence

from lazygraph.backends.native.staging import Plan

_VECTOR = 64  # bytes of four-byte elements: LLVM makes two of it where registers are narrower
_LIGHT, _MEDIUM = 16, 40  # instructions a vector, of passes that handle several vectors a round
_SHORT, _MOST_UNROLLED = 64, 1500  # columns, and instructions a row, of rows without loops
_MOST_ON_STACK = 1 << 16  # bytes


def lanes_of(plan: Plan) -> int:
    """Elements a vector, but not many more than a short row has columns."""
    is_narrow = any(value.dtype.itemsize == 4 for value in plan.values)
    lanes = _VECTOR // 4 if is_narrow else _VECTOR // 8
    if not plan.space.is_flat:
        while lanes > 4 and plan.space.columns <= lanes // 2:
            lanes //= 2
    return lanes


def is_unrolled(plan: Plan) -> bool:
    """Whether rows are so short that a pass needs no loop, and values stay in registers."""
    columns = plan.space.columns
    weight = sum(value.weight for value in plan.values) * -(-columns // lanes_of(plan))
    return not plan.space.is_flat and columns <= _SHORT and weight <= _MOST_UNROLLED


def vectors_a_round(plan: Plan, made: Sequence[int]) -> int:
    """How many vectors a round of the loop handles that makes these values."""
    weight = sum(plan.values[i].weight for i in made)
    return 4 if weight <= _LIGHT else 2 if weight <= _MEDIUM else 1


def buffers_of(plan: Plan) -> dict[int, int]:
    """Where each kept value's row starts in a thread's buffers, in bytes."""
    if is_unrolled(plan):
        return {}
    offsets, end = {}, 0
    for i in sorted(plan.kept):
        offsets[i], end = end, end + _row_bytes(plan, i)
    return offsets


def buffer_bytes(plan: Plan) -> int:
    return sum(_row_bytes(plan, i) for i in buffers_of(plan))


def are_on_stack(plan: Plan) -> bool:
    return buffer_bytes(plan) <= _MOST_ON_STACK


def _row_bytes(plan: Plan, value: int) -> int:
    """A row and what a last vector reaches beyond it, in whole cache lines."""
    lanes = lanes_of(plan)
    columns = -(-plan.space.columns // lanes) * lanes
    return -(-columns * plan.values[value].dtype.itemsize // 64) * 64
