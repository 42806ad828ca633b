"""What no text of the course may hold, whoever writes it: HTML, links that run something, lists without end. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor

if TYPE_CHECKING:
    from collections.abc import Iterator
    from xml.etree.ElementTree import Element

    import markdown

_FENCE = re.compile(r" {0,3}(```|~~~)")
_CODE = re.compile(r"`[^`]*`")
_HTML = re.compile(r"<[A-Za-z/!?]")
_LINK = re.compile(r"\]\((?P<target>[^)]*)\)")
_DEFINED = re.compile(r" {0,3}\[[^\]]+\]:\s*(?P<target>\S*)")
_SOUND = re.compile(r"(https://|/|#)\S+")
_NESTED = re.compile(r"(?:\s*(?:[-*+>]|\d+\.)(?=\s)){7}")
_ADDRESSES = ("href", "src")
MOST_OPEN = 200
"""Brackets that a paragraph opens: each may be a link, and readers of Markdown look for the end of each to the last line."""


def harms(text: str) -> Iterator[tuple[int, str]]:
    """Yield what a Markdown text may not hold: the line, from 1, and a sentence that says what to write instead."""
    fence, opened = "", 0
    for number, line in enumerate(text.split("\n"), 1):
        if match := _FENCE.match(line):
            fence = "" if fence == match[1] else fence or match[1]
            continue
        if fence:
            continue
        opened = opened + line.count("[") if line.strip() else 0
        if said := _harm(_CODE.sub("", line), opened):
            yield number, said


def _harm(line: str, opened: int) -> str:
    if _HTML.search(line):
        return "HTML is not allowed here: write Markdown, or `<` in backticks"
    targets = [match["target"] for match in _LINK.finditer(line)]
    if match := _DEFINED.match(line):
        targets.append(match["target"])
    for target in targets:
        if not _SOUND.fullmatch(target):
            return f"link to {target!r}: write https://…, /… or #…"
    if _NESTED.match(line):
        return "a list in a list in a list goes six deep at most: say it flatter"
    if opened > MOST_OPEN:
        return f"this paragraph opens more than {MOST_OPEN} brackets: part it with an empty line"
    return ""


class Harmless(Extension):
    """Python-Markdown: HTML is text, and a link that is not sound leads nowhere."""

    def extendMarkdown(self, md: markdown.Markdown) -> None:  # noqa: N802  # Python-Markdown's name
        md.preprocessors.deregister("html_block")
        md.inlinePatterns.deregister("html")
        md.treeprocessors.register(_SoundTargets(md), "sound-targets", 4)


class _SoundTargets(Treeprocessor):
    def run(self, root: Element) -> None:
        for each in root.iter():
            for name in _ADDRESSES:
                if name in each.attrib and not _SOUND.fullmatch(each.attrib[name]):
                    del each.attrib[name]
