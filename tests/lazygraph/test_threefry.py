"""Threefry: the published vectors, and words that depend on key, draw and place alone."""

import numpy as np
import pytest
from numpy.typing import NDArray

from lazygraph.ops.threefry import random_bits, threefry_2x32

Words = NDArray[np.uint32]
Pair = tuple[int, int]

# Counter, key and result for 20 rounds: the known answers published with Random123.
KNOWN: tuple[tuple[Pair, Pair, Pair], ...] = (
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x243F6A88, 0x85A308D3), (0x13198A2E, 0x03707344), (0xC4923A9C, 0x483DF7A0)),
)
KEY = np.array([0x13198A2E, 0x03707344], np.uint32)


def hashed(key: Pair | Words, x0: Words, x1: Words) -> Words:
    out = np.zeros((2, *x0.shape), np.uint32)
    threefry_2x32(key, x0, x1, out)
    return out


def bits(shape: tuple[int, ...], draw: int = 5, key: Words = KEY) -> Words:
    out = np.zeros(shape, np.uint32)
    random_bits(key, np.array(draw, np.uint64), out)
    return out


@pytest.mark.parametrize(("counter", "key", "wanted"), KNOWN)
@pytest.mark.parametrize("count", [1, 3, 20_000])
def test_the_published_vectors_come_out(
    counter: Pair, key: Pair, wanted: Pair, count: int
) -> None:
    x0, x1 = (np.full(count, word, np.uint32) for word in counter)
    for words in (key, np.array(key, np.uint32)):
        out = hashed(words, x0, x1)
        assert np.all(out[0] == wanted[0])
        assert np.all(out[1] == wanted[1])


def test_the_hash_leaves_its_counters_and_takes_any_shape_and_strides(
    rng: np.random.Generator,
) -> None:
    x0, x1 = rng.integers(0, 2**32, (2, 30, 1100), dtype=np.uint32)
    kept = x0.copy(), x1.copy()
    whole = hashed(KEY, x0, x1)
    assert np.array_equal(x0, kept[0])
    assert np.array_equal(x1, kept[1])
    assert np.array_equal(hashed(KEY, x0.T, x1.T), whole.transpose(0, 2, 1))
    assert np.array_equal(hashed(KEY, x0[::2, ::-3], x1[::2, ::-3]), whole[:, ::2, ::-3])
    assert hashed(KEY, x0[:0], x1[:0]).size == 0


@pytest.mark.parametrize("draw", [0, 5, 2**32 - 1, 2**32, 2**64 - 1])
def test_the_words_of_a_draw_are_the_hash_under_the_hash_of_the_draw(draw: int) -> None:
    one = np.ones(1, np.uint32)
    subkey = hashed(KEY, one * np.uint32(draw >> 32), one * np.uint32(draw & 0xFFFFFFFF))
    counters = np.arange(40_000, dtype=np.uint32)
    wanted = hashed(subkey[:, 0], np.zeros_like(counters), counters)
    assert np.array_equal(bits((80_000,), draw), wanted.T.reshape(-1))


@pytest.mark.parametrize("count", [0, 1, 2, 7, 32_767, 32_768, 32_769, 65_537])
def test_a_shorter_draw_is_the_beginning_of_a_longer_one(count: int) -> None:
    assert np.array_equal(bits((count,)), bits((70_000,))[:count])


def test_words_lie_in_c_order_whatever_shape_and_strides() -> None:
    flat = bits((70_000,))
    assert np.array_equal(bits((70, 1000)), flat.reshape(70, 1000))
    assert bits(()) == flat[0]
    transposed = np.zeros((1000, 70), np.uint32)
    random_bits(KEY, 5, transposed.T)
    assert np.array_equal(transposed.T, flat.reshape(70, 1000))
    strided = np.zeros((35, 2, 999, 2), np.uint32)
    random_bits(KEY, 5, strided[:, 0, :, 1])
    assert np.array_equal(strided[:, 0, :, 1].reshape(-1), flat[: 35 * 999])
    assert not strided[:, 1].any()


def test_key_and_draw_each_change_the_words() -> None:
    draws = [bits((64,), draw).tobytes() for draw in (0, 1, 2, 2**32, 2**33)]
    keys = [bits((64,), 0, KEY ^ np.uint32(change)).tobytes() for change in (1, 2, 4)]
    assert len({*draws, *keys}) == 8


def test_each_bit_is_set_half_of_the_time() -> None:
    words = bits((1 << 16,))
    shares = [float(np.mean(words >> np.uint32(i) & np.uint32(1))) for i in range(32)]
    assert max(abs(share - 0.5) for share in shares) < 5 * 0.5 / 2**8
