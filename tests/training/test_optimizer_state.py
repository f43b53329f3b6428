"""Optimizers as things with parameters and state: all ways to step agree, states come back."""

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator

import lazygraph as lg
from lazygraph import errors
from tests.training.problems import Perceptron, draw_batch, state_of
from training import SGD, Adam, AdamW, Optimizer, TrainingLoop, harvest

Make = Callable[[list[lg.Var]], Optimizer]
MAKES: dict[str, Make] = {
    "SGD": lambda params: SGD(params, lr=0.1),
    "SGD with momentum": lambda params: SGD(params, 0.1, 0.9, 0.2, 0.01),
    "Adam": lambda params: Adam(params, lr=0.05, weight_decay=0.01),
    "AdamW": lambda params: AdamW(params, lr=0.05, decay=lambda name, var: var.ndim == 2),
}
EACH = pytest.mark.parametrize("make", MAKES.values(), ids=MAKES)


def float64_var(name: str, data: Any) -> lg.Var:
    return lg.Var(name, np.array(data, np.float64))


def copy_of(model: Perceptron) -> Perceptron:
    copy = Perceptron(np.random.default_rng(0))
    copy.params = [lg.Var(var.name, var.numpy()) for var in model.params]
    return copy


def by_loop(opt: Optimizer, loss: lg.Tensor) -> None:
    TrainingLoop().step(loss, opt)


def by_loss(opt: Optimizer, loss: lg.Tensor) -> None:
    opt.backward_step(loss)


def by_map(opt: Optimizer, loss: lg.Tensor) -> None:
    opt.step(loss.backward())


def by_names(opt: Optimizer, loss: lg.Tensor) -> None:
    opt.step(harvest(loss.backward(), opt.params()))


def by_arrays(opt: Optimizer, loss: lg.Tensor) -> None:
    gradients = harvest(loss.backward(), opt.params())
    lg.realize(gradients)
    opt.step({name: g.numpy() for name, g in reversed(gradients.items())})


@EACH
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_all_ways_to_step_give_the_same_bits(rng: Generator, make: Make, dtype: str) -> None:
    model = Perceptron(rng, dtype)
    batches = [draw_batch(rng, dtype=dtype) for _ in range(5)]
    ends = []
    for way in (by_loop, by_loss, by_map, by_names, by_arrays):
        copy = copy_of(model)
        opt = make(copy.params)
        for x, y in batches:
            way(opt, copy.loss(x, y))
        ends.append(state_of(opt))
    assert ends == [ends[0]] * 5


@EACH
def test_update_is_pure_and_lazy(rng: Generator, make: Make) -> None:
    model = Perceptron(rng)
    x, y = draw_batch(rng)
    opt = make(model.params)
    opt.backward_step(model.loss(x, y))
    before = state_of(opt)
    grads = harvest(model.loss(x, y).backward(), model.params)
    slots = dict(zip(opt.names, opt.state.get(), strict=True))
    state = {
        name: {
            "step": lg.asarray(np.int64(slot.step)),
            **{key: lg.asarray(array) for key, array in slot.arrays.items()},
        }
        for name, slot in slots.items()
    }
    params = {var.name: var.tensor() for var in model.params}
    rate = lg.asarray(np.float64(opt.learning_rate))
    with lg.no_realize():
        new_params, new_state = opt.update(grads, state, params, rate)
        again, _ = opt.update(grads, state, params, rate)
    assert list(new_params) == list(new_state) == list(grads) == list(again)
    assert state_of(opt) == before
    opt.step(grads)
    for var, slot in zip(model.params, opt.state.get(), strict=True):
        assert new_params[var.name].numpy().tobytes() == var.numpy().tobytes()
        assert again[var.name].numpy().tobytes() == var.numpy().tobytes()
        assert new_state[var.name]["step"].item() == slot.step == 2
        for key, array in slot.arrays.items():
            assert new_state[var.name][key].numpy().tobytes() == array.tobytes()


@EACH
def test_a_state_continues_to_the_same_bits(rng: Generator, make: Make) -> None:
    model = Perceptron(rng)
    batches = [draw_batch(rng) for _ in range(8)]
    opt, loop = make(model.params), TrainingLoop()
    for x, y in batches[:4]:
        loop.step(model.loss(x, y), opt)
    opt.set_learning_rate(0.03)
    resumed = copy_of(model)
    other = make(resumed.params)
    other.load_state_dict(opt.state_dict())
    assert other.learning_rate == 0.03
    for x, y in batches[4:]:
        loop.step(model.loss(x, y), opt)
        loop.step(resumed.loss(x, y), other)
        assert repr(opt.state_dict()) == repr(other.state_dict())
    for var, other_var in zip(model.params, resumed.params, strict=True):
        assert var.numpy().tobytes() == other_var.numpy().tobytes()


@EACH
@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["copy", "pickle"]
)
def test_a_copy_goes_on_by_itself(
    rng: Generator, make: Make, copied: Callable[[Any], Any]
) -> None:
    model = Perceptron(rng)
    x, y = draw_batch(rng)
    opt, loop = AdamW(model.params, lr=0.05), TrainingLoop()
    loop.step(model.loss(x, y), opt)
    twin, twin_opt, twin_loop = copied((model, opt, loop))
    before = state_of(opt, loop)
    twin_loop.step(twin.loss(x, y), twin_opt)
    assert state_of(opt, loop) == before
    loop.step(model.loss(x, y), opt)
    assert repr(opt.state_dict()) == repr(twin_opt.state_dict())
    assert loop.global_step == twin_loop.global_step == 2
    for var, copy_of_var in zip(model.params, twin.params, strict=True):
        assert var.numpy().tobytes() == copy_of_var.numpy().tobytes()


@EACH
def test_a_state_names_all_that_is_needed(make: Make) -> None:
    w = float64_var("w", np.ones((2, 3)))
    opt = make([w])
    opt.backward_step(lg.sum(w))
    state = opt.state_dict()
    assert (state["algorithm"], state["learning_rate"]) == (type(opt).__name__, 0.1) or (
        state["learning_rate"] == 0.05
    )
    assert list(state["state"]) == ["w"]
    assert state["state"]["w"].pop("step") == 1
    assert all(array.shape == (2, 3) for array in state["state"]["w"].values())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"algorithm": "SGD"}, "the state must be of Adam; got one of SGD"),
        ({"learning_rate": -1.0}, r"learning_rate must be in \[0, inf\); got -1"),
        ({"state": {"v": {}}}, r"must have the parameters' names; \['v', 'w'\] differ"),
        ({"state": {"w": {"step": 1}}}, r"exp_sum of w must be of \(3,\); got nothing"),
        (
            {"state": {"w": {"step": 1, "exp_sum": np.ones(3), "exp_sum_sq": np.ones(1)}}},
            r"exp_sum_sq of w must be of \(3,\); got \(1,\)",
        ),
        (
            {"state": {"w": {"exp_sum": np.ones(3), "exp_sum_sq": np.ones(3)}}},
            "step of w must not be negative; got nothing",
        ),
        (
            {"state": {"w": {"step": -1, "exp_sum": np.ones(3), "exp_sum_sq": np.ones(3)}}},
            "step of w must not be negative; got -1",
        ),
    ],
    ids=["algorithm", "rate", "names", "missing array", "broadcast", "no step", "step"],
)
def test_a_state_that_does_not_fit_changes_nothing(
    change: dict[str, Any], message: str
) -> None:
    w = float64_var("w", np.ones(3))
    opt = Adam([w], lr=0.1)
    opt.backward_step(lg.sum(w))
    before = state_of(opt)
    with pytest.raises(ValueError, match=message):
        opt.load_state_dict({**opt.state_dict(), **change})
    assert state_of(opt) == before


class TestParameters:
    def test_may_be_a_list_a_mapping_or_a_generator(self) -> None:
        v, w = float64_var("v", 1.0), float64_var("w", 1.0)
        for given in ([v, w], (v, w), {"v": v, "w": w}, (var for var in (v, w))):
            assert SGD(given).params() == [v, w]

    def test_are_a_list_of_ones_own(self) -> None:
        opt = SGD([float64_var("w", 1.0)])
        opt.params().clear()
        assert len(opt.params()) == 1

    def test_of_one_name_are_refused(self) -> None:
        with pytest.raises(ValueError, match="names of parameters must differ; got 'w' twice"):
            SGD([float64_var("w", 1.0), float64_var("w", 1.0)])

    def test_are_needed(self) -> None:
        with pytest.raises(ValueError, match="needs at least one parameter; got none"):
            SGD([])

    def test_are_floating_vars(self) -> None:
        with pytest.raises(TypeError, match="takes Vars; got Tensor"):
            SGD([lg.zeros(3)])  # type: ignore[list-item]
        with pytest.raises(TypeError, match=r"takes floating Vars; got Var\('n', int64"):
            SGD([lg.Var("n", np.arange(3))])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda w: SGD([w], lr=-0.1), r"lr must be in \[0, inf\); got -0\.1"),
        (lambda w: SGD([w], lr=math.nan), r"lr must be in \[0, inf\); got nan"),
        (lambda w: SGD([w], momentum=1.0), r"momentum must be in \[0, 1\.0\); got 1\.0"),
        (lambda w: SGD([w], nesterov=True), "nesterov needs momentum and no dampening"),
        (lambda w: SGD([w], 0.1, 0.9, 0.1, nesterov=True), "nesterov needs momentum and no"),
        (lambda w: Adam([w], betas=(0.9, 1.0)), r"betas\[1\] must be in \[0, 1\.0\); got 1"),
        (lambda w: Adam([w], betas=(-0.1, 0.9)), r"betas\[0\] must be in \[0, 1\.0\)"),
        (lambda w: AdamW([w], eps=-1.0), r"eps must be in \[0, inf\); got -1\.0"),
        (lambda w: AdamW([w], weight_decay=-1.0), r"weight_decay must be in \[0, inf\)"),
        (lambda w: SGD([w]).set_learning_rate(-1.0), r"lr must be in \[0, inf\); got -1\.0"),
    ],
)
def test_a_number_out_of_range_is_named(make: Callable[[lg.Var], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(float64_var("w", 1.0))


@pytest.mark.parametrize(
    ("grads", "error", "message"),
    [
        ({"v": np.zeros(2)}, KeyError, r"must have the names of parameters; got \['v'\]"),
        ({"w": np.zeros(1)}, errors.ShapeError, r"of w must be float64\[2\]; got float64\[1\]"),
        ({"w": np.zeros(2, np.float32)}, errors.ShapeError, r"got float32\[2\]"),
    ],
    ids=["name", "shape that would broadcast", "dtype"],
)
def test_gradients_that_do_not_fit_change_nothing(
    grads: Any, error: type[Exception], message: str
) -> None:
    opt = AdamW([float64_var("w", [1.0, 2.0])])
    before = state_of(opt)
    with pytest.raises(error, match=message):
        opt.step(grads)
    assert state_of(opt) == before


def test_a_step_with_other_gradients_than_the_loss_has_is_possible() -> None:
    # Gradients may stem from an older version: they are given, not derived.
    w = float64_var("w", 1.0)
    opt, old = SGD([w], lr=0.5), (w * w).backward()
    for expected in (0.0, -1.0):
        opt.step(old)
        assert w.item() == expected


def test_two_optimizers_share_the_parameters_of_one_model(rng: Generator) -> None:
    model = Perceptron(rng)
    x, y = draw_batch(rng)
    first, second = SGD(model.params[:2], lr=0.1), AdamW(model.params[2:], lr=0.1)
    loop = TrainingLoop()
    outcome = loop.step(model.loss(x, y), first)
    assert (outcome.missing, model.params[2].version) == ((), 0)
    loop.step(model.loss(x, y), second)
    assert [var.version for var in model.params] == [1, 1, 1, 1]
