"""Records what PyTorch makes of the models; the tests compare ours with it.

Run it as `python -m benchmarks.record_models` where PyTorch is installed.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.record_layers import Array, Figures, Options, drawn, leaf, torch, write

RECORD = Path(__file__).parent.parent / "tests" / "training" / "recorded" / "models.json"
DTYPES = ("float32", "float64")
STEPS = 10  # of AdamW, each on a batch of its own
MAX_NORM = 0.4  # of the gradient: below it in most steps, not in all
# The biases of keys change no score: their gradients are nothing but rounding, which a smaller
# eps would blow up to steps.
ADAMW: Options = {"lr": 0.01, "betas": (0.9, 0.99), "eps": 1e-5, "weight_decay": 0.1}
GPT: Options = {
    "vocabulary_size": 11,
    "block_size": 6,
    "n_layer": 2,
    "n_head": 2,
    "n_embd": 8,
    "bias": True,
}
CONVNET: Options = {
    "channels": 2,
    "size": (9, 8),
    "classes": 3,
    "widths": (3, 4),
    "hidden": 5,
}
FEW = 8  # elements of an array that are recorded one by one
Weights = dict[str, Any]


def gpt_shapes() -> dict[str, tuple[int, ...]]:
    """The shapes of the parameters of `training.GPT`, by path."""
    n = GPT["n_embd"]
    shapes = {"wte.weight": (GPT["vocabulary_size"], n), "wpe.weight": (GPT["block_size"], n)}
    for i in range(GPT["n_layer"]):
        parts = {
            "ln_1": (n,),
            "attention.qkv": (n, 3 * n),
            "attention.projection": (n, n),
            "ln_2": (n,),
            "mlp.expansion": (n, 4 * n),
            "mlp.projection": (4 * n, n),
        }
        for path, shape in parts.items():
            shapes[f"blocks.{i}.{path}.weight"] = shape
            shapes[f"blocks.{i}.{path}.bias"] = shape[-1:]
    return {**shapes, "ln_f.weight": (n,), "ln_f.bias": (n,)}


def convnet_shapes() -> dict[str, tuple[int, ...]]:
    """The shapes of the parameters of `training.ConvNet`, by path."""
    weights = {
        "convolutions.0": (3, 2, 3, 3),
        "convolutions.1": (4, 3, 3, 3),
        "hidden": (16, 5),
        "output": (5, 3),
    }
    shapes: dict[str, tuple[int, ...]] = {}
    for path, shape in weights.items():
        shapes[f"{path}.weight"] = shape
        shapes[f"{path}.bias"] = shape[:1] if len(shape) == 4 else shape[1:]
    return shapes


def weights_of(shapes: dict[str, tuple[int, ...]]) -> dict[str, Array]:
    """First values that anyone can make again; the scales of norms are near 1."""
    found = {}
    for i, (path, shape) in enumerate(shapes.items()):
        x = 0.3 * drawn(*shape, phase=i)
        found[path] = x + 1.0 if ".ln_" in f".{path}" and path.endswith("weight") else x
    return found


def gpt_batch(step: int) -> tuple[Array, Array]:
    """Tokens, and those that come next."""
    vocabulary, time = GPT["vocabulary_size"], GPT["block_size"]
    tokens = np.arange(3 * (time + 1)).reshape(3, time + 1)
    tokens = (tokens**2 + 5 * tokens + 3 * step) % vocabulary
    return tokens[:, :-1], tokens[:, 1:]


def convnet_batch(step: int) -> tuple[Array, Array]:
    """Images and labels."""
    return drawn(6, 2, 9, 8, phase=step), (np.arange(6) + step) % 3


def gpt_scores(p: Weights, ids: Any) -> Any:
    """The scores of a GPT, in PyTorch."""
    functional = torch(".nn.functional")
    n, heads = GPT["n_embd"], GPT["n_head"]
    batch, time = ids.shape

    def linear(path: str, x: Any) -> Any:
        return x @ p[f"{path}.weight"] + p[f"{path}.bias"]

    def norm(path: str, x: Any) -> Any:
        return functional.layer_norm(x, (n,), p[f"{path}.weight"], p[f"{path}.bias"])

    x = p["wte.weight"][ids] + p["wpe.weight"][:time]
    for i in range(GPT["n_layer"]):
        block = f"blocks.{i}"
        parts = linear(f"{block}.attention.qkv", norm(f"{block}.ln_1", x)).split(n, dim=-1)
        qkv = [part.reshape(batch, time, heads, -1).transpose(1, 2) for part in parts]
        seen = functional.scaled_dot_product_attention(*qkv, is_causal=True)
        seen = seen.transpose(1, 2).reshape(batch, time, n)
        x = x + linear(f"{block}.attention.projection", seen)
        inner = functional.gelu(linear(f"{block}.mlp.expansion", norm(f"{block}.ln_2", x)))
        x = x + linear(f"{block}.mlp.projection", inner)
    return norm("ln_f", x) @ p["wte.weight"].T


def convnet_scores(p: Weights, images: Any) -> Any:
    """The scores of a ConvNet, in PyTorch."""
    functional = torch(".nn.functional")
    y = images
    for i in range(2):
        path = f"convolutions.{i}"
        y = functional.conv2d(y, p[f"{path}.weight"], p[f"{path}.bias"]).relu()
    y = functional.max_pool2d(y, 2).flatten(1)
    y = (y @ p["hidden.weight"] + p["hidden.bias"]).relu()
    return y @ p["output.weight"] + p["output.bias"]


def summary(x: Any) -> Figures:
    """What tells an array from another in few numbers: norm, one projection, some elements."""
    flat = np.asarray(x, np.float64).ravel()
    return {
        "norm": float(np.linalg.norm(flat)),
        "along": float(flat @ drawn(flat.size)),
        "some": flat[:: -(-flat.size // FEW)].tolist(),
    }


def record(
    scores: Callable[[Weights, Any], Any],
    shapes: dict[str, tuple[int, ...]],
    batch: Callable[[int], tuple[Array, Array]],
    dtype: str,
) -> Figures:
    """Scores and gradients at the start; losses and norms of steps; the last parameters."""
    p = {path: leaf(x.astype(dtype)) for path, x in weights_of(shapes).items()}
    optimizer = torch(".optim").AdamW(p.values(), **ADAMW)
    figures: Figures = {"dtype": dtype, "losses": [], "norms": []}
    for step in range(STEPS):
        x, targets = batch(step)
        given = torch().tensor(x.astype(dtype) if x.dtype.kind == "f" else x)
        found = scores(p, given)
        loss = torch(".nn.functional").cross_entropy(
            found.reshape(-1, found.shape[-1]), torch().tensor(targets).reshape(-1)
        )
        optimizer.zero_grad()
        loss.backward()
        if step == 0:
            figures["scores"] = summary(found.detach().numpy())
            figures["gradients"] = {path: summary(v.grad.numpy()) for path, v in p.items()}
        norm = torch(".nn.utils").clip_grad_norm_(p.values(), MAX_NORM)
        optimizer.step()
        figures["losses"].append(loss.item())
        figures["norms"].append(norm.item())
    return {**figures, "last": {path: summary(v.detach().numpy()) for path, v in p.items()}}


def main() -> None:
    """Write the record."""
    write(
        RECORD,
        {
            "gpt": [record(gpt_scores, gpt_shapes(), gpt_batch, dtype) for dtype in DTYPES],
            "convnet": [
                record(convnet_scores, convnet_shapes(), convnet_batch, dtype)
                for dtype in DTYPES
            ],
        },
    )


if __name__ == "__main__":
    main()
