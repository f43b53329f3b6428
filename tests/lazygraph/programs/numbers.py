"""Expressions that compute numbers: element by element, and along axes."""

from tests.lazygraph.programs.writer import (
    Writer,
    is_integer,
    is_mask,
    is_number,
)

SMOOTH = (
    *("tanh", "sin", "cos", "tan", "exp", "expm1", "log", "log2", "log10", "log1p", "sqrt"),
    *("rsqrt", "reciprocal", "erf", "sigmoid", "softplus", "silu", "gelu", "sinh", "cosh"),
    *("asin", "acos", "atan", "asinh", "acosh", "atanh", "square", "negative", "positive"),
)
KINKED = ("relu", "abs", "sign", "floor", "ceil", "trunc", "round")
PAIRS = (
    *("add", "subtract", "multiply", "divide", "maximum", "minimum", "power", "hypot"),
    *("atan2", "logaddexp", "floor_divide", "remainder", "copysign"),
)
COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
REDUCTIONS = (
    *("sum", "mean", "max", "min", "prod", "var", "std", "logsumexp", "vector_norm"),
    *("sum", "mean"),
)


def smooth(w: Writer) -> str:
    return f"lg.{w.pick(SMOOTH)}({w.operand()})"


def kinked(w: Writer) -> str:
    return f"lg.{w.pick(KINKED)}({w.operand()})"


def positive_argument(w: Writer) -> str:
    inner = f"lg.square({w.operand()}) + 0.5"
    return f"lg.{w.pick(('log', 'sqrt', 'rsqrt', 'reciprocal', 'log2'))}({inner})"


def of_two(w: Writer) -> str:
    a = w.tensor(is_number)
    b = w.partner(a)
    a, b = (a, b) if w.chance(0.7) else (b, a)
    return f"lg.{w.pick(PAIRS)}({a}, {b})"


def operator(w: Writer) -> str:
    a = w.tensor(is_number)
    b = w.partner(a)
    a, b = (a, b) if w.chance(0.5) else (b, a)
    return f"{a} {w.pick(('+', '-', '*', '/', '+', '*'))} {b}"


def power(w: Writer) -> str:
    return f"{w.operand()} ** {w.pick(('2', '3', '0.5', '-1', '1.5', '1', '0'))}"


def comparison(w: Writer) -> str:
    a = w.tensor(is_number)
    return f"lg.{w.pick(COMPARISONS)}({a}, {w.partner(a)})"


def logic(w: Writer) -> str:
    a = w.tensor(is_mask)
    if w.chance(0.3):
        return f"lg.logical_not({a})"
    b = w.tensor(lambda y: y.dtype == "bool" and y.shape == w.value(a).shape)
    return f"lg.logical_{w.pick(('and', 'or', 'xor'))}({a}, {b})"


def bitwise(w: Writer) -> str:
    a = w.tensor(is_integer)
    if w.chance(0.4):
        return f"lg.bitwise_{w.pick(('left', 'right'))}_shift({a}, {w.rng.randint(0, 3)})"
    if w.chance(0.3):
        return f"lg.bitwise_invert({a})"
    shape = w.value(a).shape
    b = w.tensor(lambda y: is_integer(y) and y.shape == shape)
    return f"lg.bitwise_{w.pick(('and', 'or', 'xor'))}({a}, {b})"


def classified(w: Writer) -> str:
    return f"lg.{w.pick(('isfinite', 'isnan', 'isinf', 'signbit'))}({w.tensor()})"


def where(w: Writer) -> str:
    a = w.tensor(is_number)
    x = w.value(a)
    masks = w.tensors(lambda y: y.dtype == "bool" and y.shape in (x.shape, ()))
    condition = w.pick(masks) if masks and w.chance(0.6) else f"{a} > {w.number()}"
    return f"lg.where({condition}, {a}, {w.partner(a)})"


def clip(w: Writer) -> str:
    low, high = w.pick(("-1.0", "None", "0")), w.pick(("0.5", "2", "1"))
    return f"lg.clip({w.operand()}, {low}, {high})"


def reduction(w: Writer) -> str:
    a = w.tensor(is_number)
    f = w.pick(REDUCTIONS)
    if not w.value(a).is_floating and f in ("logsumexp", "vector_norm", "max", "min"):
        f = "sum"
    return f"lg.{f}({a}, axis={w.axes(w.value(a))}, keepdims={w.chance(0.4)})"


def truth(w: Writer) -> str:
    a = w.tensor(lambda x: True)
    f = w.pick(("any", "all", "count_nonzero"))
    return f"lg.{f}({a}, axis={w.axes(w.value(a))}, keepdims={w.chance(0.4)})"


def place(w: Writer) -> str:
    a = w.tensor(is_number)
    axis = w.axis(w.value(a)) if w.chance(0.7) else None
    return f"lg.{w.pick(('argmax', 'argmin'))}({a}, axis={axis}, keepdims={w.chance(0.3)})"


def along_an_axis(w: Writer) -> str:
    f = w.pick(("softmax", "log_softmax", "cumulative_sum", "sort", "argsort", "diff"))
    a = w.tensor(lambda x: x.is_floating and x.size > 0)
    more = f", descending={w.chance(0.5)}" if f.endswith("sort") else ""
    return f"lg.{f}({a}, axis={w.axis(w.value(a))}{more})"


def whole_norm(w: Writer) -> str:
    return f"lg.norm({w.tensor()})"


def layer_norm(w: Writer) -> str:
    return f"lg.layer_norm({w.tensor(lambda x: x.is_floating and x.ndim > 0)}, eps=0.1)"
