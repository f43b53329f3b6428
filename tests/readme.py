"""Runs one of the README's two commands, as it stands there, in a fresh copy of the project."""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from tests.pages import read_blocks

ROOT = Path(__file__).resolve().parent.parent
LEFT_BEHIND = (".git", ".venv", "__pycache__", ".*_cache", "build", "dist", "runs")


def read_commands(readme: str) -> list[str]:
    """The two blocks of `sh`: the first trains, the second tests."""
    commands = [block.text for block in read_blocks(readme) if block.language == "sh"]
    if len(commands) != 2:
        raise ValueError(f"the README must have two blocks of sh; it has {len(commands)}")
    return commands


def list_files(project: Path) -> list[str]:
    """The files that a clone would have after a commit of everything; none without Git."""
    # The owner of the files may be another than the one who runs this, as in a container.
    command = ["git", "-c", "safe.directory=*", "-C", str(project), "ls-files", "-z"]
    try:
        listing = subprocess.run(
            [*command, "--cached", "--others", "--exclude-standard"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    except (FileNotFoundError, subprocess.CalledProcessError):
        return []
    return [name for name in listing.split("\0") if name and (project / name).is_file()]


def copy_project(project: Path, copy: Path) -> None:
    """Copy the project as a clone would: without what is ignored or was built."""
    names = list_files(project)
    if "pyproject.toml" not in names:  # not a repository of ours: an unpacked archive, say
        shutil.copytree(project, copy, ignore=shutil.ignore_patterns(*LEFT_BEHIND))
        return
    for name in names:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(project / name, copy / name)


def main() -> int:
    """Copy, run, and hand on the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.readme", description=__doc__)
    parser.add_argument("which", type=int, choices=(1, 2), help="the first or the second")
    parser.add_argument("folder", type=Path, help="where the copy goes; must not exist")
    options = parser.parse_args()
    command = read_commands((ROOT / "README.md").read_text(encoding="utf-8"))[options.which - 1]
    copy_project(ROOT, options.folder)
    print("$", command.strip(), flush=True)
    shell = ["bash", "-euo", "pipefail", "-c", command]
    return subprocess.run(shell, cwd=options.folder, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
