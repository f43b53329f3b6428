"""Random keys of every kind that NumPy takes, and what they point at."""

from typing import Any

import numpy as np

import lazygraph as lg
from tests.lazygraph.exactness import Array

Key = tuple[Any, ...]


def random_shape(rng: np.random.Generator) -> tuple[int, ...]:
    shortest = 0 if rng.random() < 0.1 else 1
    return tuple(rng.integers(shortest, 5, rng.integers(1, 5)).tolist())


def random_key(shape: tuple[int, ...], rng: np.random.Generator) -> Key:
    """Integers, slices, `None`, `...`, and arrays, most of which broadcast together."""
    block = tuple(rng.integers(rng.random() > 0.1, 4, rng.integers(0, 3)).tolist())
    parts: list[Any] = []
    axis = 0
    while axis < len(shape):
        n, kind = shape[axis], int(rng.integers(0, 9))
        if kind == 0:
            parts.append(None)
        elif kind == 1 and not any(part is Ellipsis for part in parts):
            parts.append(Ellipsis)
            axis += int(rng.integers(0, len(shape) - axis + 1))
        elif kind == 2 and rng.random() < 0.6:
            mask = rng.random(shape[axis : axis + int(rng.integers(1, 3))]) < 0.4
            parts.append(mask)
            axis += mask.ndim
        else:
            parts.append(_for_one_axis(kind, n, block, rng))
            axis += 1
    if parts and not any(part is Ellipsis for part in parts) and rng.random() < 0.3:
        parts.pop()
    return tuple(parts)


def _for_one_axis(kind: int, n: int, block: tuple[int, ...], rng: np.random.Generator) -> Any:
    if kind in (3, 4) and n:
        return int(rng.integers(-n, n))
    if kind in (5, 6, 7) and n:
        lengths = block[int(rng.integers(0, len(block) + 1)) :]
        lengths = tuple(m if rng.random() < 0.7 else 1 for m in lengths)
        return rng.integers(-n, n, lengths).astype(rng.choice(["int64", "int32", "int8"]))
    if kind == 8:
        return slice(None)
    first, stop = (
        None if rng.random() < 0.3 else int(rng.integers(-n - 2, n + 3)) for _ in range(2)
    )
    return slice(first, stop, int(rng.choice([-3, -2, -1, 1, 2, 3])))


def places(shape: tuple[int, ...], key: Key) -> Array | None:
    """The flat positions that NumPy finds, or None if it refuses the key."""
    try:
        return np.arange(int(np.prod(shape))).reshape(shape)[key]
    except IndexError:
        return None


def with_tensors(key: Key, rng: np.random.Generator) -> Key:
    """The same key, with some arrays as tensors, computed ones among them, or nested lists."""

    def other(part: Any) -> Any:
        if not isinstance(part, np.ndarray) or rng.random() < 0.4:
            return part
        if rng.random() < 0.5:
            return part.tolist() if part.ndim else lg.asarray(part)
        return lg.asarray(part)[...] if part.dtype == bool else lg.asarray(part) + 0

    return tuple(map(other, key))
