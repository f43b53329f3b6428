"""Records what PyTorch reaches on the run of `shakespeare.py`: same weights, same batches.

    python -m benchmarks.record_shakespeare TEXT [SEED ...]

Needs torch, which nothing else here does.
"""

import json
import sys
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from benchmarks import shakespeare as run
from training.text import read_text

Weights = dict[str, torch.Tensor]


def logits(w: Weights, ids: torch.Tensor) -> torch.Tensor:
    """The model of `training.GPT`, in PyTorch."""
    batch, time = ids.shape
    width, heads = run.SIZES["n_embd"], run.SIZES["n_head"]
    x = w["wte.weight"][ids] + w["wpe.weight"][:time]
    for i in range(run.SIZES["n_layer"]):
        at = f"blocks.{i}."
        h = functional.layer_norm(x, (width,), w[at + "ln_1.weight"])
        qkv = (h @ w[at + "attention.qkv.weight"]).view(batch, time, 3, heads, width // heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = y.transpose(1, 2).reshape(batch, time, width)
        x = x + y @ w[at + "attention.projection.weight"]
        h = functional.layer_norm(x, (width,), w[at + "ln_2.weight"])
        h = functional.gelu(h @ w[at + "mlp.expansion.weight"])
        x = x + h @ w[at + "mlp.projection.weight"]
    return functional.layer_norm(x, (width,), w["ln_f.weight"]) @ w["wte.weight"].T


def loss_of(w: Weights, x: Any, y: Any) -> torch.Tensor:
    """Mean cross-entropy of a batch."""
    ids, targets = torch.from_numpy(x.astype(np.int64)), torch.from_numpy(y.astype(np.int64))
    scores = logits(w, ids)
    return functional.cross_entropy(scores.reshape(-1, scores.shape[-1]), targets.reshape(-1))


def record(text: str, seed: int) -> dict[str, Any]:
    """Train, and return the losses of some steps and the validation loss."""
    characters, data = run.batches(text, seed)
    first = run.model(characters, seed).state_dict()
    w = {k: torch.tensor(np.array(v), requires_grad=True) for k, v in first.items()}
    matrices = [v for v in w.values() if v.ndim >= 2]
    rest = [v for v in w.values() if v.ndim < 2]
    groups = [
        {"params": matrices, "weight_decay": run.DECAY},
        {"params": rest, "weight_decay": 0.0},
    ]
    opt = torch.optim.AdamW(groups, lr=run.RATE, betas=run.BETAS)
    losses = {}
    for step in range(run.STEPS):
        for group in opt.param_groups:
            group["lr"] = run.rate(step)
        loss = loss_of(w, *data.batch(step))
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(w.values()), run.CLIP)
        opt.step()
        if step + 1 in run.SHOWN:
            losses[str(step + 1)] = loss.item()
            print(f"  seed {seed} step {step + 1:4d}  loss {loss.item():.4f}", flush=True)
    with torch.no_grad():
        parts = [(loss_of(w, x, y).item(), y.size) for x, y in data.validation_batches()]
    return {
        "losses": losses,
        "validation": sum(a * n for a, n in parts) / sum(n for _, n in parts),
        "torch": torch.__version__,
    }


def main(arguments: list[str]) -> int:
    """Record the seeds, beside those that are recorded already."""
    text = read_text(arguments[0])
    found = json.loads(run.RECORDED.read_text()) if run.RECORDED.exists() else {}
    for seed in map(int, arguments[1:] or run.SEEDS):
        found[str(seed)] = record(text, seed)
        run.RECORDED.write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
