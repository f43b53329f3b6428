"""The jobs behind the commands: learning a text with a GPT, writing text with one."""

import contextlib
import math
import shlex
import signal
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lazygraph as lg
import training
from training import extras, files, run_folder
from training.data import TextBatches
from training.metrics import JsonLines, Throughput
from training.models import GPT
from training.options import GptRun, SampleRun, UsageError, about
from training.plots import loss_plot
from training.progress import Progress, Report, progress
from training.run_folder import RunFolder
from training.sampling import continuation
from training.text import CharacterVocabulary, TokenFile, default_text, read_text
from training.weights import load_weights, save_weights


def train_gpt(options: GptRun) -> int:
    """Learn a text with a small GPT; all that comes of it goes to the run's folder.

    Args:
        options: all choices.

    Returns:
        The exit code: 0 when all steps are done, 130 after Ctrl-C. What was learnt until
        then is kept either way, and after an error too.

    Raises:
        UsageError: if the text or the folder cannot be used; nothing is written then.
        NonFiniteError: if the gradient is not finite.
    """
    extras.require("matplotlib", "rich", "safetensors")
    run = _prepare(options)
    code = 0
    with progress() as shown:
        shown.say(run.opening())
        try:
            run.learn(shown)
        except KeyboardInterrupt:
            code = 130
        finally:
            with _deaf_to_interrupts():
                run.keep()
        shown.say(run.closing())
    return code


def sample_gpt(options: SampleRun) -> int:
    """Print a prompt, and how the model of a finished run goes on from it.

    Args:
        options: all choices.

    Returns:
        The exit code 0.

    Raises:
        UsageError: if the folder or the prompt cannot be used.
    """
    extras.require("safetensors")
    folder = RunFolder(options.run)
    config = folder.read_json(folder.config)
    try:
        vocabulary = CharacterVocabulary.from_dict(folder.read_json(folder.vocabulary))
        model = GPT(**config["model"])
        model.load_state_dict(load_weights(folder.weights)[0])
        writer = _Writer(model, vocabulary, config["model"]["block_size"])
    except (KeyError, TypeError, ValueError, lg.errors.CheckpointError) as error:
        raise UsageError(f"{options.run} does not hold a whole run: {error}") from error
    with about("prompt"):
        prompt = vocabulary.encode(options.prompt).tolist()
        if not prompt:
            raise ValueError("a prompt needs at least one character, got none")
    rng = np.random.Generator(np.random.Philox(key=options.seed))
    print(writer.write(prompt, options.length, options.temperature, rng))
    return 0


@dataclass(frozen=True)
class _Writer:
    model: GPT
    vocabulary: CharacterVocabulary
    block_size: int

    def logits(self, window: NDArray[np.int32]) -> NDArray[Any]:
        scores: NDArray[Any] = self.model(lg.asarray(window)).numpy()[0]
        return scores

    def write(
        self, prompt: list[int], length: int, temperature: float, rng: np.random.Generator
    ) -> str:
        self.model.eval()
        try:
            answer = continuation(
                self.logits, prompt, length, self.block_size, temperature, rng
            )
        finally:
            self.model.train()
        return self.vocabulary.decode([*prompt, *answer])


class _GptTraining:
    def __init__(
        self,
        options: GptRun,
        folder: RunFolder,
        vocabulary: CharacterVocabulary,
        batches: TextBatches,
    ) -> None:
        self.options, self.folder, self.vocabulary = options, folder, vocabulary
        self.batches = batches
        self.sizes = _model_sizes(options, len(vocabulary))
        self.model = GPT(**self.sizes)
        self.writer = _Writer(self.model, vocabulary, options.block)
        self.optimizer = training.AdamW(
            self.model.parameters(),
            lr=options.lr,
            betas=(0.9, 0.99),
            eps=1e-8,
            weight_decay=options.weight_decay,
            decay=lambda name, var: var.ndim >= 2,
        )
        self.loop = training.TrainingLoop(
            max_grad_norm=options.clip, scheduler=options.schedule()
        )
        self.rows: list[dict[str, Any]] = []
        self.samples: list[str] = []

    def learn(self, shown: Progress) -> None:
        options, last = self.options, self.options.steps
        tokens_a_step = options.batch * options.block
        throughput = Throughput()
        with JsonLines(self.folder.metrics) as log:
            for step in range(1, last + 1):
                row = self.step(step)
                throughput.advance(tokens_a_step)
                row["tokens_per_second"] = throughput.tokens_per_second()
                try:
                    if step % options.eval_every == 0 or step == last:
                        row["validation_loss"] = self.validate()
                        shown.say(f"step {step}  validation loss {row['validation_loss']:.4f}")
                        self.keep_weights()
                finally:  # an interrupted validation does not undo the step
                    if (
                        step % options.log_every == 0
                        or step in (1, last)
                        or "validation_loss" in row
                    ):
                        self.rows.append(row)
                        log.write(row)
                left = throughput.seconds_for((last - step) * tokens_a_step)
                pace = row["tokens_per_second"]
                shown.update(Report(step, last, row["loss"], row["lr"], pace, left))
                if step % options.sample_every == 0 or step == last:
                    self.sample(step, shown)

    def step(self, step: int) -> dict[str, Any]:
        x, y = self.batches.batch(step - 1)
        _, loss = self.model(lg.asarray(x), lg.asarray(y))
        if step == 1:
            files.write_text(self.folder.graph, lg.listing(loss) + "\n")
        outcome = self.loop.step(loss, self.optimizer)
        return {
            "step": step,
            "loss": outcome.loss,
            "lr": outcome.lr,
            "grad_norm": outcome.grad_norm,
        }

    def validate(self) -> float:
        total, count = 0.0, 0
        self.model.eval()
        try:
            for x, y in self.batches.validation_batches(self.options.eval_batches or None):
                _, loss = self.model(lg.asarray(x), lg.asarray(y))
                total += loss.item() * x.size
                count += x.size
        finally:
            self.model.train()
        return total / count

    def sample(self, step: int, shown: Progress) -> None:
        if self.options.sample_length == 0:
            return
        rng = np.random.Generator(np.random.Philox(key=[self.options.seed, step]))
        new_line = self.vocabulary.characters.find("\n")
        text = self.writer.write(
            [max(new_line, 0)], self.options.sample_length, self.options.temperature, rng
        )
        self.samples.append(f"--- step {step} ---\n{text}\n")
        files.write_text(self.folder.samples, "\n".join(self.samples))
        shown.say(self.samples[-1])

    def keep(self) -> None:
        self.keep_weights()
        if self.rows:
            loss_plot(self.rows, self.folder.plot, f"Loss of {self.folder.path.name}")

    def keep_weights(self) -> None:
        state = self.model.state_dict()
        save_weights(self.folder.weights, state, {"step": str(self.loop.global_step)})

    def opening(self) -> str:
        tokens = len(self.batches.training) + len(self.batches.validation)
        count = sum(math.prod(var.shape) for var in self.model.parameters().values())
        return (
            f"a GPT of {count:,} parameters learns {tokens:,} characters, "
            f"{len(self.vocabulary)} distinct ones, in {self.folder.path}"
        )

    def closing(self) -> str:
        done, folder = self.loop.global_step, self.folder.path
        state = "done" if done == self.options.steps else "stopped"
        known = set("The ") <= set(self.vocabulary.characters)
        return (
            f"{state} after {done} of {self.options.steps} steps; all is kept in {folder}\n"
            f"go on with: python -m training sample {shlex.quote(str(folder))}"
            + (' --prompt "The "' if known else "")
        )


def _prepare(options: GptRun) -> _GptTraining:
    with about("text"):
        text = default_text() if options.text is None else read_text(options.text)
        vocabulary = CharacterVocabulary.of(text)
        tokens = vocabulary.encode(text)
        _batches(tokens, options)  # a text that is too short is refused before a file is made
    folder = run_folder.claim(options.out, options.overwrite)
    token_file = TokenFile(folder.tokens)
    token_file.write(tokens)
    run = _GptTraining(options, folder, vocabulary, _batches(token_file.open(), options))
    files.write_json(folder.vocabulary, vocabulary.to_dict())
    files.write_json(
        folder.config,
        {
            "options": {name: _for_json(value) for name, value in asdict(options).items()},
            "model": run.sizes,
            "schedule": asdict(options.schedule()),
            "characters": len(text),
        },
    )
    return run


def _batches(tokens: NDArray[Any], options: GptRun) -> TextBatches:
    return TextBatches(tokens, options.block, options.batch, options.seed)


def _model_sizes(options: GptRun, vocabulary_size: int) -> dict[str, Any]:
    return {
        "vocabulary_size": vocabulary_size,
        "block_size": options.block,
        "n_layer": options.layers,
        "n_head": options.heads,
        "n_embd": options.width,
        "dropout": options.dropout,
        "bias": False,
        "seed": options.seed,
    }


def _for_json(value: Any) -> Any:
    if isinstance(value, Path) or (isinstance(value, float) and not math.isfinite(value)):
        return str(value)
    return value


@contextlib.contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    # People press Ctrl-C twice; the second must not stop the saving that the first began.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
