"""What a person may choose on the command line, each choice with its default and limits."""

import contextlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

from training.schedules import CosineSchedule


class UsageError(ValueError):
    """A choice that cannot be followed, in one sentence that names the option."""


@dataclass(frozen=True)
class Limit:
    """What a value must be: the words for it, and the test."""

    says: str
    holds: Callable[[Any], bool]


AT_LEAST_ONE = Limit("at least 1", lambda value: value >= 1)
AT_LEAST_ZERO = Limit("at least 0", lambda value: value >= 0)
NOT_NEGATIVE = Limit("finite and at least 0", lambda value: 0 <= value < math.inf)
POSITIVE = Limit("finite and above 0", lambda value: 0 < value < math.inf)
ABOVE_ZERO = Limit("above 0", lambda value: value > 0)
BELOW_ONE = Limit("at least 0 and below 1", lambda value: 0 <= value < 1)
SEED = Limit("at least 0 and below 2**63", lambda value: 0 <= value < 2**63)


@dataclass(frozen=True)
class Choice:
    """What makes a dataclass field an option of a command, as the annotation of its type.

    Args:
        says: what the option does, for the help page.
        limit: what a given value must be.
    """

    says: str
    limit: Limit | None = None


@dataclass(frozen=True)
class Option:
    """A field that is an option: its name, its kind (`int` also for `int | None`) and more."""

    name: str
    kind: type
    default: Any
    choice: Choice


def options_of(run: type | object) -> list[Option]:
    """The options among the fields of a dataclass.

    Example:
        >>> [option.name for option in options_of(SampleRun)]
        ['prompt', 'length', 'temperature', 'seed']
    """
    found = []
    for field in fields(run):  # type: ignore[arg-type]
        if get_origin(field.type) is Annotated:
            kind, choice = get_args(field.type)
            kind = (get_args(kind) or (kind,))[0]
            found.append(Option(field.name, kind, field.default, choice))
    return found


def flag(name: str) -> str:
    """The option that sets a field.

    Example:
        >>> flag("eval_every")
        '--eval-every'
    """
    return "--" + name.replace("_", "-")


@contextlib.contextmanager
def about(name: str) -> Iterator[None]:
    """Around the use of an option's value: what is refused there names the option.

    Args:
        name: the field of the option.

    Raises:
        UsageError: in place of a ValueError or OSError of the block.

    Example:
        >>> with about("text"):
        ...     raise ValueError("notes.txt is empty")
        Traceback (most recent call last):
        training.options.UsageError: --text: notes.txt is empty
    """
    try:
        yield
    except UsageError:
        raise
    except (ValueError, OSError) as error:
        raise UsageError(f"{flag(name)}: {error}") from error


@dataclass(frozen=True)
class GptRun:
    """All choices of `python -m training gpt`.

    Raises:
        UsageError: if a value is out of its limits, or two do not fit together.

    Example:
        >>> GptRun(steps=100).schedule()
        CosineSchedule(base_lr=0.002, warmup_steps=5, total_steps=100, min_lr=0.0002)
    """

    text: Annotated[
        Path | None,
        Choice("a UTF-8 text to learn (default: the help topics that ship inside Python)"),
    ] = None
    out: Annotated[
        Path | None,
        Choice("the run's folder (default: runs/gpt, or the next free one, runs/gpt-2 ...)"),
    ] = None
    overwrite: Annotated[bool, Choice("replace the run that the folder holds")] = False
    steps: Annotated[int, Choice("updates to make", AT_LEAST_ONE)] = 1500
    batch: Annotated[int, Choice("windows of text an update", AT_LEAST_ONE)] = 16
    block: Annotated[int, Choice("characters a window", AT_LEAST_ONE)] = 64
    layers: Annotated[int, Choice("transformer blocks", AT_LEAST_ONE)] = 3
    heads: Annotated[int, Choice("attention heads a block", AT_LEAST_ONE)] = 4
    width: Annotated[
        int, Choice("numbers a character, a multiple of --heads", AT_LEAST_ONE)
    ] = 96
    dropout: Annotated[float, Choice("share of activations dropped in training", BELOW_ONE)] = (
        0.0
    )
    lr: Annotated[float, Choice("highest learning rate", POSITIVE)] = 2e-3
    min_lr: Annotated[
        float | None, Choice("last learning rate (default: a tenth of --lr)", NOT_NEGATIVE)
    ] = None
    warmup: Annotated[
        int | None,
        Choice("updates of warm-up (default: a twentieth of --steps)", AT_LEAST_ZERO),
    ] = None
    weight_decay: Annotated[float, Choice("AdamW's weight decay", NOT_NEGATIVE)] = 0.1
    clip: Annotated[float, Choice("limit of the gradient's norm; inf for none", ABOVE_ZERO)] = (
        1.0
    )
    log_every: Annotated[int, Choice("updates a row of metrics.jsonl", AT_LEAST_ONE)] = 1
    eval_every: Annotated[int, Choice("updates between validations", AT_LEAST_ONE)] = 250
    eval_batches: Annotated[
        int, Choice("batches a validation; 0 for all of the validation text", AT_LEAST_ZERO)
    ] = 20
    sample_every: Annotated[int, Choice("updates between samples of text", AT_LEAST_ONE)] = 500
    sample_length: Annotated[
        int, Choice("characters a sample; 0 for no samples", AT_LEAST_ZERO)
    ] = 200
    temperature: Annotated[
        float, Choice("chance in samples: 0 for none, 1 as the model believes", NOT_NEGATIVE)
    ] = 0.8
    seed: Annotated[int, Choice("source of all chance: same seed, same run", SEED)] = 1337

    def __post_init__(self) -> None:
        _require_limits(self)
        if self.width % self.heads:
            raise UsageError(
                f"--width must be a multiple of --heads, got {self.width} and {self.heads}"
            )
        if self.min_lr is not None and self.min_lr > self.lr:
            raise UsageError(f"--min-lr must be at most --lr, got {self.min_lr} and {self.lr}")
        if self.warmup is not None and self.warmup > self.steps:
            raise UsageError(
                f"--warmup must be at most --steps, got {self.warmup} and {self.steps}"
            )

    def schedule(self) -> CosineSchedule:
        """The learning rate over the run, with what was left open filled in."""
        return CosineSchedule(
            base_lr=self.lr,
            warmup_steps=self.steps // 20 if self.warmup is None else self.warmup,
            total_steps=self.steps,
            min_lr=self.lr / 10 if self.min_lr is None else self.min_lr,
        )


@dataclass(frozen=True)
class SampleRun:
    """All choices of `python -m training sample`.

    Args:
        run: the folder of a finished run.

    Raises:
        UsageError: if a value is out of its limits.

    Example:
        >>> SampleRun(Path("runs/gpt"), length=-1)
        Traceback (most recent call last):
        training.options.UsageError: --length must be at least 0, got -1
    """

    run: Path
    prompt: Annotated[str, Choice("the text to go on from (default: a new line)")] = "\n"
    length: Annotated[int, Choice("characters to write", AT_LEAST_ZERO)] = 500
    temperature: Annotated[
        float, Choice("chance in the text: 0 for none, 1 as the model believes", NOT_NEGATIVE)
    ] = 0.8
    seed: Annotated[int, Choice("source of chance: same seed, same text", SEED)] = 1337

    def __post_init__(self) -> None:
        _require_limits(self)


def _require_limits(run: GptRun | SampleRun) -> None:
    for option in options_of(run):
        limit, value = option.choice.limit, getattr(run, option.name)
        if limit is not None and value is not None and not limit.holds(value):
            raise UsageError(f"{flag(option.name)} must be {limit.says}, got {value}")
