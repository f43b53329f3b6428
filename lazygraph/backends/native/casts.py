"""Numbers brought to another dtype, with what does not fit as NumPy has it on x86-64."""

from lazygraph.backends.native.register import Register, select
from lazygraph.dtypes import INTEGER, DType, int32, int64, uint64


def cast(x: Register, dtype: DType) -> Register:
    """The number in another dtype.

    A float is cut towards zero. If it fits into none of 64 bits (32 for dtypes of at most 16)
    it becomes the integer whose only bit is the highest, of which a narrower dtype keeps the
    low bits. NumPy does likewise, except that it takes other ways for floats that do not fit
    uint32, depending on where they stand in an array.
    """
    if not x.is_floating or dtype.category != INTEGER:
        return x.to(dtype)
    if dtype is uint64:
        return _unsigned_64(x)
    wide = int64 if dtype.itemsize == 8 or dtype.name == "uint32" else int32
    return _cut(x, wide).to(dtype)


def _cut(x: Register, dtype: DType) -> Register:
    """A float as a signed integer; what does not fit, NaN too, is the smallest one."""
    limit = 2.0 ** (8 * dtype.itemsize - 1)
    fits = (x >= -limit) & (x < limit)
    return select(fits, x.to(dtype), -int(limit))


def _unsigned_64(x: Register) -> Register:
    limit = 2.0**63
    upper = x >= limit
    cut = _cut(select(upper, x - limit, x), int64)
    return select(upper, cut ^ -(2**63), cut).to(uint64)
