"""The workloads in lazygraph, as its user would write them."""

from collections.abc import Mapping

import lazygraph as lg
import training
from benchmarks import workloads
from benchmarks.program import Program
from benchmarks.workloads import (
    Convolutional,
    Elements,
    Perceptron,
    Rows,
    Shape,
    Transformer,
    Workload,
)

Vars = Mapping[str, lg.Var]
Batch = Mapping[str, lg.Tensor]


def perceptron(shape: Perceptron, p: Vars, x: lg.Tensor) -> lg.Tensor:
    last = len(shape.widths) - 2
    for i in range(last + 1):
        x = x @ p[f"weight{i}"] + p[f"bias{i}"]
        if i < last:
            x = lg.tanh(x) if shape.regression else lg.relu(x)
    return x


def norm(x: lg.Tensor, *weights: lg.Var) -> lg.Tensor:
    return lg.layer_norm(x, *weights, eps=workloads.NORM_EPSILON)


def attention(shape: Transformer, p: Vars, i: int, x: lg.Tensor) -> lg.Tensor:
    rows, time, width = x.shape
    heads = (rows, time, 3, shape.heads, width // shape.heads)
    qkv = lg.permute_dims(lg.reshape(x @ p[f"{i}.qkv"], heads), (2, 0, 3, 1, 4))
    y = lg.attention(qkv[0], qkv[1], qkv[2], causal=True)
    return lg.reshape(lg.permute_dims(y, (0, 2, 1, 3)), x.shape) @ p[f"{i}.mix"]


def transformer(shape: Transformer, p: Vars, x: lg.Tensor) -> lg.Tensor:
    h = p["tokens"][x] + p["places"]
    for i in range(shape.layers):
        h = h + attention(shape, p, i, norm(h, p[f"{i}.norm1"]))
        wide = lg.gelu(norm(h, p[f"{i}.norm2"]) @ p[f"{i}.expand"])
        h = h + wide @ p[f"{i}.contract"]
    return norm(h, p["norm"]) @ p["tokens"].tensor().T


def convolutional(p: Vars, x: lg.Tensor) -> lg.Tensor:
    for i in range(2):
        x = lg.relu(lg.conv2d(x, p[f"kernel{i}"], p[f"shift{i}"]))
    x = lg.reshape(lg.max_pool2d(x, 2), (x.shape[0], -1))
    x = lg.relu(x @ p["weight0"] + p["bias0"])
    return x @ p["weight1"] + p["bias1"]


def elements(p: Vars, x: lg.Tensor) -> lg.Tensor:
    y = lg.tanh(p["a"] * x + p["b"]) * lg.sigmoid(p["c"] * x) + lg.exp(-x * x)
    return lg.mean(lg.square(y))


def rows(p: Vars) -> lg.Tensor:
    y = lg.softmax(norm(p["x"].tensor(), p["scale"], p["shift"]), axis=-1)
    return lg.sum(lg.square(y))


def loss_of(shape: Shape, p: Vars, batch: Batch) -> lg.Tensor:
    """The loss of a batch, recorded."""
    match shape:
        case Perceptron(regression=True):
            return training.mse_loss(perceptron(shape, p, batch["x"]), batch["y"])
        case Perceptron():
            return training.cross_entropy(perceptron(shape, p, batch["x"]), batch["y"])
        case Transformer():
            return training.cross_entropy(transformer(shape, p, batch["x"]), batch["y"])
        case Convolutional():
            return training.cross_entropy(convolutional(p, batch["x"]), batch["y"])
        case Elements():
            return elements(p, batch["x"])
        case Rows():
            return rows(p)
    raise TypeError(f"no program is written for {type(shape).__name__}")


def prepare(workload: Workload) -> Program:
    """The program for a workload."""
    weights, data = workload.draw()
    p = {name: lg.Var(name, array) for name, array in weights.items()}
    batch = {name: lg.asarray(array) for name, array in data.items()}
    shape = workload.shape
    given = sum(x.nbytes for x in (*weights.values(), *data.values()))

    def predicted(held: int) -> dict[str, int]:
        return {"given and kept": held, "arena and results": lg.stats().peak_bytes}

    if not workload.trained:

        def forward_and_backward() -> lg.Tensor:
            loss = loss_of(shape, p, batch)
            gradients = loss.backward()
            lg.realize(loss, [gradients[var] for var in p.values()])
            return loss

        return Program(forward_and_backward, predicted=lambda: predicted(given))

    optimizer = training.AdamW(
        p,
        lr=workloads.RATE,
        betas=workloads.BETAS,
        eps=workloads.EPSILON,
        weight_decay=workloads.DECAY,
    )
    loop = training.TrainingLoop(max_grad_norm=workloads.CLIP)
    moments = 2 * sum(var.size * var.dtype.itemsize for var in p.values())
    return Program(
        lambda: loop.step(loss_of(shape, p, batch), optimizer),
        loss=lambda outcome: outcome.loss,
        predicted=lambda: predicted(given + moments),
    )
