"""Records what PyTorch's layers, losses and schedules give; the tests compare ours with it.

Run it as `python -m benchmarks.record_layers` where PyTorch is installed.
"""

import importlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

RECORD = Path(__file__).parent.parent / "tests" / "training" / "recorded" / "layers.json"
Array = NDArray[Any]
Options = dict[str, Any]
Figures = dict[str, Any]

CONVOLUTIONS: list[Options] = [
    {},
    {"stride": 2, "padding": 1},
    {"stride": [1, 3], "padding": [0, 2]},
]
POOLS: list[Options] = [
    {"size": 2},
    {"size": 3, "stride": 2, "padding": 1},
    {"size": [2, 3], "stride": [3, 1], "padding": [1, 0], "ceil_mode": True},
]
MEANS: list[Options] = [
    *POOLS,
    {"size": 3, "stride": 2, "padding": 1, "ceil_mode": True, "count_include_pad": False},
]
WEIGHT = [0.5, 2.0, 1.0, 0.25]
ENTROPIES: list[Options] = [
    {},
    {"label_smoothing": 0.1},
    {"weight": WEIGHT, "label_smoothing": 0.3},
    {"weight": WEIGHT, "ignore_index": 2},
    {"ignore_index": -100, "label_smoothing": 1.0},
]
REDUCTIONS = ("mean", "sum", "none")
LABELS = [[3, 1, 0], [2, 2, -100]]
LENGTH = 24  # steps of a schedule that are recorded
CYCLES: list[Options] = [
    {"max_lr": 1.0, "total_steps": LENGTH + 1},
    {
        "max_lr": 0.5,
        "total_steps": LENGTH + 1,
        "pct_start": 0.55,
        "div_factor": 4.0,
        "final_div_factor": 10.0,
    },
]


def drawn(*shape: int, phase: float = 0.0) -> Array:
    """Numbers in [-1, 1] that anyone can make again, none of them near another."""
    count = int(np.prod(shape))
    numbers: Array = np.cos(2.4 * np.arange(count) + 0.01 * np.arange(count) ** 2 + phase)
    return numbers.reshape(shape)


def tied(*shape: int) -> Array:
    """The same with few different values, so that windows have ties."""
    return np.round(2.0 * drawn(*shape))


def torch(name: str = "") -> Any:
    """PyTorch, or a part of it; only those who record need it."""
    return importlib.import_module(f"torch{name}")


def leaf(x: Array) -> Any:
    """A tensor of PyTorch that gets a gradient."""
    return torch().tensor(x, requires_grad=True)


def listed(x: Any) -> Any:
    """The numbers in a tensor of PyTorch."""
    return x.detach().double().tolist()


def _pulled_back(y: Any, *leaves: Any) -> Figures:
    """The value, and the gradients against an upstream that is drawn as well."""
    upstream = torch().tensor(drawn(*y.shape, phase=0.5))
    gradients = torch().autograd.grad(y, leaves, upstream)
    return {"value": listed(y), "gradients": [listed(g) for g in gradients]}


def convolution(options: Options) -> Figures:
    leaves = [leaf(drawn(2, 2, 5, 4)), leaf(drawn(3, 2, 3, 2, phase=1.0)), leaf(drawn(3))]
    return _pulled_back(torch(".nn.functional").conv2d(*leaves, **options), *leaves)


def pooling(name: str) -> Callable[[Options], Figures]:
    def record(options: Options) -> Figures:
        x = leaf(tied(1, 2, 5, 6))
        given = {**options, "kernel_size": options["size"]}
        del given["size"]
        return _pulled_back(getattr(torch(".nn.functional"), name)(x, **given), x)

    return record


def rms_norm(options: Options) -> Figures:
    leaves = [leaf(drawn(2, 3, 4)), leaf(drawn(4, phase=1.0))]
    y = torch(".nn.functional").rms_norm(leaves[0], (4,), leaves[1], **options)
    return _pulled_back(y, *leaves)


def batch_norm(options: Options) -> Figures:
    """Two runs in training, then one in use."""
    norm = torch(".nn").BatchNorm2d(3, **options).double()
    with torch().no_grad():
        norm.weight.copy_(torch().tensor(drawn(3, phase=1.0)))
        norm.bias.copy_(torch().tensor(drawn(3, phase=2.0)))
    x = leaf(drawn(4, 3, 2, 2))
    norm(torch().tensor(drawn(4, 3, 2, 2, phase=3.0)))
    figures = _pulled_back(norm(x), x, norm.weight, norm.bias)
    figures["running"] = [listed(norm.running_mean), listed(norm.running_var)]
    return {**figures, "in_use": listed(norm.eval()(x))}


def cross_entropy(options: Options) -> Figures:
    z, labels, given = leaf(drawn(2, 3, 4)), torch().tensor(LABELS), {**options}
    if options.get("ignore_index") != -100:
        labels = labels.clamp(min=0)
    if "weight" in options:
        given["weight"] = torch().tensor(options["weight"]).double()
    y = torch(".nn.functional").cross_entropy(z.reshape(6, 4), labels.reshape(6), **given)
    return {"labels": labels.tolist(), **_pulled_back(y, z)}


def paired(name: str) -> Callable[[Options], Figures]:
    def record(options: Options) -> Figures:
        z, t = 3.0 * drawn(2, 3), (drawn(2, 3, phase=1.0) + 1.0) / 2.0
        x = leaf(z)
        return _pulled_back(
            getattr(torch(".nn.functional"), name)(x, torch().tensor(t), **options), x
        )

    return record


def kl_divergence(options: Options) -> Figures:
    z, t = leaf(drawn(2, 3)), torch().tensor(drawn(2, 3, phase=1.0))
    functional = torch(".nn.functional")
    q, p = functional.log_softmax(z, dim=-1), functional.softmax(t, dim=-1)
    return _pulled_back(functional.kl_div(q, p, **options), z)


def schedule(name: str) -> Callable[[Options], Figures]:
    def record(options: Options) -> Figures:
        base = options.pop("base_lr", 1.0)
        optimizer = torch(".optim").SGD([torch().zeros(1, requires_grad=True)], lr=base)
        made = _scheduler(name, optimizer, options)
        rates = []
        for _ in range(LENGTH):
            rates.append(made.get_last_lr()[0])
            optimizer.step()
            made.step()
        return {"value": rates}

    return record


def _scheduler(name: str, optimizer: Any, options: Options) -> Any:
    schedulers = torch(".optim.lr_scheduler")
    if name != "SequentialLR":
        return getattr(schedulers, name)(optimizer, **options)
    parts = [
        schedulers.ExponentialLR(optimizer, gamma=0.9),
        schedulers.CosineAnnealingWarmRestarts(optimizer, T_0=4, T_mult=2),
    ]
    return schedulers.SequentialLR(optimizer, parts, **options)


def _with_reductions(cases: Sequence[Options], mean: str = "mean") -> list[Options]:
    return [
        {**options, "reduction": mean if reduction == "mean" else reduction}
        for options in cases
        for reduction in REDUCTIONS
    ]


def figures() -> dict[str, list[dict[str, Any]]]:
    """For each name a list of cases: options, and what came out."""
    tables: list[tuple[str, Callable[[Any], Figures], Sequence[Any]]] = [
        ("conv2d", convolution, CONVOLUTIONS),
        ("max_pool2d", pooling("max_pool2d"), POOLS),
        ("avg_pool2d", pooling("avg_pool2d"), MEANS),
        ("rms_norm", rms_norm, [{"eps": 1e-5}, {"eps": 0.1}]),
        ("batch_norm", batch_norm, [{}, {"momentum": 0.4, "eps": 0.01}]),
        ("cross_entropy", cross_entropy, _with_reductions(ENTROPIES)),
        (
            "binary_cross_entropy_with_logits",
            paired("binary_cross_entropy_with_logits"),
            _with_reductions([{}]),
        ),
        ("huber_loss", paired("huber_loss"), _with_reductions([{}, {"delta": 0.4}])),
        ("kl_divergence", kl_divergence, [{"reduction": "batchmean"}, {"reduction": "sum"}]),
        ("ExponentialLR", schedule("ExponentialLR"), [{"gamma": 0.8}]),
        ("OneCycleLR", schedule("OneCycleLR"), CYCLES),
        (
            "CosineAnnealingWarmRestarts",
            schedule("CosineAnnealingWarmRestarts"),
            [{"T_0": 5}, {"T_0": 3, "T_mult": 2, "eta_min": 0.1}],
        ),
        ("SequentialLR", schedule("SequentialLR"), [{"milestones": [7]}]),
    ]
    return {
        name: [{"options": options, **record(dict(options))} for options in cases]
        for name, record, cases in tables
    }


def main() -> None:
    """Write the record."""
    write(RECORD, figures())


def write(path: Path, found: Figures) -> None:
    """Write figures and PyTorch's version as JSON, a line for each name."""
    whole = {"torch": torch().__version__, **found}
    lines = [f"{json.dumps(name)}: {_rounded(cases)}" for name, cases in whole.items()]
    path.write_text("{" + ",\n".join(lines) + "}\n", encoding="utf-8")


def _rounded(x: Any) -> str:
    shorter = json.loads(json.dumps(x), parse_float=lambda text: float(f"{float(text):.13g}"))
    return json.dumps(shorter)


if __name__ == "__main__":
    main()
