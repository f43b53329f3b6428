"""The workloads in PyTorch, eager: its fused AdamW, its attention, its layouts of weights."""

import importlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmarks import workloads
from benchmarks.program import Program
from benchmarks.workloads import (
    NORM_EPSILON,
    Array,
    Convolutional,
    Elements,
    Perceptron,
    Product,
    Rows,
    Shape,
    Transformer,
    Workload,
)

torch: Any = importlib.import_module("torch")
F: Any = importlib.import_module("torch.nn.functional")

Tensors = Mapping[str, Any]


def perceptron(shape: Perceptron, p: Tensors, x: Any) -> Any:
    last = len(shape.widths) - 2
    for i in range(last + 1):
        x = F.linear(x, p[f"weight{i}"], p[f"bias{i}"])
        if i < last:
            x = torch.tanh(x) if shape.regression else F.relu(x)
    return x


def transformer(shape: Transformer, p: Tensors, x: Any) -> Any:
    def norm(h: Any, name: str) -> Any:
        return F.layer_norm(h, (shape.width,), p[name], None, NORM_EPSILON)

    size = (shape.rows, shape.time, shape.heads, -1)
    h = F.embedding(x, p["tokens"]) + p["places"]
    for i in range(shape.layers):
        qkv = F.linear(norm(h, f"{i}.norm1"), p[f"{i}.qkv"]).chunk(3, dim=-1)
        q, k, v = (part.view(size).transpose(1, 2) for part in qkv)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        h = h + F.linear(y.transpose(1, 2).reshape(h.shape), p[f"{i}.mix"])
        wide = F.gelu(F.linear(norm(h, f"{i}.norm2"), p[f"{i}.expand"]))
        h = h + F.linear(wide, p[f"{i}.contract"])
    return F.linear(norm(h, "norm"), p["tokens"])


def convolutional(p: Tensors, x: Any) -> Any:
    for i in range(2):
        x = F.relu(F.conv2d(x, p[f"kernel{i}"], p[f"shift{i}"]))
    x = torch.flatten(F.max_pool2d(x, 2), 1)
    x = F.relu(F.linear(x, p["weight0"], p["bias0"]))
    return F.linear(x, p["weight1"], p["bias1"])


def elements(p: Tensors, x: Any) -> Any:
    y = torch.tanh(p["a"] * x + p["b"]) * torch.sigmoid(p["c"] * x) + torch.exp(-x * x)
    return torch.mean(y**2)


def rows(p: Tensors) -> Any:
    x = p["x"]
    y = F.layer_norm(x, x.shape[1:], p["scale"], p["shift"], NORM_EPSILON)
    return torch.sum(torch.softmax(y, dim=-1) ** 2)


def _classified(scores: Any, y: Any) -> Any:
    return F.cross_entropy(scores.reshape(-1, scores.shape[-1]), y.reshape(-1))


def loss_of(shape: Shape, p: Tensors, batch: Tensors) -> Any:
    """The loss of a batch."""
    match shape:
        case Perceptron(regression=True):
            return F.mse_loss(perceptron(shape, p, batch["x"]), batch["y"])
        case Perceptron():
            return _classified(perceptron(shape, p, batch["x"]), batch["y"])
        case Transformer():
            return _classified(transformer(shape, p, batch["x"]), batch["y"])
        case Convolutional():
            return _classified(convolutional(p, batch["x"]), batch["y"])
        case Elements():
            return elements(p, batch["x"])
        case Rows():
            return rows(p)
    raise TypeError(f"no program is written for {type(shape).__name__}")


def _parameter(name: str, array: Array, shape: Shape) -> Any:
    """Dense weights lie as (outputs, inputs) in PyTorch; the table of tokens does anyway."""
    tables = {"tokens", "places", "x"}
    dense = array.ndim == 2 and name not in tables
    own = np.ascontiguousarray(array.T) if dense else array
    return torch.from_numpy(own).requires_grad_()


def by_torch(product: Product) -> Callable[[], object]:
    """Does a product with PyTorch, in memory that is kept."""

    def operand(rows: int, columns: int, turned: bool) -> Any:
        rows, columns = (columns, rows) if turned else (rows, columns)
        shape = (product.count, rows, columns) if product.count > 1 else (rows, columns)
        x = torch.randn(shape)
        return x.transpose(-1, -2) if turned else x

    a = operand(product.m, product.k, product.turned[0])
    b = operand(product.k, product.n, product.turned[1])
    out = torch.matmul(a, b)
    return lambda: torch.matmul(a, b, out=out)


def prepare(workload: Workload) -> Program:
    """The program for a workload."""
    weights, data = workload.draw()
    p = {name: _parameter(name, array, workload.shape) for name, array in weights.items()}
    batch = {
        name: torch.from_numpy(x.astype(np.int64) if x.dtype == np.int32 else x)
        for name, x in data.items()
    }
    parameters = list(p.values())
    optimizer = torch.optim.AdamW(
        parameters,
        lr=workloads.RATE,
        betas=workloads.BETAS,
        eps=workloads.EPSILON,
        weight_decay=workloads.DECAY,
        fused=True,
    )

    def step() -> Any:
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(workload.shape, p, batch)
        loss.backward()
        if workload.trained:
            torch.nn.utils.clip_grad_norm_(parameters, workloads.CLIP)
            optimizer.step()
        return loss

    return Program(step, loss=lambda loss: float(loss.item()), product=by_torch)
