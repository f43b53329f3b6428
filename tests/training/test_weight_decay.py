"""Weight decay: coupled or not, and whom it concerns."""

from typing import Any

import numpy as np
import pytest

import lazygraph as lg
from training import SGD, Adam, AdamW


def float64_var(name: str, data: Any) -> lg.Var:
    return lg.Var(name, np.array(data, np.float64))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [(AdamW, 1.8), (Adam, 1.9), (SGD, 1.8)],
    ids=["decoupled", "L2 under Adam", "L2"],
)
def test_is_added_to_the_gradient_or_taken_from_the_weight(kind: Any, expected: float) -> None:
    # p = 2, gradient 1, rate 0.1, decay 0.5.
    p = float64_var("p", 2.0)
    kind([p], lr=0.1, weight_decay=0.5).backward_step(1.0 * p)
    assert p.item() == pytest.approx(expected, rel=1e-8)


SHAPES = {"w": (2, 2), "b": (2,), "scale": (2,)}


class TestDecay:
    def shrunk(self, names: str, **options: Any) -> list[str]:
        params = [float64_var(name, np.ones(SHAPES[name])) for name in names.split()]
        opt = AdamW(params, lr=0.1, weight_decay=0.5, **options)
        opt.step({var.name: np.zeros(var.shape) for var in params})
        ends = {var.name: var.numpy().ravel()[0] for var in params}
        assert set(ends.values()) <= {0.95, 1.0}
        return sorted(name for name, end in ends.items() if end == 0.95)

    def test_concerns_all_parameters_if_nothing_is_said(self) -> None:
        assert self.shrunk("w b scale") == ["b", "scale", "w"]

    def test_may_be_said_by_a_function_of_name_and_var(self) -> None:
        assert self.shrunk("w b scale", decay=lambda name, var: var.ndim >= 2) == ["w"]
        assert self.shrunk("w b scale", decay=lambda name, var: name != "b") == ["scale", "w"]

    @pytest.mark.parametrize("collection", [list, tuple, set, frozenset])
    def test_may_be_said_by_names(self, collection: Any) -> None:
        assert self.shrunk("w b scale", decay=collection(["scale"])) == ["scale"]
        assert self.shrunk("w b scale", decay=collection([])) == []

    def test_goes_by_the_name_whatever_the_order(self) -> None:
        # Equal shapes in another order: a plan must not be taken for the other one.
        assert self.shrunk("b scale", decay=["b"]) == ["b"]
        assert self.shrunk("scale b", decay=["b"]) == ["b"]

    def test_cannot_name_what_is_no_parameter(self) -> None:
        with pytest.raises(ValueError, match=r"decay must name parameters; got \['bias'\]"):
            self.shrunk("w b", decay=["w", "bias"])
