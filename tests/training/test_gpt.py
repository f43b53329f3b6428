"""The GPT: logits and gradients against plain NumPy, first values, ties, dropout, errors."""

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator

import lazygraph as lg
from lazygraph import errors
from tests.training import reference
from tests.training.differences import difference, draw_direction
from training import AdamW, TrainingLoop
from training.models import GPT

SIZES: dict[str, Any] = {
    "vocabulary_size": 11,
    "block_size": 6,
    "n_layer": 2,
    "n_head": 2,
    "n_embd": 8,
}
BLOCK = [
    "ln_1.weight",
    "attention.qkv.weight",
    "attention.projection.weight",
    "ln_2.weight",
    "mlp.expansion.weight",
    "mlp.projection.weight",
]
WITH_BIAS = [
    path.replace("weight", kind)
    for path in BLOCK
    for kind in ("weight", "bias")
]  # fmt: skip


def make(seed: int = 0, **more: Any) -> GPT:
    return GPT(**SIZES, seed=seed, **more)


def draw_batch(rng: Generator, time: int = 6) -> tuple[Any, Any]:
    return rng.integers(0, 11, (3, time)), rng.integers(0, 11, (3, time))


def shaken(rng: Generator, **more: Any) -> GPT:
    """A model in float64 whose parameters are all of a size that matters."""
    model = make(dtype=lg.float64, **more)
    for path, var in model.parameters().items():
        centre = 1.0 if "ln_" in path and path.endswith("weight") else 0.0
        var.assign(centre + 0.5 * rng.standard_normal(var.shape))
    return model


class TestLayout:
    def test_has_paths_in_the_order_of_the_model_and_no_head_of_its_own(self) -> None:
        blocks = [f"blocks.{i}.{path}" for i in range(2) for path in BLOCK]
        expected = ["wte.weight", "wpe.weight", *blocks, "ln_f.weight"]
        assert list(make().parameters()) == expected
        blocks = [f"blocks.{i}.{path}" for i in range(2) for path in WITH_BIAS]
        expected = ["wte.weight", "wpe.weight", *blocks, "ln_f.weight", "ln_f.bias"]
        assert list(make(bias=True).parameters()) == expected

    @pytest.mark.parametrize(("bias", "extra"), [(False, 0), (True, 2 * 11 * 8 + 8)])
    def test_has_as_many_numbers_as_its_sizes_say(self, bias: bool, extra: int) -> None:
        count = sum(var.size for var in make(bias=bias).parameters().values())
        assert count == (11 + 6) * 8 + 2 * (12 * 8 * 8 + 2 * 8) + 8 + extra

    def test_shows_its_paths_as_scopes(self, rng: Generator) -> None:
        _, loss = make(dropout=0.1)(*draw_batch(rng))
        found = {node.scope for node in lg.extend.postorder([loss.node])}
        assert found >= {"blocks.1.attention.qkv", "blocks.0.mlp.projection", "ln_f", "wte", ""}
        assert {scope for scope in found if "." not in scope} == {"", "wte", "dropout", "ln_f"}


class TestFirstValues:
    def test_are_those_of_the_layout(self) -> None:
        model = GPT(300, 40, n_layer=3, n_head=2, n_embd=64, bias=True)
        for path, var in model.parameters().items():
            values = var.numpy()
            if path.endswith("bias"):
                assert not values.any(), path
            elif "ln_" in path:
                assert (values == 1.0).all(), path
            else:
                std = 0.02 / math.sqrt(6) if "projection" in path else 0.02
                assert values.std() == pytest.approx(std, rel=0.05), path
                assert abs(values.mean()) < 0.1 * std, path

    def test_repeat_with_the_seed_and_differ_between_layers(self) -> None:
        first, again, other = make(3), make(3), make(4)
        for path, array in first.state_dict().items():
            assert array.tobytes() == again.state_dict()[path].tobytes()
            assert "ln_" in path or array.tobytes() != other.state_dict()[path].tobytes()
        path = "blocks.{}.attention.qkv.weight"
        state = first.state_dict()
        assert state[path.format(0)].tobytes() != state[path.format(1)].tobytes()

    def test_know_nothing_yet(self, rng: Generator) -> None:
        _, loss = make()(*draw_batch(rng))
        assert loss.item() == pytest.approx(math.log(11), rel=0.02)


class TestAgainstPlainNumpy:
    @pytest.mark.parametrize("bias", [False, True])
    def test_logits_and_loss_agree(self, bias: bool, rng: Generator) -> None:
        model = shaken(rng, bias=bias)
        ids, targets = draw_batch(rng)
        logits, loss = model(ids, targets)
        expected = reference.gpt(model.state_dict(), ids, heads=2)
        assert np.abs(expected).max() > 1.0
        np.testing.assert_allclose(logits.numpy(), expected, rtol=1e-11, atol=1e-12)
        assert loss.item() == pytest.approx(
            reference.cross_entropy(expected, targets), rel=1e-12
        )
        assert model(ids).tolist() == logits.tolist()

    def test_in_float32_logits_agree_to_its_precision(self, rng: Generator) -> None:
        model = make(bias=True)
        ids, _ = draw_batch(rng)
        state = {path: x.astype(np.float64) for path, x in model.state_dict().items()}
        expected = reference.gpt(state, ids, heads=2)
        np.testing.assert_allclose(model(ids).numpy(), expected, atol=1e-6)

    @pytest.mark.parametrize("bias", [False, True])
    def test_gradients_are_the_slopes_of_the_plain_loss(
        self, bias: bool, rng: Generator
    ) -> None:
        model = shaken(rng, bias=bias)
        ids, targets = draw_batch(rng)
        gradients = model(ids, targets)[1].backward()

        def plain(state: Any) -> float:
            return reference.cross_entropy(reference.gpt(state, ids, heads=2), targets)

        state = model.state_dict()
        for path, var in model.parameters().items():  # each by itself: small ones count too
            direction = draw_direction({path: state[path]}, rng)
            expected = difference(
                lambda part: plain({**state, **part}),
                {path: state[path]},
                direction,
            )
            slope = float((gradients[var].numpy() * direction[path]).sum())
            assert slope == pytest.approx(expected, rel=1e-7, abs=1e-10), path

    def test_the_tied_table_gets_the_gradients_of_both_its_uses(self, rng: Generator) -> None:
        model = shaken(rng)
        ids, targets = draw_batch(rng)
        state, table = model.state_dict(), model.wte.weight
        gradient = model(ids, targets)[1].backward()[table].numpy()

        def plain(uses: Any) -> float:
            logits = reference.gpt({**state, "wte.weight": uses["in"]}, ids, 2, uses["out"])
            return reference.cross_entropy(logits, targets)

        at = {"in": table.numpy(), "out": table.numpy()}
        u, zero = rng.standard_normal(table.shape), np.zeros(table.shape)
        of_input = difference(plain, at, {"in": u, "out": zero})
        of_head = difference(plain, at, {"in": zero, "out": u})
        assert abs(of_input) > 1e-3
        assert abs(of_head) > 1e-3
        assert (gradient * u).sum() == pytest.approx(of_input + of_head, rel=1e-7)


class TestSequences:
    def test_may_be_shorter_than_the_block_and_do_not_depend_on_what_follows(
        self, rng: Generator
    ) -> None:
        model = shaken(rng)
        ids, _ = draw_batch(rng)
        whole = model(ids).numpy()
        for time in (1, 3, 6):
            part = model(ids[:, :time]).numpy()
            np.testing.assert_allclose(part, whole[:, :time], rtol=1e-11, atol=1e-12)

    @pytest.mark.parametrize("shape", [(3, 7), (6,), (1, 3, 6), ()])
    def test_of_another_shape_are_refused(self, shape: tuple[int, ...]) -> None:
        with pytest.raises(errors.ShapeError) as caught:
            make()(np.zeros(shape, int))
        assert str(caught.value) == (
            f"GPT: ids must have the shape (batch, time), time up to 6; got {shape}"
        )

    def test_of_unknown_tokens_are_refused(self) -> None:
        for token in (11, -1):
            with pytest.raises(errors.BoundsError, match="axis 0 with size 11"):
                make()([[1, token]]).numpy()
        with pytest.raises(
            errors.DTypeError, match=r"^Embedding wte: tokens must be integers; g"
        ):
            make()([[1.0]])

    def test_need_targets_of_their_shape(self, rng: Generator) -> None:
        ids, targets = draw_batch(rng)
        message = r"^cross_entropy: .* got \(3, 6, 11\) and \(3, 5\)"
        with pytest.raises(errors.ShapeError, match=message):
            make()(ids, targets[:, :5])


@pytest.mark.parametrize("size", SIZES)
def test_a_gpt_of_no_size_is_refused(size: str) -> None:
    with pytest.raises(ValueError, match=r"^each size of a GPT must be at least 1; got \("):
        GPT(**{**SIZES, size: 0})


def trained(dropout: float, evaluations: int, rng: Generator, seed: int = 0) -> GPT:
    model = make(seed, dropout=dropout)
    optimizer, loop = AdamW(model.parameters(), lr=0.01), TrainingLoop(max_grad_norm=1.0)
    ids, targets = draw_batch(rng)
    for _ in range(3):
        _, loss = model(ids, targets)
        loop.step(loss, optimizer)
        model.eval()
        for _ in range(evaluations):
            model(ids).realize()
        model.train()
    return model


def test_training_with_dropout_repeats_and_does_not_depend_on_evaluations() -> None:
    def state(evaluations: int, seed: int = 0) -> list[bytes]:
        model = trained(0.3, evaluations, np.random.default_rng(0), seed)
        return [array.tobytes() for array in model.state_dict().values()]

    assert state(0) == state(0) == state(2) != state(0, seed=1)


def test_a_model_in_use_draws_nothing(rng: Generator) -> None:
    ids, _ = draw_batch(rng)
    model = make(dropout=0.5)
    assert model(ids).tolist() != model(ids).tolist()
    model.eval()
    assert model(ids).tolist() == model(ids).tolist() == make()(ids).tolist()


def test_a_step_realizes_once_and_later_ones_build_no_plan(rng: Generator) -> None:
    trained(0.3, 0, rng)
    model = make(dropout=0.3)
    optimizer, loop = AdamW(model.parameters(), lr=0.02), TrainingLoop(max_grad_norm=1.0)
    before = lg.stats()
    for _ in range(4):
        _, loss = model(*draw_batch(rng))
        loop.step(loss, optimizer)
    assert lg.stats().realizations - before.realizations == 4
    assert lg.stats().plans_built == before.plans_built


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_of_a_model_goes_its_own_way(copied: Any, rng: Generator) -> None:
    model = trained(0.0, 0, rng)
    other = copied(model)
    ours, theirs = model.parameters(), other.parameters()
    assert list(ours) == list(theirs)
    assert not {id(var) for var in ours.values()} & {id(var) for var in theirs.values()}
    ids, targets = draw_batch(rng)
    before = other(ids).tolist()
    assert before == model(ids).tolist()
    AdamW(ours, lr=0.1).backward_step(model(ids, targets)[1])
    assert other(ids).tolist() == before != model(ids).tolist()
    gradients = other(ids, targets)[1].backward()
    assert other.wte.weight in gradients
    assert model.wte.weight not in gradients
