"""Random words, as `ops.threefry` defines them."""

from collections.abc import Sequence
from dataclasses import dataclass

from lazygraph.backends.layout import Call
from lazygraph.backends.native.loops import counted_loop, if_
from lazygraph.backends.native.recipe import Frame, Special
from lazygraph.backends.native.register import Register, splat, store, woven
from lazygraph.backends.native.steps import Places
from lazygraph.backends.native.types import INT32, INT64, ir
from lazygraph.dtypes import uint32, uint64
from lazygraph.ops.threefry import PARITY, ROTATIONS

_LANES = 16
_WORD_NS = 0.7

Pair = tuple[Register, Register]


@dataclass(frozen=True)
class Draw:
    """Words 2i and 2i + 1 are the hash of i under the key of the draw; units are words."""

    def emit(self, f: Frame) -> None:
        """Emit what each thread does."""
        key, counter, out = f.pointers
        first_word = f.load(key, uint32)
        own = _schedule(first_word, f.load(f.at(key, 4), uint32))
        keys = _schedule(*_hash(own, _halves(f.load(counter, uint64))))
        vectors = f.b.udiv(f.count, INT64(2 * _LANES))
        first, stop = f.share(vectors)
        with counted_loop(f.b, f.b.sub(stop, first)) as i:
            pair = f.times(f.b.add(first, i), _LANES)
            high, low = (
                splat(word, _LANES) for word in _halves(Register(f.k.site, pair, uint64))
            )
            lanes = ir.Constant(ir.VectorType(INT32, _LANES), list(range(_LANES)))
            low = low + Register(f.k.site, lanes, uint32)  # no carry: the lanes divide 2^32
            wide = [(splat(x, _LANES), splat(y, _LANES)) for x, y in keys]
            store(woven(*_hash(wide, (high, low))), f.at(out, f.times(pair, 8)))
        with if_(f.b, f.b.icmp_signed("==", f.thread, INT64(0))):
            self._rest(f, keys, f.times(vectors, 2 * _LANES))

    def _rest(self, f: Frame, keys: Sequence[Pair], done: ir.Value) -> None:
        out = f.pointers[2]
        with counted_loop(f.b, f.b.sub(f.count, done), 2) as i:
            word = f.b.add(done, i)
            pair = Register(f.k.site, f.b.udiv(word, INT64(2)), uint64)
            even, odd = _hash(keys, _halves(pair))
            store(even, f.at(out, f.times(word, 4)))
            following = f.b.add(word, INT64(1))
            with if_(f.b, f.b.icmp_signed("<", following, f.count)):
                store(odd, f.at(out, f.times(following, 4)))


def _halves(x: Register) -> Pair:
    return (x >> 32).to(uint32), x.to(uint32)


def _schedule(k0: Register, k1: Register) -> list[Pair]:
    keys = (k0, k1, k0 ^ k1 ^ PARITY)
    return [(keys[i % 3], keys[(i + 1) % 3] + i) for i in range(6)]


def _hash(keys: Sequence[Pair], words: Pair) -> Pair:
    x0, x1 = words
    for i, r in enumerate(ROTATIONS):
        if i % 4 == 0:
            x0, x1 = x0 + keys[i // 4][0], x1 + keys[i // 4][1]
        x0 = x0 + x1
        x1 = ((x1 << r) | (x1 >> (32 - r))) ^ x0
    return x0 + keys[-1][0], x1 + keys[-1][1]


def draw(call: Call, places: Places) -> Special | None:
    """How random words are drawn."""
    key, counter, out = operands = places.operands(call)
    count = call.out.phantom.size
    if (
        not count
        or key.strides != (4,)
        or counter.dtype is not uint64
        or out.dtype is not uint32
    ):
        return None
    return Special(Draw(), count, operands, _WORD_NS * count)
