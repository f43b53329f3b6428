"""Threefry-2x32, the hash that every random number comes from."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]

_CHUNK = 16 * 1024  # counters hashed together: their words stay in the cache between rounds
_MASK = 0xFFFFFFFF
PARITY = 0x1BD11BDA
ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24) * 2 + (13, 15, 26, 6)
_SHIFTS = [(np.array(r, np.uint32), np.array(32 - r, np.uint32)) for r in ROTATIONS]


def threefry_2x32(key: Sequence[int] | Words, x0: Words, x1: Words, out: Words) -> None:
    """Hash pairs of words under a key, in 20 rounds.

        x0 <- x0 + x1      x1 <- rotate_left(x1, r) xor x0      (one round)

    Words of the key are added before the first round and after every fourth.

    Args:
        key: two words.
        x0: the first word of each pair, uint32, of any shape.
        x1: the second word of each pair, of the same shape.
        out: the hashed words, uint32 of shape `(2, *x0.shape)`, in memory of its own.

    Source: Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011.

    Example:
        >>> zero, words = np.zeros(1, np.uint32), np.empty((2, 1), np.uint32)
        >>> threefry_2x32((0, 0), zero, zero, words)
        >>> [hex(word) for word in words[:, 0]]
        ['0x6b200159', '0x99ba4efe']
    """
    keys = _key_schedule(int(key[0]), int(key[1]))
    scratch = np.empty((3, min(x0.size, _CHUNK)), np.uint32)
    for start in range(0, x0.size, _CHUNK):
        piece = slice(start, min(start + _CHUNK, x0.size))
        first, second, spare = scratch[:, : piece.stop - start]
        first[:], second[:] = x0.flat[piece], x1.flat[piece]
        _hash(keys, first, second, spare)
        out[0].flat[piece], out[1].flat[piece] = first, second


def random_bits(key: Words, draw: Any, out: Words) -> None:
    """Fill an array with the random words of one draw.

    The draw has a key of its own, `threefry(key, (draw >> 32, draw mod 2^32))`. Under that key,
    `threefry((i >> 32, i mod 2^32))` gives elements 2i and 2i + 1 of `out` in C order.

    Args:
        key: two words, uint32 of shape `(2,)`.
        draw: which draw, an integer in [0, 2^64) or a 0-d array of one.
        out: the random words, uint32 of any shape and strides.

    Example:
        >>> three, four = np.empty(3, np.uint32), np.empty((2, 2), np.uint32)
        >>> random_bits(np.array([1, 2], np.uint32), 7, three)
        >>> random_bits(np.array([1, 2], np.uint32), 7, four)
        >>> bool(np.all(three == four.ravel()[:3]))
        True
    """
    number = int(draw)
    keys = _key_schedule(int(key[0]), int(key[1]))
    keys = _key_schedule(*_hash_pair(keys, number >> 32, number & _MASK))
    elements = out.reshape(-1) if out.flags.c_contiguous else out.flat
    pairs = (out.size + 1) // 2
    size = min(pairs, _CHUNK)
    scratch, both = np.empty((3, size), np.uint32), np.empty((size, 2), np.uint32)
    steps = np.arange(size, dtype=np.uint32)
    for start in range(0, pairs, _CHUNK):
        n = min(pairs - start, _CHUNK)
        first, second, spare = scratch[:, :n]
        # The chunk divides 2^32, so its counters have one high word and no carry.
        first[:] = start >> 32
        np.add(steps[:n], np.uint32(start & _MASK), out=second)
        _hash(keys, first, second, spare)
        both[:n, 0], both[:n, 1] = first, second
        stop = min(2 * (start + n), out.size)
        elements[2 * start : stop] = both.reshape(-1)[: stop - 2 * start]


def _key_schedule(k0: int, k1: int) -> list[tuple[int, int]]:
    """What is added to the two words before the first round and after every fourth."""
    keys = (k0, k1, k0 ^ k1 ^ PARITY)
    return [(keys[i % 3], (keys[(i + 1) % 3] + i) & _MASK) for i in range(6)]


def _hash(keys: list[tuple[int, int]], x0: Words, x1: Words, spare: Words) -> None:
    """Hash arrays of words in place."""
    for i, (left, right) in enumerate(_SHIFTS):
        if i % 4 == 0:
            _add_keys(keys[i // 4], x0, x1)
        np.add(x0, x1, out=x0)
        np.left_shift(x1, left, out=spare)
        np.right_shift(x1, right, out=x1)
        np.bitwise_or(x1, spare, out=x1)
        np.bitwise_xor(x1, x0, out=x1)
    _add_keys(keys[-1], x0, x1)


def _add_keys(keys: tuple[int, int], x0: Words, x1: Words) -> None:
    np.add(x0, np.uint32(keys[0]), out=x0)
    np.add(x1, np.uint32(keys[1]), out=x1)


def _hash_pair(keys: list[tuple[int, int]], x0: int, x1: int) -> tuple[int, int]:
    """Hash one pair of words, ten times as fast as an array of one."""
    for i, r in enumerate(ROTATIONS):
        if i % 4 == 0:
            x0, x1 = x0 + keys[i // 4][0] & _MASK, x1 + keys[i // 4][1] & _MASK
        x0 = x0 + x1 & _MASK
        x1 = (x1 << r & _MASK | x1 >> 32 - r) ^ x0
    return x0 + keys[-1][0] & _MASK, x1 + keys[-1][1] & _MASK
