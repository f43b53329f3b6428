"""What laziness costs: recording a node, and finding the plan of a graph seen before."""

import timeit
from collections.abc import Callable

import numpy as np

import lazygraph as lg
import training
from lazygraph.extend import scan

MICRO = 1e6


def best(action: Callable[[], object], number: int = 2000, repeat: int = 15) -> float:
    """The shortest mean time of `number` calls, in seconds: noise only ever adds."""
    return min(timeit.repeat(action, number=number, repeat=repeat)) / number


def recording() -> dict[str, float]:
    """Microseconds to record one node of several kinds, source line and spec included."""
    x, y = (lg.asarray(np.ones((32, 64), np.float32)) for _ in range(2))
    row = lg.asarray(np.ones(64, np.float32))
    square = lg.asarray(np.ones((64, 64), np.float32))
    actions: dict[str, Callable[[], object]] = {
        "x + y": lambda: x + y,
        "x + row": lambda: x + row,
        "tanh(x)": lambda: lg.tanh(x),
        "x @ square": lambda: x @ square,
        "reshape(x, (64, 32))": lambda: lg.reshape(x, (64, 32)),
        "sum(x, axis=0), two nodes": lambda: lg.sum(x, axis=0),
        "2.0 * x, two nodes": lambda: 2.0 * x,
    }
    return {name: best(action) * MICRO for name, action in actions.items()}


def lookup(layers: int) -> tuple[int, float]:
    """Nodes of a GPT's loss, and microseconds a node to write its key down."""
    model = training.GPT(65, 64, n_layer=layers, n_head=4, n_embd=128)
    ids = np.zeros((2, 64), np.int32)
    _, loss = model(ids, ids)
    nodes = len(scan([loss.node], through_remembered=True).order)
    seconds = best(lambda: scan([loss.node], through_remembered=True), number=20)
    return nodes, seconds / nodes * MICRO


def step_overhead() -> tuple[int, float, float]:
    """Forward nodes, microseconds to record them, and microseconds of a whole tiny step."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((32, 16)), rng.standard_normal((32, 1))
    x, y = x.astype(np.float32), y.astype(np.float32)
    model = training.MLP([16, 32, 1], seed=0)
    opt = training.AdamW(model.parameters())
    loop = training.TrainingLoop(max_grad_norm=1.0)

    def loss() -> lg.Tensor:
        return training.mse_loss(model(x), y)

    loop.step(loss(), opt)
    before = lg.stats().nodes_made
    loop.step(loss(), opt)
    nodes = lg.stats().nodes_made - before
    record = best(loss, number=200) * MICRO
    return nodes, record, best(lambda: loop.step(loss(), opt), number=100) * MICRO


def main() -> None:
    """Print the table."""
    print("recording, microseconds")
    for name, micro in recording().items():
        print(f"  {name:28s} {micro:6.2f}")
    print("key of a GPT's loss, microseconds a node")
    for layers in (1, 4, 8):
        nodes, micro = lookup(layers)
        print(f"  {layers} layers, {nodes:4d} nodes       {micro:6.2f}")
    nodes, record, step = step_overhead()
    print("a whole training step of a tiny network, microseconds")
    print(f"  recording its {nodes} nodes       {record:7.1f}")
    print(f"  all of it                   {step:7.1f}")


if __name__ == "__main__":
    main()
