"""The command `python -m training`: from what was typed to the job that does it."""

import argparse
import difflib
import io
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from lazygraph import errors
from training.options import GptRun, Option, SampleRun, UsageError, flag, options_of

PROGRAM = "python -m training"
COMMANDS: dict[str, tuple[type[GptRun] | type[SampleRun], str]] = {
    "gpt": (GptRun, "Train a small GPT on a text, one character a token."),
    "sample": (SampleRun, "Write text with the model of a finished run."),
}


def main(arguments: Sequence[str]) -> int:
    """Do what the arguments say.

    Args:
        arguments: what was typed after `python -m training`.

    Returns:
        The exit code: 0 done, 1 failed, 2 not understood or not possible, 130 interrupted.

    Raises:
        SystemExit: with code 0 after `--help`.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a character of a sample must not end a run.
            stream.reconfigure(errors="replace")
    try:
        return _do(parse(arguments))
    except (UsageError, errors.MissingExtraError) as error:
        return _complain(error, 2)
    except (errors.LazyGraphError, OSError) as error:
        return _complain(error, 1)
    except KeyboardInterrupt:
        return 130


def parse(arguments: Sequence[str]) -> GptRun | SampleRun:
    """The choices that some arguments stand for.

    Args:
        arguments: what was typed after `python -m training`.

    Returns:
        The choices of the command that was named, each inside its limits.

    Raises:
        UsageError: in one sentence that names the option, if they cannot be followed.
        SystemExit: with code 0 after `--help`.

    Example:
        >>> parse(["sample", "runs/gpt", "--length", "80"]).length
        80
    """
    if arguments and arguments[0].startswith("-") and arguments[0] not in ("-h", "--help"):
        raise UsageError(f"a command comes before {arguments[0]}: {' or '.join(COMMANDS)}")
    chosen, rest = _parser().parse_known_args(arguments)
    values = vars(chosen)
    command = values.pop("command", None)
    if command is None:
        raise UsageError(f"a command is needed: {' or '.join(COMMANDS)}")
    run = COMMANDS[command][0]
    if rest:
        raise UsageError(_unknown(rest[0], [flag(option.name) for option in options_of(run)]))
    return run(**values)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message.removeprefix("argument "))


def _do(options: GptRun | SampleRun) -> int:
    from training import jobs  # here: a wrong option is answered without loading models

    match options:
        case GptRun():
            return jobs.train_gpt(options)
        case SampleRun():
            return jobs.sample_gpt(options)


def _complain(error: Exception, code: int) -> int:
    print(f"{PROGRAM}: {error}", file=sys.stderr)
    return code


def _parser() -> _Parser:
    parser = _Parser(prog=PROGRAM, allow_abbrev=False, description="Train and use models.")
    commands = parser.add_subparsers(dest="command", metavar="command")
    for name, (run, says) in COMMANDS.items():
        command = commands.add_parser(name, help=says, description=says, allow_abbrev=False)
        if run is SampleRun:
            command.add_argument("run", type=Path, help="the folder of a finished run")
        for option in options_of(run):
            _add(command, option)
    return parser


def _add(command: argparse.ArgumentParser, option: Option) -> None:
    says = option.choice.says
    if option.kind is bool:
        command.add_argument(flag(option.name), action="store_true", help=says)
        return
    if "default" not in says:
        says = f"{says} (default: {option.default})"
    command.add_argument(
        flag(option.name),
        type=_reader(option.kind),
        default=option.default,
        metavar={int: "N", float: "X", Path: "PATH", str: "TEXT"}[option.kind],
        help=says,
    )


def _reader(kind: type) -> Callable[[str], Any]:
    def read(typed: str) -> Any:
        try:
            return kind(typed)
        except ValueError:
            number = "a whole number" if kind is int else "a number"
            raise argparse.ArgumentTypeError(f"needs {number}, got {typed!r}") from None

    return read


def _unknown(typed: str, known: list[str]) -> str:
    if not typed.startswith("-"):
        return f"one argument too many: {typed!r}"
    name = typed.partition("=")[0]
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
    return f"unknown option {name}" + (f"; did you mean {close[0]}?" if close else "")
