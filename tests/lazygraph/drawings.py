"""Readers of the two drawing languages, strict about all that dumps do not use."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass
class Drawing:
    """What a reader finds: labels and looks by identifier, arrows, and what stands in boxes."""

    labels: dict[str, str] = field(default_factory=dict)
    looks: dict[str, str] = field(default_factory=dict)
    edges: list[tuple[str, str]] = field(default_factory=list)
    boxes: dict[str, list[str]] = field(default_factory=dict)


_TOKEN = re.compile(r'\s*(?:("(?:[^"\\]|\\.)*")|(->|[\[\]{};=,])|([A-Za-z_]\w*))', re.DOTALL)


def _tokens(text: str) -> Iterator[str]:
    at = 0
    while text[at:].strip():
        found = _TOKEN.match(text, at)
        assert found, f"not DOT: {text[at : at + 40]!r}"
        yield found[0].strip()
        at = found.end()


def _unquoted(token: str) -> str:
    """What Graphviz draws for a quoted label: its escapes, then its entities."""
    assert token[0] == token[-1] == '"'
    meanings = {"n": "\n", "\\": "\\", '"': '"'}
    text = re.sub(r"\\(.)", lambda found: meanings[found[1]], token[1:-1], flags=re.DOTALL)
    return re.sub(r"&(#\d+|\w+);", lambda found: html.unescape(found[0]), text)


def read_dot(text: str) -> Drawing:
    """Read a digraph in which each statement is a node, an edge, a cluster or its label."""
    drawing = Drawing()
    tokens = _tokens(text)
    assert [next(tokens) for _ in range(3)][::2] == ["digraph", "{"]
    box: list[str] | None = None
    for token in tokens:
        if token == "subgraph":
            assert re.fullmatch(r"cluster_\d+", next(tokens))
            assert next(tokens) == "{"
            assert (next(tokens), next(tokens)) == ("label", "=")
            box = drawing.boxes.setdefault(_unquoted(next(tokens)), [])
            assert next(tokens) == ";"
        elif token == "}":
            box = None
        else:
            _read_statement(token, tokens, drawing, box)
    return drawing


def _read_statement(
    name: str, tokens: Iterator[str], drawing: Drawing, box: list[str] | None
) -> None:
    assert re.fullmatch(r"n\d+|more", name)
    token = next(tokens)
    if token == "->":
        drawing.edges.append((name, next(tokens)))
        if next(tokens) == "[":
            _read_attributes(tokens)
        return
    assert token == "["
    attributes = _read_attributes(tokens)
    assert name not in drawing.labels
    drawing.labels[name] = attributes.pop("label")
    attributes.pop("tooltip", None)
    drawing.looks[name] = str(attributes)
    if box is not None:
        box.append(name)


def _read_attributes(tokens: Iterator[str]) -> dict[str, str]:
    attributes = {}
    separator = ","
    while separator == ",":
        key, equals, value, separator = (next(tokens) for _ in range(4))
        assert equals == "="
        attributes[key] = _unquoted(value)
    assert (separator, next(tokens)) == ("]", ";")
    return attributes


def _decoded(text: str) -> str:
    """What Mermaid draws for a label, in which all that it might take for syntax is a code."""
    plain = re.sub(r"<br/>|#\d+;", "", text)
    assert not re.search(r"[\"<>&#;:*`(){}|$\\]|\b_|_\b", plain), plain
    lines = text.split("<br/>")
    return "\n".join(re.sub(r"#(\d+);", lambda code: chr(int(code[1])), x) for x in lines)


def read_mermaid(text: str) -> Drawing:
    """Read a flowchart in which each line is a node, an edge, a box or a look."""
    drawing = Drawing()
    first, *lines = text.split("\n")
    assert first == "flowchart TD"
    box: list[str] | None = None
    for line in map(str.strip, lines):
        if found := re.fullmatch(r'(n\d+|more)\["([^"]*)"\](?::::(\w+))?', line):
            name, label, look = found.groups()
            assert name not in drawing.labels
            drawing.labels[name], drawing.looks[name] = _decoded(label), str(look)
            if box is not None:
                box.append(name)
        elif found := re.fullmatch(r"(n\d+|more) -(?:-|\.-)> (n\d+|more)", line):
            drawing.edges.append((found[1], found[2]))
        elif found := re.fullmatch(r'subgraph s\d+\["([^"]*)"\]', line):
            box = drawing.boxes.setdefault(_decoded(found[1]), [])
        elif line == "end":
            box = None
        elif found := re.fullmatch(r"class (n\d+(?:,n\d+)*) target", line):
            for name in found[1].split(","):
                drawing.looks[name] += " target"
        else:
            assert re.fullmatch(r"classDef \w+ [\w:#,-]+", line), line
    return drawing
