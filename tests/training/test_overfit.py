"""A small GPT learns one batch by heart, and does not when something essential is broken."""

from collections.abc import Callable

import numpy as np
import pytest

import lazygraph as lg
import training
from training import GPT, SGD, AdamW, TrainingLoop

VOCABULARY, BLOCK, BATCH, STEPS = 128, 32, 4, 500
LEARNT = 0.05
GUESSING = float(np.log(VOCABULARY))


def model() -> GPT:
    return GPT(VOCABULARY, BLOCK, n_layer=2, n_head=2, n_embd=64, seed=1337)


def batch() -> tuple[np.ndarray, np.ndarray]:
    tokens = np.random.default_rng(1337).integers(0, VOCABULARY, (BATCH, BLOCK + 1))
    return tokens[:, :-1], tokens[:, 1:]


Setup = tuple[GPT, training.Optimizer]


def fit(
    renew: Callable[[int, Setup | None], Setup], loop: TrainingLoop, steps: int = STEPS
) -> list[float]:
    """The losses of `steps` steps on one batch; `renew` gives model and optimizer of each."""
    x, y = batch()
    losses = []
    setup: Setup | None = None
    for step in range(steps):
        setup = renew(step, setup)
        _, loss = setup[0](x, y)
        losses.append(loop.step(loss, setup[1]).loss)
    return losses


def once(make: Callable[[], Setup]) -> Callable[[int, Setup | None], Setup]:
    return lambda step, setup: setup or make()


def with_adamw() -> Setup:
    gpt = model()
    return gpt, AdamW(gpt.parameters(), lr=3e-3)


class Uphill(AdamW):
    """AdamW with the sign of every gradient flipped."""

    def rule(
        self,
        name: str,
        g: lg.Tensor,
        state: dict[str, lg.Tensor],
        p: lg.Tensor,
        lr: lg.Tensor,
    ) -> tuple[lg.Tensor, dict[str, lg.Tensor]]:
        return super().rule(name, -g, state, p, lr)


def test_a_gpt_learns_one_batch_by_heart() -> None:
    losses = fit(once(with_adamw), TrainingLoop(max_grad_norm=1.0))
    assert losses[0] == pytest.approx(GUESSING, abs=0.2)
    assert losses[-1] < LEARNT


def test_an_optimizer_made_anew_in_each_step_does_not_learn_it() -> None:
    # With momentum, which it forgets. (Adam without memory steps by the sign of the gradient,
    # and that learns so small a batch too.)
    def made_anew(step: int, setup: Setup | None) -> Setup:
        gpt = setup[0] if setup else model()
        return gpt, SGD(gpt.parameters(), lr=0.02, momentum=0.9)

    kept = fit(once(lambda: made_anew(0, None)), TrainingLoop(max_grad_norm=1.0))
    assert kept[-1] < LEARNT
    assert fit(made_anew, TrainingLoop(max_grad_norm=1.0))[-1] > 4 * LEARNT


def test_a_model_made_anew_in_each_step_learns_nothing() -> None:
    losses = fit(lambda step, setup: with_adamw(), TrainingLoop(max_grad_norm=1.0), steps=20)
    assert losses[-1] == losses[0]


def test_without_clipping_a_high_rate_diverges() -> None:
    def with_sgd() -> Setup:
        gpt = model()
        return gpt, SGD(gpt.parameters(), lr=3.0, momentum=0.9)

    clipped = fit(once(with_sgd), TrainingLoop(max_grad_norm=0.1, nonfinite="ignore"))
    free = fit(once(with_sgd), TrainingLoop(nonfinite="ignore"))
    assert clipped[-1] < LEARNT
    assert not free[-1] < GUESSING


def test_a_flipped_gradient_climbs() -> None:
    def uphill() -> Setup:
        gpt = model()
        return gpt, Uphill(gpt.parameters(), lr=3e-3)

    losses = fit(once(uphill), TrainingLoop(max_grad_norm=1.0, nonfinite="ignore"), steps=100)
    assert losses[-1] > 2 * losses[0]
