"""Graphs of simple shapes, and names that are hard to write."""

from typing import Any

import numpy as np

import lazygraph as lg

# Names that mean something to one of the languages, and some that are merely hard to write.
NAMES = (
    *("", "node", "graph", "edge", "digraph", "end", "subgraph", "style:a#b;", "click"),
    *("a:b", "a:c", "1.5x", "y: (2, 2) float64", "a->b", "a --> b", "; drop", ":::x", "%%c"),
    *('a"b', '"', "it's", "back\\slash", "end\\", "\\n", "\\N \\G", "line\nfeed", "\n"),
    *("<b>bold</b>", "<br/>", "&lt;", "&#39;", "&copy", "a & b", "#35;", "#quot;", "{r|s}"),
    *("1. x", "- x", "_w_", "*w*", "`code`", "[a](b)", "$$x$$", "@{ shape: x }"),
    *("θ_1", "emoji 🙂", "👩‍💻", "naïve", "重み"),
)


def diamonds(count: int) -> lg.Tensor:
    a = lg.asarray(np.ones(2, np.float32))
    for _ in range(count):
        a = a + a
    return a


def chain(count: int) -> lg.Tensor:
    a = lg.asarray(np.ones(2, np.float32))
    for _ in range(count):
        a = -a
    return a


def sum_of(names: tuple[str, ...]) -> lg.Tensor:
    y = lg.Var(names[0], 0.0).tensor()
    for text in names[1:]:
        y = y + lg.Var(text, [1.0, 2.0])
    return y


def name(function: Any) -> str:
    return str(getattr(function, "__name__", function))
