"""Weights come back bit for bit, and a damaged file is refused in one sentence."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lazygraph import errors
from training.weights import load_weights, save_weights

ARRAYS: dict[str, NDArray[Any]] = {
    "blocks.0.attention.qkv.weight": np.arange(12, dtype=np.float32).reshape(3, 4),
    "transposed": np.arange(12.0).reshape(3, 4).T,
    "strided": np.arange(12)[::-3],
    "scalar": np.asarray(np.float32(2.5)),
    "empty": np.zeros((0, 3), np.float32),
    "special": np.array([np.nan, -0.0, np.inf, 1e-45], np.float32),
    "big_endian": np.arange(3, dtype=">f4"),
    "half": np.array([1.5], np.float16),
    "flags": np.array([True, False]),
    "counts": np.array([2**63], np.uint64),
}


def test_arrays_of_every_kind_and_layout_come_back(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    save_weights(path, ARRAYS, {"step": "7", "what": "caf\u00e9"})
    weights, metadata = load_weights(path)
    assert metadata == {"step": "7", "what": "caf\u00e9"}
    assert weights.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        native = array.dtype.newbyteorder("=")
        assert weights[name].dtype == native
        assert weights[name].shape == array.shape
        assert weights[name].tobytes() == array.astype(native).tobytes()
    assert os.listdir(tmp_path) == ["w.safetensors"]


def test_no_metadata_is_an_empty_mapping(tmp_path: Path) -> None:
    save_weights(tmp_path / "w.safetensors", {"w": np.ones(1)})
    assert load_weights(tmp_path / "w.safetensors")[1] == {}


def test_loaded_arrays_do_not_change_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    save_weights(path, {"w": np.ones(3)})
    first, _ = load_weights(path)
    save_weights(path, {"w": np.zeros(3)})
    assert first["w"].tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("weights", "metadata", "reason"),
    [
        ({"w": np.array(["x"])}, {}, "Unknown dtype"),
        ({"w": np.array([object()])}, {}, "Unknown dtype"),
        ({"w": np.ones(2)}, {"step": 7}, "metadata"),
        ({"__metadata__": np.ones(2)}, {}, "the format keeps the name __metadata__ for itself"),
    ],
)
def test_what_the_format_cannot_hold_is_refused_and_the_old_file_kept(
    tmp_path: Path, weights: Any, metadata: Any, reason: str
) -> None:
    path = tmp_path / "w.safetensors"
    save_weights(path, {"w": np.ones(3)})
    with pytest.raises(errors.CheckpointError) as caught:
        save_weights(path, weights, metadata)
    assert str(caught.value).startswith(f"cannot write {path}: ")
    assert reason in str(caught.value)
    assert load_weights(path)[0]["w"].tolist() == [1.0, 1.0, 1.0]
    assert os.listdir(tmp_path) == ["w.safetensors"]


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    path = tmp_path / "no" / "w.safetensors"
    with pytest.raises(errors.CheckpointError) as caught:
        save_weights(path, {"w": np.ones(1)})
    assert str(caught.value) == f"cannot write {path}: No such file or directory"


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    with pytest.raises(errors.CheckpointError) as caught:
        load_weights(path)
    assert str(caught.value) == f"cannot read {path}: No such file or directory"
    with pytest.raises(errors.CheckpointError, match=r"Is a directory$"):
        load_weights(tmp_path)


@pytest.mark.parametrize("damage", ["empty", "short", "other"])
def test_a_damaged_file_is_refused_in_one_line(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "w.safetensors"
    save_weights(path, {"w": np.ones(30)})
    whole = path.read_bytes()
    path.write_bytes(
        {"empty": b"", "short": whole[:-9], "other": b"not weights at all"}[damage]
    )
    with pytest.raises(errors.CheckpointError) as caught:
        load_weights(path)
    assert str(caught.value).startswith(f"cannot read {path}: ")
    assert "\n" not in str(caught.value)
