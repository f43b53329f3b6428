"""Programs side by side on the same workloads, each in its own process, turn and turn about."""

import argparse
import datetime
import json
import os
import platform
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.measuring import PROGRAMS
from benchmarks.running import Finding, Options, run
from benchmarks.workloads import WORKLOADS

RESULTS = Path(__file__).parent / "results"
OURS, TOLERANCE = "ours", 1e-4
NOISE = 0.1  # cores that others may use before a line says so


def disagreement(finding: Finding, reference: Finding) -> str:
    """Where losses differ by more than the tolerance, in words; "" if nowhere."""
    for step, expected in reference["losses"].items():
        loss = finding["losses"][step]
        if not abs(loss - expected) <= TOLERANCE * abs(expected):
            return f"the loss at step {step} is {loss:.7g} instead of {expected:.7g}"
    return ""


@dataclass(slots=True)
class Comparison:
    """What was found out about one workload.

    Attributes:
        workload: its name.
        checked: the findings before anything was timed, by program.
        rounds: the findings of each round, by program.
    """

    workload: str
    checked: dict[str, Finding] = field(default_factory=dict)
    rounds: list[dict[str, Finding]] = field(default_factory=list)

    def check(self, programs: Sequence[str], options: Options) -> list[str]:
        """Run the compared steps, and return the programs that agree with the first."""
        agreeing: list[str] = []
        for program in programs:
            finding = run(program, self.workload, options, seconds=0)
            self.checked[program] = finding
            if "losses" not in finding:
                continue
            if agreeing and (words := disagreement(finding, self.checked[agreeing[0]])):
                finding["failed"] = words
            else:
                agreeing.append(program)
        return agreeing

    def time(self, programs: Sequence[str], options: Options, rounds: int) -> None:
        """Time the programs in turn, so that all see the machine in the same minutes."""
        for _ in range(rounds):
            done: dict[str, Finding] = {}
            self.rounds.append(done)
            for program in programs:
                finding = run(program, self.workload, options, options.seconds)
                done[program] = finding
                if "losses" in finding:
                    words = disagreement(finding, self.checked[programs[0]])
                    finding |= {"failed": words} if words else {}

    def of(self, program: str) -> list[Finding]:
        """What rounds found out about a program, without those in which it failed."""
        found = [done[program] for done in self.rounds if program in done]
        return [finding for finding in found if "failed" not in finding]

    def ratios(self, program: str) -> list[float]:
        """Our time over that of a program, round by round."""
        pairs = [(done.get(OURS, {}), done.get(program, {})) for done in self.rounds]
        return [
            a["median_ms"] / b["median_ms"]
            for a, b in pairs
            if "median_ms" in a and "median_ms" in b and not {"failed"} & (a.keys() | b.keys())
        ]

    def lines(self) -> Iterator[str]:
        """The comparison as a table."""
        yield (
            f"{self.workload:18s} {'median ms':>10s} {'products':>9s} {'first ms':>9s} "
            f"{'peak MB':>8s} {'used MB':>8s} {'predicted':>10s}   ours / it: least median most"
        )
        for program in self.checked:
            yield from self._line(program)
        for what, finding in self._troubles():
            yield f"  {what}: {finding}"

    def _line(self, program: str) -> Iterator[str]:
        found = self.of(program)
        if not found:
            return

        def middle(key: str) -> float:
            return statistics.median([float(finding[key]) for finding in found])

        shares = [finding["products_ms"] / finding["median_ms"] for finding in found]
        predicted = [sum(finding["predicted_mb"].values()) for finding in found]
        line = (
            f"  {program:16s} {middle('median_ms'):10.3f} "
            f"{statistics.median(shares):9.0%} {middle('first_ms'):9.1f} "
            f"{middle('peak_mb'):8.0f} {middle('used_mb'):8.1f} "
        )
        line += f"{max(predicted):10.1f}" if any(predicted) else f"{'':10s}"
        ratios = self.ratios(program)
        if program != OURS and ratios:
            line += f"   {min(ratios):.3f} {statistics.median(ratios):.3f} {max(ratios):.3f}"
        yield line.rstrip()

    def _troubles(self) -> Iterator[tuple[str, str]]:
        """What is missing, what failed, and who was disturbed: each once."""
        seen = set()
        for done in (self.checked, *self.rounds):
            for program, finding in done.items():
                for key in ("missing", "failed"):
                    if key in finding and (program, finding[key]) not in seen:
                        seen.add((program, finding[key]))
                        yield program, f"{key}: {finding[key]}"
        noisy = [
            finding["cores_of_others"]
            for done in self.rounds
            for finding in done.values()
            if finding.get("cores_of_others", 0) > NOISE
        ]
        if noisy:
            yield "disturbed", f"{len(noisy)} times others used up to {max(noisy):.2f} cores"

    def as_json(self) -> dict[str, Any]:
        return {
            "workload": self.workload,
            "checked": self.checked,
            "rounds": self.rounds,
            "ours over": {p: self.ratios(p) for p in self.checked if p != OURS},
        }


def machine() -> dict[str, Any]:
    """Where and when the figures were taken."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {
        "when": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "processor": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
    }


def _interpreter(text: str) -> tuple[str, str]:
    program, equals, path = text.partition("=")
    if not equals or program not in PROGRAMS:
        raise argparse.ArgumentTypeError(f"it must be NAME=PATH; got {text!r}")
    return program, path


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m benchmarks compare", description=__doc__)
    add = parser.add_argument
    peers = [name for name in PROGRAMS if name != OURS]
    add("workloads", nargs="*", metavar="WORKLOAD", help=f"of {', '.join(WORKLOADS)}")
    add("--against", nargs="+", default=["by_hand"], choices=peers, metavar="NAME",
        help=f"of {', '.join(peers)} (by_hand)")  # fmt: skip
    add("--rounds", type=int, default=3, help="how often each is timed (3)")
    add("--seconds", type=float, default=3.0, help="how long each is timed, at least (3)")
    add("--timeout", type=float, default=300.0, help="seconds until a process is ended (300)")
    add("--threads", type=int, help="threads, and cores, that each may use")
    add("--python", type=_interpreter, action="append", default=[], metavar="NAME=PATH",
        help="the interpreter that has a program's library")  # fmt: skip
    add("--json", type=Path, help="the file to write (in benchmarks/results)")
    return parser


def main(arguments: list[str]) -> int:
    """Compare, print and write."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if unknown := sorted({*given.workloads} - {*WORKLOADS}):
        parser.error(f"no workload is called {unknown[0]!r}; there are {', '.join(WORKLOADS)}")
    options = Options(given.seconds, given.timeout, given.threads, dict(given.python))
    record: dict[str, Any] = {"machine": machine(), "options": arguments, "found": []}
    name = f"compare-{record['machine']['when'].replace(':', '')[:17]}.json"
    path = given.json or RESULTS / name
    path.parent.mkdir(parents=True, exist_ok=True)
    for workload in given.workloads or WORKLOADS:
        comparison = Comparison(workload)
        agreeing = comparison.check([OURS, *dict.fromkeys(given.against)], options)
        comparison.time(agreeing, options, given.rounds)
        print("\n".join(comparison.lines()), flush=True)
        record["found"].append(comparison.as_json())
        path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(f"written: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
