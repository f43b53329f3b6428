"""Records what PyTorch's optimizers do on a small problem; the tests compare ours with it.

Run it as `python -m benchmarks.record_optimizers` where PyTorch is installed.
"""

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

RECORD = Path(__file__).parent.parent / "tests" / "training" / "recorded" / "optimizers.json"
STEPS, EVERY = 50, 10
DTYPES = ("float32", "float64")
CASES: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "weight_decay": 0.05}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.8, "dampening": 0.3, "weight_decay": 0.05}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    ("Adam", {"lr": 0.05}),
    ("Adam", {"lr": 0.05, "betas": [0.5, 0.7], "eps": 1e-3, "weight_decay": 0.1}),
    ("AdamW", {"lr": 0.05}),
    ("AdamW", {"lr": 0.05, "betas": [0.9, 0.99], "weight_decay": 0.1}),
]

Array = NDArray[Any]
START: Array = np.array([[1.5, -2.0], [0.25, 3.0], [-0.75, 0.5]])
CURVATURE: Array = np.array([[1.0, 0.1], [3.0, 0.01], [0.3, 2.0]])


def target(step: int) -> Array:
    """Where the parameters p are drawn to by a gradient of CURVATURE times the distance."""
    moved: Array = np.cos(0.7 * step + np.arange(START.size)).reshape(START.shape)
    return moved


def record(name: str, options: dict[str, Any], dtype: str) -> dict[str, list[float]]:
    """The parameters after every tenth step of one of PyTorch's optimizers."""
    torch: Any = importlib.import_module("torch")
    p = torch.tensor(START.astype(dtype), requires_grad=True)
    curvature = torch.tensor(CURVATURE.astype(dtype))
    optimizer = getattr(torch.optim, name)([p], **options)
    seen = {}
    for step in range(STEPS):
        optimizer.zero_grad()
        away = p - torch.tensor(target(step).astype(dtype))
        (0.5 * (curvature * away * away).sum()).backward()
        optimizer.step()
        if (step + 1) % EVERY == 0:
            seen[str(step + 1)] = p.detach().double().reshape(-1).tolist()
    return seen


def main() -> None:
    """Write the record."""
    version = importlib.import_module("torch").__version__
    cases = [
        {"name": name, "options": options, "dtype": dtype, "seen": record(name, options, dtype)}
        for name, options in CASES
        for dtype in DTYPES
    ]
    lines = ",\n".join(json.dumps(case) for case in cases)
    RECORD.write_text(f'{{"torch": "{version}", "cases": [\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
