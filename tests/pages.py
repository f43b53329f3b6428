"""Markdown pages as programs: the fenced blocks of a page, and what they print when run."""

import io
import json
import re
import sys
import textwrap
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

FENCE = re.compile(r"\s*(?P<marks>`{3,}|~{3,})\s*(?P<language>[\w+-]*)[^`]*")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the page's line that the text starts at."""

    language: str
    text: str
    line: int


@dataclass(frozen=True)
class Example:
    """A block of Python, and the output that the page shows for it."""

    code: Block
    output: Block | None


def read_blocks(page: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    blocks: list[Block] = []
    language, closing, start = "", "", 0
    lines = page.splitlines()
    for number, line in enumerate(lines, 1):
        if not closing:
            if opening := FENCE.fullmatch(line):
                language, closing = opening["language"], opening["marks"]
                start = number + 1
        elif line.strip().startswith(closing) and not line.strip().strip(closing[0]):
            text = "".join(inner + "\n" for inner in lines[start - 1 : number - 1])
            blocks.append(Block(language, textwrap.dedent(text), start))
            closing = ""
    if closing:
        raise ValueError(f"line {start - 1}: this fence is never closed")
    return blocks


def read_examples(page: str) -> list[Example]:
    """The blocks of Python, each with the block of `text` that comes next, if one does."""
    examples = []
    before: Block | None = None
    for block in read_blocks(page):
        if block.language == "python":
            examples.append(Example(block, None))
        elif block.language == "text":
            if before is None or before.language != "python":
                raise ValueError(
                    f"line {block.line}: a block of text is the output of Python before it"
                )
            examples[-1] = Example(before, block)
        before = block
    return examples


def run(page: Path) -> list[str]:
    """Run a page like a script of its name in this folder; what each block printed."""
    # Lines are counted over the blocks alone, so an error or a listing shows what readers who
    # copied them would see, and prose can be edited freely.
    script = Path(page.stem.lower() + ".py")
    codes = [example.code.text for example in read_examples(page.read_text(encoding="utf-8"))]
    script.write_text("\n".join(codes), encoding="utf-8")
    main = ModuleType("__main__")
    main.__file__ = str(script.resolve())
    sys.modules["__main__"] = main
    outputs = []
    above = 0
    for code in codes:
        with redirect_stdout(io.StringIO()) as stdout:
            exec(compile("\n" * above + code, script, "exec"), main.__dict__)
        outputs.append(stdout.getvalue())
        above += code.count("\n") + 1
    return outputs


if __name__ == "__main__":
    print(json.dumps(run(Path(sys.argv[1]))))
