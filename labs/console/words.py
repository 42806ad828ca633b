"""A line's words, split as a shell would split them: quotes, backslashes, and pipes between stages."""

from __future__ import annotations

from dataclasses import dataclass, field

_SIGNS = ";&<>`"


class OpenQuoteError(ValueError):
    """A quote that is never closed."""


@dataclass
class Line:
    """The words of each stage, and the first sign outside quotes that only a shell would know."""

    stages: list[list[str]] = field(default_factory=lambda: [[]])
    shell_sign: str = ""

    def mark(self, sign: str) -> None:
        self.shell_sign = self.shell_sign or sign


def split(text: str) -> Line:
    """Return the line. Raises OpenQuoteError."""
    line = Line()
    word: list[str] | None = None
    position = 0
    while position < len(text):
        character = text[position]
        if character.isspace() or character == "|":
            _end(line, word)
            word = None
            position += 1
            if character == "|":
                doubled = text.startswith("|", position)
                line.mark("||" if doubled else "")
                position += doubled
                line.stages.append([])
        else:
            piece, position = _piece(text, position, line)
            word = [*(word or []), piece]
    _end(line, word)
    return line


def _end(line: Line, word: list[str] | None) -> None:
    if word is not None:
        line.stages[-1].append("".join(word))


def _piece(text: str, position: int, line: Line) -> tuple[str, int]:
    """Return the piece of a word that begins here, and the position after it."""
    character = text[position]
    if character in "'\"":
        return _quoted(text, position + 1, character)
    if character == "\\":
        return text[position + 1 : position + 2] or "\\", position + 2
    if character in _SIGNS:
        line.mark(character)
    if text.startswith("$(", position):
        line.mark("$(")
    return character, position + 1


def _quoted(text: str, position: int, quote: str) -> tuple[str, int]:
    """Return what stands between the quotes, and the position after the closing one."""
    inside: list[str] = []
    while position < len(text):
        character = text[position]
        position += 1
        if character == quote:
            return "".join(inside), position
        if character == "\\" and quote == '"' and text[position : position + 1] in {'"', "\\"}:
            character = text[position]
            position += 1
        inside.append(character)
    raise OpenQuoteError(quote)
