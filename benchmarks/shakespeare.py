"""nanoGPT's documented CPU run on the works of Shakespeare, against PyTorch's figures for it.

    python -m benchmarks.shakespeare TEXT [SEED ...]

Four layers, four heads, 128 wide, blocks of 64 characters, batches of 12, no dropout, no bias,
2000 steps of AdamW from 1e-3 to 1e-4. The recorded figures are of PyTorch from the same weights
on the same batches; `record_shakespeare.py` made them.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import training
from training.data import TextBatches
from training.text import CharacterVocabulary, read_text

RECORDED = Path(__file__).parent / "recorded" / "shakespeare.json"
SEEDS = (1, 2, 3)
STEPS, WARMUP, BATCH, BLOCK = 2000, 100, 12, 64
RATE, LEAST_RATE, BETAS, DECAY, CLIP = 1e-3, 1e-4, (0.9, 0.99), 0.1, 1.0
SIZES: dict[str, Any] = {"block_size": BLOCK, "n_layer": 4, "n_head": 4, "n_embd": 128}
SHOWN = (1, 10, 100, 500, 1000, 1500, 2000)


def batches(text: str, seed: int) -> tuple[int, TextBatches]:
    """The number of distinct characters, and the batches of a run."""
    vocabulary = CharacterVocabulary.of(text)
    return len(vocabulary), TextBatches(vocabulary.encode(text), BLOCK, BATCH, seed)


def model(characters: int, seed: int) -> training.GPT:
    """The model with the first weights of a run."""
    return training.GPT(characters, seed=seed, **SIZES)


def rate(step: int) -> float:
    """nanoGPT's schedule."""
    return training.get_lr(step, RATE, LEAST_RATE, WARMUP, STEPS)


class _Schedule:
    def lr_at(self, step: int) -> float:
        return rate(step)


def validation(gpt: training.GPT, data: TextBatches) -> float:
    """The mean loss over the whole validation part."""
    total, count = 0.0, 0
    for x, y in data.validation_batches():
        _, loss = gpt(x, y)
        total += loss.item() * y.size
        count += y.size
    return total / count


def run(text: str, seed: int) -> dict[str, Any]:
    """Train, and return the losses of some steps and the validation loss."""
    characters, data = batches(text, seed)
    gpt = model(characters, seed)
    opt = training.AdamW(
        gpt.parameters(),
        lr=RATE,
        betas=BETAS,
        weight_decay=DECAY,
        decay=lambda name, var: var.ndim >= 2,
    )
    loop = training.TrainingLoop(max_grad_norm=CLIP, scheduler=_Schedule())
    losses = {}
    for step in range(STEPS):
        x, y = data.batch(step)
        outcome = loop.step(gpt(x, y)[1], opt)
        if step + 1 in SHOWN:
            losses[str(step + 1)] = outcome.loss
            print(f"  seed {seed} step {step + 1:4d}  loss {outcome.loss:.4f}", flush=True)
    return {"losses": losses, "validation": validation(gpt, data)}


def main(arguments: list[str]) -> int:
    """Run the seeds and compare."""
    if not arguments:
        print("the text to learn must be named: python -m benchmarks.shakespeare TEXT")
        return 2
    text = read_text(arguments[0])
    recorded = json.loads(RECORDED.read_text())
    ours: list[float] = []
    theirs: list[float] = []
    for seed in map(int, arguments[1:] or SEEDS):
        ours.append(run(text, seed)["validation"])
        theirs.append(recorded[str(seed)]["validation"])
        print(f"seed {seed}: validation loss {ours[-1]:.4f}, PyTorch {theirs[-1]:.4f}")
    difference = float(np.mean(ours) - np.mean(theirs))
    print(f"mean {np.mean(ours):.4f}, PyTorch {np.mean(theirs):.4f}: {difference:+.4f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
