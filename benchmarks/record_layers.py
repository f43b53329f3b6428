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
STEPS = 10  # of AdamW on the network
NETWORK: Options = {
    "channels": 2,
    "size": [9, 8],
    "classes": 3,
    "widths": [3, 4],
    "hidden": 5,
}
ADAMW: Options = {"lr": 0.01, "betas": [0.9, 0.99], "weight_decay": 0.1}


def drawn(*shape: int, phase: float = 0.0) -> Array:
    """Numbers in [-1, 1] that anyone can make again, none of them near another."""
    count = int(np.prod(shape))
    numbers: Array = np.cos(2.4 * np.arange(count) + 0.01 * np.arange(count) ** 2 + phase)
    return numbers.reshape(shape)


def tied(*shape: int) -> Array:
    """The same with few different values, so that windows have ties."""
    return np.round(2.0 * drawn(*shape))


def network_weights() -> dict[str, Array]:
    """The first values of the network, under the paths of `training.ConvNet`."""
    shapes = {
        "convolutions.0": ((3, 2, 3, 3), (3,)),
        "convolutions.1": ((4, 3, 3, 3), (4,)),
        "hidden": ((16, 5), (5,)),
        "output": ((5, 3), (3,)),
    }
    weights = {}
    for i, (path, (weight, bias)) in enumerate(shapes.items()):
        weights[f"{path}.weight"] = 0.3 * drawn(*weight, phase=i)
        weights[f"{path}.bias"] = 0.1 * drawn(*bias, phase=i)
    return weights


def network_batch() -> tuple[Array, Array]:
    """Images and labels."""
    return drawn(6, 2, 9, 8), np.arange(6) % 3


def _torch(name: str = "") -> Any:
    return importlib.import_module(f"torch{name}")


def _leaf(x: Array) -> Any:
    return _torch().tensor(x, requires_grad=True)


def _listed(x: Any) -> Any:
    return x.detach().double().tolist()


def _pulled_back(y: Any, *leaves: Any) -> Figures:
    """The value, and the gradients against an upstream that is drawn as well."""
    upstream = _torch().tensor(drawn(*y.shape, phase=0.5))
    gradients = _torch().autograd.grad(y, leaves, upstream)
    return {"value": _listed(y), "gradients": [_listed(g) for g in gradients]}


def convolution(options: Options) -> Figures:
    leaves = [_leaf(drawn(2, 2, 5, 4)), _leaf(drawn(3, 2, 3, 2, phase=1.0)), _leaf(drawn(3))]
    return _pulled_back(_torch(".nn.functional").conv2d(*leaves, **options), *leaves)


def pooling(name: str) -> Callable[[Options], Figures]:
    def record(options: Options) -> Figures:
        x = _leaf(tied(1, 2, 5, 6))
        given = {**options, "kernel_size": options["size"]}
        del given["size"]
        return _pulled_back(getattr(_torch(".nn.functional"), name)(x, **given), x)

    return record


def rms_norm(options: Options) -> Figures:
    leaves = [_leaf(drawn(2, 3, 4)), _leaf(drawn(4, phase=1.0))]
    y = _torch(".nn.functional").rms_norm(leaves[0], (4,), leaves[1], **options)
    return _pulled_back(y, *leaves)


def batch_norm(options: Options) -> Figures:
    """Two runs in training, then one in use."""
    norm = _torch(".nn").BatchNorm2d(3, **options).double()
    with _torch().no_grad():
        norm.weight.copy_(_torch().tensor(drawn(3, phase=1.0)))
        norm.bias.copy_(_torch().tensor(drawn(3, phase=2.0)))
    x = _leaf(drawn(4, 3, 2, 2))
    norm(_torch().tensor(drawn(4, 3, 2, 2, phase=3.0)))
    figures = _pulled_back(norm(x), x, norm.weight, norm.bias)
    figures["running"] = [_listed(norm.running_mean), _listed(norm.running_var)]
    return {**figures, "in_use": _listed(norm.eval()(x))}


def cross_entropy(options: Options) -> Figures:
    z, labels, given = _leaf(drawn(2, 3, 4)), _torch().tensor(LABELS), {**options}
    if options.get("ignore_index") != -100:
        labels = labels.clamp(min=0)
    if "weight" in options:
        given["weight"] = _torch().tensor(options["weight"]).double()
    y = _torch(".nn.functional").cross_entropy(z.reshape(6, 4), labels.reshape(6), **given)
    return {"labels": labels.tolist(), **_pulled_back(y, z)}


def paired(name: str) -> Callable[[Options], Figures]:
    def record(options: Options) -> Figures:
        z, t = 3.0 * drawn(2, 3), (drawn(2, 3, phase=1.0) + 1.0) / 2.0
        x = _leaf(z)
        return _pulled_back(
            getattr(_torch(".nn.functional"), name)(x, _torch().tensor(t), **options), x
        )

    return record


def kl_divergence(options: Options) -> Figures:
    z, t = _leaf(drawn(2, 3)), _torch().tensor(drawn(2, 3, phase=1.0))
    functional = _torch(".nn.functional")
    q, p = functional.log_softmax(z, dim=-1), functional.softmax(t, dim=-1)
    return _pulled_back(functional.kl_div(q, p, **options), z)


def schedule(name: str) -> Callable[[Options], Figures]:
    def record(options: Options) -> Figures:
        base = options.pop("base_lr", 1.0)
        optimizer = _torch(".optim").SGD([_torch().zeros(1, requires_grad=True)], lr=base)
        made = _scheduler(name, optimizer, options)
        rates = []
        for _ in range(LENGTH):
            rates.append(made.get_last_lr()[0])
            optimizer.step()
            made.step()
        return {"value": rates}

    return record


def _scheduler(name: str, optimizer: Any, options: Options) -> Any:
    schedulers = _torch(".optim.lr_scheduler")
    if name != "SequentialLR":
        return getattr(schedulers, name)(optimizer, **options)
    parts = [
        schedulers.ExponentialLR(optimizer, gamma=0.9),
        schedulers.CosineAnnealingWarmRestarts(optimizer, T_0=4, T_mult=2),
    ]
    return schedulers.SequentialLR(optimizer, parts, **options)


def network(dtype: str) -> Figures:
    """Scores, loss and gradients at the start, and losses over steps of AdamW."""
    torch, functional = _torch(), _torch(".nn.functional")
    p = {name: _leaf(x.astype(dtype)) for name, x in network_weights().items()}
    x, labels = network_batch()
    images, targets = torch.tensor(x.astype(dtype)), torch.tensor(labels)

    def scores() -> Any:
        y = images
        for i in range(2):
            weight, bias = (p[f"convolutions.{i}.{part}"] for part in ("weight", "bias"))
            y = functional.conv2d(y, weight, bias).relu()
        y = functional.max_pool2d(y, 2).flatten(1)
        y = (y @ p["hidden.weight"] + p["hidden.bias"]).relu()
        return y @ p["output.weight"] + p["output.bias"]

    optimizer = torch.optim.AdamW(p.values(), **ADAMW)
    figures: Figures = {"scores": _listed(scores()), "losses": []}
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = functional.cross_entropy(scores(), targets)
        loss.backward()
        figures.setdefault("gradients", {name: _listed(v.grad) for name, v in p.items()})
        figures["losses"].append(loss.item())
        optimizer.step()
    return {**figures, "last": {name: _listed(v) for name, v in p.items()}}


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
        ("network", network, ["float32", "float64"]),
    ]
    return {
        name: [{"options": options, **record(_copied(options))} for options in cases]
        for name, record, cases in tables
    }


def _copied(options: Any) -> Any:
    return dict(options) if isinstance(options, dict) else options


def main() -> None:
    """Write the record."""
    found: dict[str, Any] = {"torch": _torch().__version__, **figures()}
    lines = [f"{json.dumps(name)}: {_rounded(cases)}" for name, cases in found.items()]
    RECORD.write_text("{" + ",\n".join(lines) + "}\n", encoding="utf-8")


def _rounded(x: Any) -> str:
    shorter = json.loads(json.dumps(x), parse_float=lambda text: float(f"{float(text):.13g}"))
    return json.dumps(shorter)


if __name__ == "__main__":
    main()
