"""A lazy computation-graph engine for the CPU: record now, compute when asked for a value."""

from collections.abc import Sequence
from typing import Any

from lazygraph import errors, extend
from lazygraph.autodiff import (
    GradientMap,
    GradientReport,
    checkpoint,
    custom_gradient,
    grad,
    gradcheck,
)
from lazygraph.autodiff import backward as _backward
from lazygraph.backends.native.backend import clear_cache
from lazygraph.counters import Stats, stats
from lazygraph.dtypes import (
    DType,
    as_dtype,
    bool_,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from lazygraph.graph.cell import Cell, replace_all
from lazygraph.graph.engine import engine as _engine
from lazygraph.graph.node import Node
from lazygraph.graph.tensor import Tensor
from lazygraph.graph.var import Var
from lazygraph.inspection.dot import to_dot
from lazygraph.inspection.explain import Explanation, explain
from lazygraph.inspection.jsondump import to_json
from lazygraph.inspection.listing import listing
from lazygraph.inspection.mermaid import to_mermaid
from lazygraph.inspection.network import to_networkx
from lazygraph.inspection.show import render as _render
from lazygraph.ops import random
from lazygraph.ops.along import one_hot, take_along_axis
from lazygraph.ops.arithmetic import (
    abs,
    add,
    divide,
    multiply,
    negative,
    reciprocal,
    sign,
    square,
    subtract,
)
from lazygraph.ops.averaging import avg_pool2d
from lazygraph.ops.bitwise import (
    bitwise_and,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
)
from lazygraph.ops.choice import clip, maximum, minimum, where
from lazygraph.ops.comparison import (
    equal,
    greater,
    greater_equal,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    not_equal,
)
from lazygraph.ops.contraction import matmul
from lazygraph.ops.conversion import astype, stop_gradient
from lazygraph.ops.convolution import conv2d
from lazygraph.ops.creation import (
    arange,
    asarray,
    eye,
    full,
    full_like,
    ones,
    ones_like,
    tril,
    triu,
    zeros,
    zeros_like,
)
from lazygraph.ops.cumulative import cumulative_sum, diff
from lazygraph.ops.einsum import einsum
from lazygraph.ops.gathering import take
from lazygraph.ops.grids import broadcast_arrays, linspace, meshgrid
from lazygraph.ops.hyperbolic import acosh, asinh, atanh, cosh, sinh
from lazygraph.ops.indexing import index as _index
from lazygraph.ops.joining import concat, stack
from lazygraph.ops.layout import expand_dims, matrix_transpose, permute_dims, reshape, squeeze
from lazygraph.ops.logarithm import expm1, log1p, log10, logaddexp, softplus
from lazygraph.ops.neural import (
    attention,
    gelu,
    layer_norm,
    log_softmax,
    logsumexp,
    relu,
    silu,
    softmax,
)
from lazygraph.ops.normalization import rms_norm
from lazygraph.ops.norms import std, vector_norm
from lazygraph.ops.pooling import max_pool1d, max_pool2d
from lazygraph.ops.products import prod
from lazygraph.ops.quantifiers import all, any, count_nonzero
from lazygraph.ops.rearranging import flip, moveaxis, pad, repeat, roll, tile, unstack
from lazygraph.ops.reduction import argmax, max, mean, min, norm, var
from lazygraph.ops.rounding import ceil, floor, floor_divide, remainder, round, trunc
from lazygraph.ops.signs import copysign, positive, signbit
from lazygraph.ops.sorting import argmin, argsort, searchsorted, sort, topk
from lazygraph.ops.spread import broadcast_to, sum
from lazygraph.ops.tensordot import outer, tensordot, vecdot
from lazygraph.ops.transcendental import (
    cos,
    erf,
    exp,
    log,
    log2,
    power,
    rsqrt,
    sigmoid,
    sin,
    sqrt,
    tanh,
)
from lazygraph.ops.trigonometry import acos, asin, atan, atan2, hypot, tan
from lazygraph.ops.updating import At
from lazygraph.realization import no_realize, realize
from lazygraph.realization import realize_nodes as _realize_nodes
from lazygraph.settings import (
    num_threads,
    set_backend,
    set_cache_folder,
    set_num_threads,
    set_verify,
    using,
)
from lazygraph.source import scope


class _Floors:
    """What tensors reach on the floors above their own; see `graph/engine.py`."""

    def realize(self, nodes: Sequence[Node]) -> None:
        _realize_nodes(nodes)

    def backward(self, loss: Tensor, upstream: Tensor | None) -> GradientMap:
        return _backward(loss, upstream)

    def render(self, tensor: Tensor) -> str:
        return _render(tensor)

    def index(self, tensor: Tensor, key: Any) -> Tensor:
        return _index(tensor, key)

    def at(self, tensor: Tensor) -> At:
        return At(tensor)


_engine.install(_Floors())


__version__ = "0.1.0"

__all__ = [
    "At",
    "Cell",
    "DType",
    "Explanation",
    "GradientMap",
    "GradientReport",
    "Node",
    "Stats",
    "Tensor",
    "Var",
    "abs",
    "acos",
    "acosh",
    "add",
    "all",
    "any",
    "arange",
    "argmax",
    "argmin",
    "argsort",
    "as_dtype",
    "asarray",
    "asin",
    "asinh",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "attention",
    "avg_pool2d",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "bool_",
    "broadcast_arrays",
    "broadcast_to",
    "ceil",
    "checkpoint",
    "clear_cache",
    "clip",
    "concat",
    "conv2d",
    "copysign",
    "cos",
    "cosh",
    "count_nonzero",
    "cumulative_sum",
    "custom_gradient",
    "diff",
    "divide",
    "einsum",
    "equal",
    "erf",
    "errors",
    "exp",
    "expand_dims",
    "explain",
    "expm1",
    "extend",
    "eye",
    "flip",
    "float32",
    "float64",
    "floor",
    "floor_divide",
    "full",
    "full_like",
    "gelu",
    "grad",
    "gradcheck",
    "greater",
    "greater_equal",
    "hypot",
    "int16",
    "int32",
    "int64",
    "int8",
    "isfinite",
    "isinf",
    "isnan",
    "layer_norm",
    "less",
    "less_equal",
    "linspace",
    "listing",
    "log",
    "log10",
    "log1p",
    "log2",
    "log_softmax",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logsumexp",
    "matmul",
    "matrix_transpose",
    "max",
    "max_pool1d",
    "max_pool2d",
    "maximum",
    "mean",
    "meshgrid",
    "min",
    "minimum",
    "moveaxis",
    "multiply",
    "negative",
    "no_realize",
    "norm",
    "not_equal",
    "num_threads",
    "one_hot",
    "ones",
    "ones_like",
    "outer",
    "pad",
    "permute_dims",
    "positive",
    "power",
    "prod",
    "random",
    "realize",
    "reciprocal",
    "relu",
    "remainder",
    "repeat",
    "replace_all",
    "reshape",
    "rms_norm",
    "roll",
    "round",
    "rsqrt",
    "scope",
    "searchsorted",
    "set_backend",
    "set_cache_folder",
    "set_num_threads",
    "set_verify",
    "sigmoid",
    "sign",
    "signbit",
    "silu",
    "sin",
    "sinh",
    "softmax",
    "softplus",
    "sort",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "stats",
    "std",
    "stop_gradient",
    "subtract",
    "sum",
    "take",
    "take_along_axis",
    "tan",
    "tanh",
    "tensordot",
    "tile",
    "to_dot",
    "to_json",
    "to_mermaid",
    "to_networkx",
    "topk",
    "tril",
    "triu",
    "trunc",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "unstack",
    "using",
    "var",
    "vecdot",
    "vector_norm",
    "where",
    "zeros",
    "zeros_like",
]
