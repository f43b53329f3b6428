"""Modules take a state whole or not at all; ties survive loading, copying and pickling."""

import copy
import pickle
import re
from typing import Any

import numpy as np
import pytest

import lazygraph as lg
from lazygraph import errors
from tests.training.modules import PATHS, Scale, Tower, scopes
from training import SGD
from training.module import Module


class TestState:
    def test_is_read_only_and_does_not_change(self) -> None:
        scale = Scale([1.0, 2.0])
        state = scale.state_dict()
        scale.factor.assign(np.array([7.0, 8.0]))
        assert state["factor"].tolist() == [1.0, 2.0]
        with pytest.raises(ValueError, match="read-only"):
            state["factor"][0] = 0.0

    def test_comes_back_to_the_bit(self) -> None:
        values = np.array([np.nan, -0.0, 1e-45, np.inf, 0.1], np.float32)
        other = Scale(np.zeros(5, np.float32))
        other.load_state_dict(Scale(values).state_dict())
        assert other.factor.numpy().tobytes() == values.tobytes()
        assert other.factor.version == 1

    def test_is_copied_when_loaded(self) -> None:
        scale, array = Scale([1.0, 2.0]), np.array([3.0, 4.0], np.float32)
        scale.load_state_dict({"factor": array})
        array[0] = 100.0
        assert scale.factor.numpy().tolist() == [3.0, 4.0]

    def test_is_loaded_whole_or_not_at_all_and_every_fault_is_named(self) -> None:
        # A broadcastable shape is refused too.
        tower = Tower()
        state: dict[str, Any] = dict(tower.state_dict())
        del state["scales.1.factor"], state["named.left.1.0"]
        state |= {
            "shift": np.ones((1,)),
            "scales.0.factor": 9.0,
            "scales.9.factor": 1.0,
            "b": 0,
        }
        message = (
            "a state must fit its model; missing: scales.1.factor, named.left.1.0; "
            "unexpected: scales.9.factor, b; "
            "shift: a new value must have the shape (); got (1,)"
        )
        with pytest.raises(errors.CheckpointError, match=f"^{re.escape(message)}$"):
            tower.load_state_dict(state)
        assert tower.scales[0].factor.item() == 2.0
        assert [var.version for var in tower.parameters().values()] == [0] * 5

    @pytest.mark.parametrize(("needed", "given"), [((3,), (1,)), ((3, 3), (1, 3)), ((3,), ())])
    def test_of_a_shape_that_would_broadcast_is_refused(
        self, needed: tuple[int, ...], given: tuple[int, ...]
    ) -> None:
        scale = Scale(np.zeros(needed))
        message = f"factor: a new value must have the shape {needed}; got {given}"
        with pytest.raises(errors.CheckpointError, match=re.escape(message)):
            scale.load_state_dict({"factor": np.ones(given)})
        assert not scale.factor.numpy().any()

    def test_takes_the_dtype_of_the_model(self) -> None:
        scale = Scale(np.zeros(2, np.float32))
        for value in (np.array([1 / 3, 2.0]), np.array([1, 2]), lg.asarray([1.5, 2.0]), [1, 2]):
            scale.load_state_dict({"factor": value})
            assert scale.factor.numpy().dtype == np.float32
            assert scale.factor.numpy().tolist() == np.asarray(value, np.float32).tolist()

    def test_gives_no_floats_to_an_integer_parameter(self) -> None:
        scale = Scale(np.array([1, 2]))
        message = "factor: a new value must be int64; got float64"
        with pytest.raises(errors.CheckpointError, match=re.escape(message)):
            scale.load_state_dict({"factor": np.array([1.0, 2.0])})
        assert scale.factor.numpy().tolist() == [1, 2]

    def test_of_a_part_has_paths_of_the_part(self) -> None:
        tower = Tower()
        tower.parameters()
        part = tower.scales[1]
        assert part.state_dict() == {"factor": 3.0}
        part.load_state_dict({"factor": 8.0})
        assert tower.state_dict()["scales.1.factor"] == 8.0


class Tied(Module):
    """L = 3 w + w^2, with w under two names."""

    def __init__(self, value: float = 2.0) -> None:
        self.embed, self.head = Scale(value), Scale(value)
        self.head.factor = self.embed.factor

    def forward(self) -> lg.Tensor:
        return self.embed(3.0) + self.head(self.head(1.0))  # type: ignore[no-any-return]


class TestTies:
    def test_gradients_of_all_uses_are_summed_and_the_parameter_moves_once(self) -> None:
        tied = Tied()
        assert tied().backward()[tied.head.factor].item() == 7.0
        SGD(tied.parameters(), lr=0.1).backward_step(tied())
        assert tied.embed.factor.item() == pytest.approx(1.3, abs=1e-7)

    def test_survive_loading(self) -> None:
        tied = Tied(5.0)
        tied.load_state_dict(Tied(2.0).state_dict())
        assert tied.embed.factor is tied.head.factor
        SGD(tied.parameters(), lr=0.1).backward_step(tied())
        values = [tied.embed.factor.item(), tied.head.factor.item()]
        assert values == pytest.approx([1.3, 1.3], abs=1e-7)

    def test_take_equal_copies_under_each_name_and_refuse_different_ones(self) -> None:
        # Never a silent choice.
        tied = Tied(5.0)
        tied.load_state_dict({"embed.factor": 2.0, "head.factor": 2.0})
        assert tied.head.factor.item() == 2.0
        message = "head.factor: a tied parameter must be equal to embed.factor"
        with pytest.raises(errors.CheckpointError, match=re.escape(message)):
            tied.load_state_dict({"embed.factor": 3.0, "head.factor": 4.0})
        tied.load_state_dict({"head.factor": 6.0})
        assert tied.embed.factor.item() == 6.0


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
class TestCopies:
    def test_share_no_parameter_and_keep_their_own_ties(self, copied: Any) -> None:
        tower = Tower()
        tower(lg.ones((2,)))
        other = copied(tower)
        ours, theirs = tower.parameters(), other.parameters()
        assert list(theirs) == PATHS
        assert not {id(var) for var in ours.values()} & {id(var) for var in theirs.values()}
        assert other.last.factor is other.scales[0].factor
        assert other.same is other.scales[1]
        assert scopes(other(lg.ones((2,)))) == scopes(tower(lg.ones((2,))))

    def test_go_their_own_ways(self, copied: Any) -> None:
        tied = Tied()
        optimizer = SGD(tied.parameters(), lr=0.1)
        other = copied(tied)
        optimizer.backward_step(tied())
        assert other.embed.factor.item() == 2.0
        other.load_state_dict({"embed.factor": 9.0})
        assert tied.embed.factor.item() == pytest.approx(1.3, abs=1e-7)

    def test_read_what_was_recorded(self, copied: Any) -> None:
        x = lg.Var("x", [1.0, 2.0])
        y = 2.0 * x
        other = copied(y)
        x.assign(np.array([5.0, 6.0]))
        assert y.tolist() == other.tolist() == [2.0, 4.0]
