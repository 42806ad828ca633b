"""A station's source, line by line: its blocks, and every mistake with its line.

Pure, and knows no HTML: :mod:`lessons.markdown` renders what this module has found sound.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from courseware.harmless import harms
from lessons.numbers import SHOWN, no_such_number

if TYPE_CHECKING:
    from collections.abc import Mapping


class SourceError(ValueError):
    """A station that cannot be shown: ``line`` counts from 1 within its file."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True)
class _Spec:
    argument: str = ""
    """What stands after the bar; empty if nothing does."""
    options: frozenset[str] = frozenset()
    bare: bool = False
    """Holds no text of its own."""
    is_open: bool = False
    """Takes any option: whoever reads the block knows which there are."""


SPECS: Mapping[str, _Spec] = {
    "in-short": _Spec(),
    "takeaway": _Spec(),
    "analogy": _Spec("a title"),
    "note": _Spec("a title"),
    "side": _Spec("a title"),
    "formula": _Spec("the formula"),
    "table": _Spec("a caption", frozenset({"stack"})),
    "check": _Spec(
        "an id", frozenset({"kind", "answer", "within", "unit", "tries", "wait", "layer"})
    ),
    "predict": _Spec("an id", frozenset({"ask"})),
    "run": _Spec("a step of the walkthrough", frozenset({"ask"})),
    "figure": _Spec("an id", bare=True),
    "lab": _Spec("a slug", bare=True),
    "demo": _Spec("an id", bare=True, is_open=True),
}
ONCE = ("in-short", "takeaway", "analogy")
"""Every station has exactly one of each."""


@dataclass
class Block:
    """One ``/// name | argument`` … ``///``."""

    name: str
    argument: str
    line: int
    options: dict[str, str] = field(default_factory=dict)
    body: list[str] = field(default_factory=list)
    body_line: int = 0
    """Line of the first line of the body."""

    @property
    def text(self) -> str:
        return "\n".join(self.body).strip("\n")

    @property
    def source(self) -> list[str]:
        """Its lines as the renderer reads them; of its options, those that change only looks."""
        bar = f" | {self.argument}" if self.argument else ""
        looks = ["    attrs: {class: stacked}", ""] if self.options.get("stack") == "yes" else []
        return ["", f"/// {self.name}{bar}", *looks, *self.body, "///", ""]


_HEADER = re.compile(r"/// ?(?P<name>[a-z-]+)(?: \| (?P<argument>.+))?")
_OPTION = re.compile(r" {4}(?P<name>[a-z][a-z0-9_]*): (?P<value>.+)")
_VALUE = re.compile(r"\{\{ ?(?P<name>[a-z0-9_.]+) ?\}\}")


def words_in(text: str) -> int:
    """Return the words of a source; a number that is filled in counts as one."""
    return len(_VALUE.sub("0", text).split())


def blocks_of(lines: list[str], first_line: int = 1) -> list[Block | str]:
    """Split a source into its blocks and the lines between them.

    Raises SourceError for an unknown block, one that never closes, an unknown ``{{ number }}``, and what no text of
    the course may hold: HTML, or a link that is neither https nor on this site.
    """
    _refuse_harms(lines, first_line)
    parts: list[Block | str] = []
    block: Block | None = None
    fenced = 0
    for number, raw in enumerate(lines, first_line):
        if raw.startswith("```"):
            fenced = 0 if fenced else number
        elif not fenced and "\t" in raw[: len(raw) - len(raw.lstrip())]:
            raise SourceError(number, "a tab begins this line: indent with spaces")
        line = raw if raw.startswith("/// ") else _filled(raw, number)
        if fenced or not line.startswith("///"):
            _add(parts, block, line, number)
        elif line.rstrip() == "///":
            if block is None:
                raise SourceError(number, "“///” closes a block, and none is open")
            block = None
        else:
            if block is not None:
                raise SourceError(number, f"the block of line {block.line} is still open")
            block = _opened(line, number)
            parts.append(block)
    if fenced:
        raise SourceError(fenced, "the code that begins here never ends: close it with “```”")
    if block is not None:
        raise SourceError(
            block.line, f"the block “{block.name}” is never closed: end it with “///”"
        )
    return parts


def _refuse_harms(lines: list[str], first_line: int) -> None:
    for number, said in harms("\n".join(lines)):
        raise SourceError(first_line + number - 1, said)


def _add(parts: list[Block | str], block: Block | None, line: str, number: int) -> None:
    if block is None:
        parts.append(line)
        return
    option = None if block.body else _OPTION.fullmatch(line)
    if option is None:
        if not block.body:
            if not line.strip():
                return
            if SPECS[block.name].bare:
                raise SourceError(number, f"a {block.name} holds no text")
            block.body_line = number
        block.body.append(line)
    elif not SPECS[block.name].is_open and option["name"] not in SPECS[block.name].options:
        raise SourceError(number, f"a {block.name} has no option {option['name']!r}")
    elif option["name"] in block.options:
        raise SourceError(number, f"the option {option['name']!r} stands here twice: keep one")
    else:
        block.options[option["name"]] = option["value"].strip()


def _opened(line: str, number: int) -> Block:
    match = _HEADER.fullmatch(line.rstrip())
    name = match["name"] if match else line[3:].strip()
    if match is None or name not in SPECS:
        raise SourceError(number, f"no block is called {name!r}; there are {', '.join(SPECS)}")
    argument = _filled(match["argument"] or "", number).strip()
    if bool(argument) != bool(SPECS[name].argument):
        wanted = SPECS[name].argument
        raise SourceError(
            number, f"write “/// {name} | {wanted}”" if wanted else f"write “/// {name}” alone"
        )
    return Block(name, argument, number)


def _filled(line: str, number: int) -> str:
    """Return the line with its numbers filled in."""

    def fill(match: re.Match[str]) -> str:
        name = match["name"]
        if name.startswith("computed."):
            return f"⟦{name.removeprefix('computed.')}⟧"
        if name not in SHOWN:
            raise SourceError(number, no_such_number(name, SHOWN))
        return SHOWN[name]

    return _VALUE.sub(fill, line)
