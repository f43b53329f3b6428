"""Expressions of several steps: windows, sums by letters, updates, what is computed twice."""

from tests.lazygraph.programs.writer import MOST, Writer, is_number


def normalized(w: Writer) -> str:
    a = w.tensor(lambda x: x.is_floating and x.ndim > 0 and x.size > 0)
    x = w.value(a)
    if w.chance(0.5):
        return f"lg.rms_norm({a}, eps=0.1)"
    return f"lg.vecdot({a}, {w.tensor(lambda y: y.is_floating and y.shape == x.shape)})"


def summed_by_letters(w: Writer) -> str:
    if w.chance(0.3):
        row, other = (
            w.tensor(lambda y: y.is_floating and y.ndim == 1 and 0 < y.size <= MOST // 8)
            for _ in range(2)
        )
        return f"lg.outer({row}, {other})"
    matrix = w.tensor(lambda y: y.is_floating and y.ndim == 2 and y.size > 0)
    letters = w.pick(("ij->ji", "ij->i", "ij,ij->", "ij,kj->ik", "ij,ij->j", "ij->"))
    return f"lg.einsum({letters!r}, {', '.join([matrix] * (letters.count(',') + 1))})"


def recomputed(w: Writer) -> str:
    inner = w.pick(("lg.tanh(a) * a", "lg.exp(a * 0.25) + 1", "lg.softmax(lg.sin(a) * a)"))
    a = w.tensor(lambda x: x.is_floating and x.ndim > 0 and x.size > 0)
    return f"lg.checkpoint(lambda a: {inner})({w.pick((a, f'({a} * 0.5)'))})"


def updated(w: Writer) -> str:
    found = w.tensors(lambda x: x.is_floating and x.ndim > 0 and x.size > 0, variables=False)
    # Where all of a tensor is replaced, the result does not depend on it at all.
    a = w.pick([name for name in found if w.value(name).shape[0] > 1])
    x = w.value(a)
    n = x.shape[0]
    how = w.pick(("set", "add", "add", "multiply", "max", "min"))
    keys = [str(w.rng.randrange(-n, n)), f"slice({w.rng.randrange(n)}, None, 2)"]
    if how == "add":
        keys.append(f"np.array({[w.rng.randrange(-n, n) for _ in range(3)]})")
    values = w.tensors(lambda v: is_number(v) and v.shape in ((), x.shape[1:]))
    value = w.pick(values) if values and w.chance(0.6) else w.number()
    return f"{a}.at[{w.pick(keys)}].{how}({value})"


def windowed(w: Writer) -> str:
    a = w.tensor(lambda x: x.is_floating and x.ndim == 2 and min(x.shape) > 1)
    images = f"lg.reshape({a}, {(1, 1, *w.value(a).shape)})"
    form = w.rng.randrange(3)
    if form < 2:
        pool = ("max_pool2d", "avg_pool2d")[form]
        return f"lg.{pool}({images}, 2, stride={w.rng.randint(1, 2)})"
    kernel = w.tensor(lambda k: k.is_floating and k.size in (4, 8))
    shape = (w.value(kernel).size // 4, 1, 2, 2)
    more = f"stride={w.rng.randint(1, 2)}, padding={w.rng.randint(0, 1)}"
    return f"lg.conv2d({images}, lg.reshape({kernel}, {shape}), {more})"
