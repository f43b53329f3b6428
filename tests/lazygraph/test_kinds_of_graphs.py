"""The kinds behind reported faults of graphs: sharing, aliasing, identity, copies."""

import copy
import itertools
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazygraph as lg
from tests.lazygraph import op_cases
from tests.lazygraph.exactness import Array, assert_same_bits, bits
from tests.lazygraph.op_cases import DTYPES, FLOATS

EARLY = pytest.mark.parametrize("early", [False, True], ids=["lazy", "realized early"])
OF_FLOATS = pytest.mark.parametrize("dtype", FLOATS, ids=op_cases.name)


class Web:
    """Sums and products of two earlier nodes each: nearly every one is used several times."""

    def __init__(self, rng: np.random.Generator, count: int = 12) -> None:
        self.steps = [
            (bool(rng.integers(2)), *(int(rng.integers(0, i)) for _ in range(2)))
            for i in range(2, count)
        ]

    def nodes(self, leaves: list[Any], sink: int) -> list[Any]:
        """All nodes; the last one adds the node `sink` to that before it."""
        found = list(leaves)
        for is_sum, i, j in self.steps:
            found.append(found[i] + found[j] if is_sum else found[i] * found[j])
        return [*found, found[-1] + found[sink]]

    def slope(self, values: list[float], by: int, sink: int) -> float:
        """The derivative of the last node by one node, forwards through those after it."""
        d = [0.0] * len(values)
        d[by] = 1.0
        for n, (is_sum, i, j) in enumerate(self.steps, start=2):
            if n > by:
                d[n] = d[i] + d[j] if is_sum else d[i] * values[j] + values[i] * d[j]
        return d[-2] + d[sink]


@OF_FLOATS
@EARLY
def test_a_node_passes_its_gradient_on_when_all_its_uses_gave_theirs(
    early: bool, dtype: Any, rng: np.random.Generator
) -> None:
    # Numbers so small and whole that every sum is exact.
    for _ in range(30):
        web, sink = Web(rng), int(rng.integers(2, 10))
        numbers = [1.0, -1.0]
        nodes = web.nodes([lg.asarray(n, dtype=dtype) for n in numbers], sink)
        values = web.nodes(numbers, sink)
        if early:
            lg.realize(nodes[2::2])
        slopes = nodes[-1].backward()
        assert nodes[-1].item() == values[-1]
        for by, node in enumerate(nodes[:-1]):
            wanted = web.slope(values, by, sink)
            assert (slopes[node].item() if node in slopes else 0.0) == wanted


READERS: dict[str, Callable[[Any], Any]] = {
    "double": lambda x: 2 * x,
    "part": lambda x: x[1:] + x[:-1],
    "view": lambda x: x[::-1],
    "sum": lambda x: x.sum() if isinstance(x, np.ndarray) else lg.sum(x),
}


@pytest.mark.parametrize("method", ["set", "add", "multiply", "min", "max"])
@pytest.mark.parametrize("key", [1, slice(1, None), [0, 2], slice(None, None, -2)], ids=str)
@EARLY
def test_what_was_read_before_an_update_is_what_it_was_in_any_order(
    early: bool, key: Any, method: str
) -> None:
    before = np.array([5.0, 7.0, 8.0])
    for order in itertools.permutations(range(3)):
        for reader in READERS.values():
            x = lg.asarray(before) * 1.0
            if early:
                x.realize()
            old = reader(x)
            y = getattr(x.at[key], method)(6.0)
            new = reader(y)
            seen = [old, y, new]
            for i in order:
                seen[i].realize()
            assert_same_bits(x, before)
            assert_same_bits(old, np.asarray(reader(before)))
            assert_same_bits(new, np.asarray(reader(y.numpy().copy())))


@pytest.mark.parametrize("dtype", DTYPES, ids=op_cases.name)
@pytest.mark.parametrize("size", [0, 1, 3, 5000])
def test_no_array_from_outside_is_ever_shared(dtype: Any, size: int) -> None:
    # Whatever it is, however it lies, wherever it enters.
    plain = np.ones((size, 4), dtype)
    sources = (plain, np.asfortranarray(plain), plain[:, ::2], plain[::-1].T, plain[:, 0])
    for given in sources:
        source = given.copy(order="K")
        entered = [lg.asarray(source), lg.Var("w", source).tensor(), lg.where(True, source, 0)]
        if np.dtype(dtype).kind == "f":
            x = lg.asarray(given)
            entered.append(lg.grad(x * 1.0, x, upstream=source))
        late = [lg.stack([t, t]) for t in entered]
        source[...] = 0
        for t, both in zip(entered, late, strict=True):
            assert np.array_equal(t.numpy(), given)
            assert np.array_equal(both.numpy()[1], given)
            mine = t.numpy().copy()
            mine[...] = 0
            assert np.array_equal(np.array(t), given)


@OF_FLOATS
def test_equal_tensors_have_a_gradient_each(dtype: Any, rng: np.random.Generator) -> None:
    factors = rng.integers(-9, 10, 40).tolist()
    for data in (1.0, [2.0, 2.0], [[0.0]]):
        tensors = [lg.asarray(data, dtype=dtype) for _ in factors]
        total = lg.sum(sum(f * x for f, x in zip(factors, tensors, strict=True)))
        slopes = total.backward()
        for factor, x in zip(factors, tensors, strict=True):
            assert np.array_equal(slopes[x].numpy(), np.full(x.shape, factor))
        assert len(dict.fromkeys(tensors)) == len(factors)
        assert lg.asarray(data, dtype=dtype) not in slopes


FUNCTIONS: dict[str, Callable[[lg.Tensor], lg.Tensor]] = {
    "elements": lambda x: lg.exp(x) * x,
    "rows": lambda x: lg.softmax(x) @ lg.matrix_transpose(x),
    "update": lambda x: x.at[0].multiply(x[1]),
    "picked": lambda x: x[[0, 0, 1]] * lg.sort(x, axis=0)[1],
    "spread": lambda x: lg.std(x, axis=0) + lg.cumulative_sum(x, axis=1)[0],
}


@OF_FLOATS
@EARLY
@pytest.mark.parametrize("name", FUNCTIONS)
def test_backward_starts_anew_whenever_it_is_called(
    name: str, early: bool, dtype: Any, rng: np.random.Generator
) -> None:
    x = lg.asarray(rng.standard_normal((2, 3)).astype(dtype))
    y = FUNCTIONS[name](x)
    u, v = (rng.standard_normal(y.shape).astype(dtype) for _ in range(2))
    first = y.backward(u)
    if early:
        lg.realize(first[x], y)
    again, other, twice = y.backward(u), y.backward(v), y.backward(u + u)
    once = bits(first[x])
    assert bits(again[x]) == bits(lg.grad(y, x, upstream=u)) == once
    assert bits(first[x] + again[x]) == bits(twice[x])
    assert bits(other[x]) != once
    assert bits(first[x]) == once


# None of these lets a gradient through, each for a reason of its own.
CLOSED: dict[str, Callable[[lg.Tensor], lg.Tensor]] = {
    "comparison": lambda b: lg.where(b > 0, 2.0, 3.0),
    "integers": lambda b: lg.astype(lg.astype(b, lg.int32), b.dtype),
    "booleans": lambda b: lg.astype(lg.astype(b, "bool"), b.dtype),
    "place": lambda b: lg.astype(lg.argmax(b, axis=1), b.dtype),
    "order": lambda b: lg.astype(lg.argsort(b, axis=1), b.dtype),
    "kind": lambda b: lg.astype(lg.isfinite(b), b.dtype),
    "detached": lambda b: b.detach() * 2.0,
    "stopped": lambda b: lg.stop_gradient(b * 2.0),
    "its shape": lambda b: lg.ones_like(b),
}
# These do, and what comes through is 0.
FLAT: dict[str, Callable[[lg.Tensor], lg.Tensor]] = {
    "times zero": lambda b: 0 * b,
    "rounded": lg.floor,
    "sign": lg.sign,
    "never chosen": lambda b: lg.where(False, lg.log(b), 1.0),
    "overwritten": lambda b: b.at[[0, 1]].set(1.0),
    "none of it": lambda b: b[:0],
    "out of bounds": lambda b: lg.clip(b, 100.0, 200.0),
}


@OF_FLOATS
@EARLY
@pytest.mark.parametrize("name", [*CLOSED, *FLAT])
def test_no_path_and_a_flat_one_are_told_apart(name: str, early: bool, dtype: Any) -> None:
    a = lg.asarray([1.0, 2.0], dtype=dtype)
    b = lg.asarray([[0.5, -2.0, 3.0], [0.0, 4.0, -1.0]], dtype=dtype)
    through = {**CLOSED, **FLAT}[name](b)
    if early:
        through.realize()
    loss = lg.sum(2 * a) + lg.sum(lg.astype(through, a.dtype))
    slopes = loss.backward()
    assert (b in slopes) == (name in FLAT)
    assert slopes[a].tolist() == [2.0, 2.0]
    of_a, of_b = lg.grad(loss, [a, b], missing="zero")
    assert of_a.tolist() == [2.0, 2.0]
    assert of_b.node.spec == b.node.spec
    assert of_b.tolist() == [[0.0] * 3] * 2
    if name in CLOSED:
        assert slopes.get(b) is None
        with pytest.raises(KeyError, match="must depend on"):
            lg.grad(loss, [a, b])


COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
}


@EARLY
@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("name", [*FUNCTIONS, "random", "gradient", "of a Var"])
def test_a_copy_has_the_bits_of_what_it_was_taken_from(
    name: str, how: str, early: bool, rng: np.random.Generator
) -> None:
    w = lg.Var("w", rng.standard_normal((2, 3)))

    def made() -> Any:
        x = w.tensor()
        kinds: dict[str, Callable[[lg.Tensor], lg.Tensor]] = {
            **FUNCTIONS,
            "random": lambda x: x + lg.random.Generator(4).normal((2, 3), dtype=lg.float64),
            "gradient": lambda x: lg.grad(lg.sum(lg.tanh(x)), x),
            "of a Var": lambda x: x * 2.0,
        }
        return kinds[name](x)

    wanted, y = bits(made()), made()
    if early:
        y.realize()
    several = COPIES[how]({"y": y, "more": [y, y + 1.0]})
    w.assign(np.zeros((2, 3)))
    assert bits(several["more"][1]) == bits(y + 1.0)
    assert bits(several["y"]) == bits(several["more"][0]) == wanted == bits(y)


@pytest.mark.parametrize("name", ["sum", "cumulative_sum"])
def test_a_float32_that_counts_ones_passes_the_end_of_its_whole_numbers(name: str) -> None:
    # One running sum would stay at 2^24.
    count = 2**24 + 4096
    ones: Array = np.ones((count,), np.float32)
    if name == "sum":
        assert lg.sum(lg.asarray(ones, copy=False)).item() == count
        assert lg.mean(lg.asarray(ones, copy=False)).item() == 1.0
    else:
        last = lg.cumulative_sum(lg.asarray(ones, copy=False))[-1].item()
        assert last == count


def test_half_precision_is_refused_rather_than_widened_in_silence() -> None:
    half = np.ones(3, np.float16)
    for enter in (lg.asarray, lambda x: lg.Var("w", x), lambda x: lg.ones((3,)) + x, lg.sum):
        with pytest.raises(lg.errors.DTypeError, match=r"must be one of .*; got .*float16"):
            enter(half)
