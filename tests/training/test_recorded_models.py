"""The models score, lose, pull and learn as PyTorch recorded it of the same numbers."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import training
from benchmarks.record_models import (
    ADAMW,
    CONVNET,
    GPT,
    MAX_NORM,
    RECORD,
    STEPS,
    convnet_batch,
    convnet_shapes,
    gpt_batch,
    gpt_shapes,
    summary,
    weights_of,
)

FOUND = json.loads(RECORD.read_text(encoding="utf-8"))
CASES = [
    pytest.param(name, case, id=f"{name}-{case['dtype']}")
    for name in ("gpt", "convnet")
    for case in FOUND[name]
]
MODELS: dict[str, tuple[Callable[..., training.Module], Any, Any]] = {
    "gpt": (lambda dtype: training.GPT(**GPT, dtype=dtype), gpt_shapes(), gpt_batch),
    "convnet": (
        lambda dtype: training.ConvNet(**CONVNET, dtype=dtype),
        convnet_shapes(),
        convnet_batch,
    ),
}
TOLERANCE = {"float32": 1e-5, "float64": 1e-11}


def prepared(name: str, dtype: str) -> training.Module:
    make, shapes, _ = MODELS[name]
    model = make(dtype)
    model.load_state_dict({path: x.astype(dtype) for path, x in weights_of(shapes).items()})
    return model


def batch_of(name: str, dtype: str, step: int) -> Any:
    x, targets = MODELS[name][2](step)
    return x.astype(dtype) if x.dtype.kind == "f" else x, targets


def assert_agree(found: Any, wanted: dict[str, Any], tolerance: float) -> None:
    """Relative to the array: its norm, and the size of its elements on average."""
    ours = summary(found)
    norm = wanted["norm"]
    each = tolerance * norm / np.sqrt(found.size)
    assert norm > 0
    assert ours["norm"] == pytest.approx(norm, rel=tolerance)
    assert ours["along"] == pytest.approx(wanted["along"], rel=0, abs=tolerance * norm)
    np.testing.assert_allclose(ours["some"], wanted["some"], rtol=tolerance, atol=each)


@pytest.mark.parametrize(("name", "case"), CASES)
def test_scores_loss_and_all_gradients(name: str, case: dict[str, Any]) -> None:
    dtype = case["dtype"]
    model = prepared(name, dtype)
    scores, loss = model(*batch_of(name, dtype, 0))
    gradients = loss.backward()
    found = {path: gradients[var] for path, var in model.parameters().items()}
    assert set(found) == set(case["gradients"])
    assert_agree(scores, case["scores"], TOLERANCE[dtype])
    assert loss.item() == pytest.approx(case["losses"][0], rel=TOLERANCE[dtype])
    for path, gradient in found.items():
        assert_agree(gradient, case["gradients"][path], TOLERANCE[dtype])


@pytest.mark.parametrize(("name", "case"), CASES)
def test_ten_clipped_steps_of_adamw(name: str, case: dict[str, Any]) -> None:
    dtype = case["dtype"]
    model = prepared(name, dtype)
    opt = training.AdamW(model.parameters(), **ADAMW)
    loop = training.TrainingLoop(max_grad_norm=MAX_NORM)
    outcomes = [loop.step(model(*batch_of(name, dtype, step))[1], opt) for step in range(STEPS)]
    rel = TOLERANCE[dtype]
    assert [outcome.loss for outcome in outcomes] == pytest.approx(case["losses"], rel=rel)
    assert [outcome.grad_norm for outcome in outcomes] == pytest.approx(case["norms"], rel=rel)
    assert sum(outcome.clipped for outcome in outcomes) >= 2
    for path, x in model.state_dict().items():
        assert_agree(x, case["last"][path], rel)
