"""A value once handed out never changes, although memory is used again."""

from typing import Any

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray

import lazygraph as lg
from tests.training.problems import Perceptron, draw_batch
from training import SGD, Adam, AdamW, TrainingLoop

Array = NDArray[Any]


def looks_at(var: lg.Var) -> list[Any]:
    """The value in every way in which it is handed out, and what looks into it."""
    array = var.numpy()
    return [
        array,
        np.asarray(var),
        var.tensor().numpy(),
        np.asarray(var.tensor()),
        array[1:],
        array.reshape(-1)[::2],
        array.T,
        memoryview(array.data),
        np.frombuffer(array, array.dtype),
        var.tensor(),
        (var * 1.0).realize(),
    ]


def copied(seen: list[Any]) -> list[Array]:
    return [np.array(x) for x in seen]


@pytest.mark.parametrize("accumulate", [1, 2])
def test_what_was_seen_at_one_step_is_the_same_after_all(
    rng: Generator, accumulate: int
) -> None:
    model = Perceptron(rng)
    opt = AdamW(model.params, lr=0.05)
    loop = TrainingLoop(max_grad_norm=1.0, accumulate=accumulate)
    seen: list[Any] = []
    copies: list[Array] = []
    for n in range(40):
        x, y = draw_batch(rng)
        logits = model.outputs(x)
        loss = lg.mean((logits - y) ** 2)
        loop.step(loss, opt, also=(logits,))
        if n % 3 == 0:
            slots = opt.state_dict()["state"]
            new = [loss.numpy(), logits.numpy(), logits.numpy()[::2]]
            new += [a for s in slots.values() for a in s.values() if isinstance(a, np.ndarray)]
            new += [sight for var in model.params for sight in looks_at(var)]
            seen += new
            copies += copied(new)
    assert len(seen) > 500
    for sight, copy in zip(seen, copies, strict=True):
        np.testing.assert_array_equal(np.array(sight), copy)


@pytest.mark.parametrize("look", range(11))
def test_one_sight_alone_keeps_its_value(look: int) -> None:
    # Nothing else of that version is alive: the sight itself must keep the memory from reuse.
    w = lg.Var("w", np.zeros((3, 4)))
    opt, loop = SGD([w], lr=1.0, momentum=0.5), TrainingLoop()
    loop.step(lg.sum(w), opt)
    sight = looks_at(w)[look]
    copy = np.array(sight)
    for _ in range(20):
        loop.step(lg.sum(w), opt)
    np.testing.assert_array_equal(np.array(sight), copy)
    assert w.numpy()[0, 0] < -20.0


def test_moments_in_a_state_are_read_only() -> None:
    w = lg.Var("w", np.ones(3))
    opt = Adam([w], lr=0.1)
    opt.backward_step(lg.sum(w))
    moment = opt.state_dict()["state"]["w"]["exp_sum"]
    with pytest.raises(ValueError, match="read-only"):
        moment[0] = 7.0
    with pytest.raises(ValueError, match="read-only"):
        w.numpy()[0] = 7.0


def test_a_state_does_not_follow_the_arrays_that_it_was_loaded_from() -> None:
    w = lg.Var("w", np.ones(3))
    opt = SGD([w], lr=0.1, momentum=0.9)
    buffer = np.full(3, 2.0)
    state = opt.state_dict()
    state["state"]["w"]["momentum_buffer"] = buffer
    opt.load_state_dict(state)
    buffer[:] = 7.0
    assert opt.state_dict()["state"]["w"]["momentum_buffer"].tolist() == [2.0, 2.0, 2.0]


def test_given_gradients_are_not_written_to() -> None:
    w = lg.Var("w", np.ones(3))
    gradient = np.array([1.0, 2.0, 3.0])
    SGD([w], lr=0.1, weight_decay=0.1).step({"w": gradient})
    assert gradient.tolist() == [1.0, 2.0, 3.0]
    assert gradient.flags.writeable


def test_an_update_that_keeps_the_parameter_shares_nothing_that_changes() -> None:
    # The rate is 0: the new value has the bits of the old one, and both stay.
    w = lg.Var("w", np.arange(3.0))
    opt, loop = SGD([w], lr=0.0), TrainingLoop()
    first = w.numpy()
    for _ in range(5):
        loop.step(lg.sum(w * w), opt)
    opt.set_learning_rate(1.0)
    loop.step(lg.sum(w), opt)
    assert first.tolist() == [0.0, 1.0, 2.0]
    assert w.numpy().tolist() == [-1.0, 0.0, 1.0]
