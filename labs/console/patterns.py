"""The patterns that ``grep`` takes here, matched in time linear in the line whatever the pattern.

A backtracking matcher can be made to run for minutes by a short pattern. This one follows all its states at once
(Thompson's construction), so a learner's pattern can be as odd as it likes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

MAX_PATTERN_CHARACTERS = 120
_CLASSES: dict[str, Callable[[str], bool]] = {
    "d": str.isdecimal,
    "s": str.isspace,
    "w": lambda c: c.isalnum() or c == "_",
}
_NAMED = {
    "digit": "0-9",
    "alpha": "a-zA-Z",
    "alnum": "a-zA-Z0-9",
    "space": r"\s",
    "upper": "A-Z",
    "lower": "a-z",
}
_COUNTED = re.compile(r"\{\d*,?\d*\}", re.ASCII)
_START, _END, _FORK, _ONE, _FOUND = range(5)


class PatternError(ValueError):
    """A pattern that is not taken; the message says why."""


@dataclass
class _State:
    kind: int
    accepts: Accepts | None = None
    after: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Accepts:
    """Which characters one place of a pattern takes."""

    characters: frozenset[str] = frozenset()
    ranges: tuple[tuple[str, str], ...] = ()
    classes: tuple[str, ...] = ()
    """Letters of d, s, w; in capitals their complements."""
    inverted: bool = False

    def __call__(self, character: str) -> bool:
        found = (
            character in self.characters
            or any(low <= character <= high for low, high in self.ranges)
            or any(_CLASSES[c.lower()](character) == c.islower() for c in self.classes)
        )
        return found != self.inverted


_ANY = Accepts(inverted=True)


class Pattern:
    """A compiled pattern."""

    def __init__(self, text: str, *, ignore_case: bool = False) -> None:
        """Raise PatternError if the pattern does not parse or is too long."""
        if len(text) > MAX_PATTERN_CHARACTERS:
            raise PatternError(f"that pattern is longer than {MAX_PATTERN_CHARACTERS} characters.")
        self._ignore_case = ignore_case
        self._states: list[_State] = []
        # GNU grep writes the operators of a plain pattern with a backslash; both spellings are taken.
        plain = text.replace(r"\|", "|").replace(r"\(", "(").replace(r"\)", ")")
        reader = _Reader(plain, self._states)
        self._states.append(_State(_FOUND))
        self._first = reader.alternatives(0)
        reader.at_end()
        self._steps: dict[tuple[frozenset[int], str, bool], frozenset[int]] = {}

    def search(self, line: str) -> bool:
        """Tell whether the pattern matches anywhere in the line."""
        here = self._closure({self._first}, at_start=True, at_end=not line)
        for position, character in enumerate(line, start=1):
            if 0 in here:
                return True
            key = (here, character, position == len(line))
            if key not in self._steps:
                self._steps[key] = self._step(here, character, at_end=position == len(line))
            here = self._steps[key]
        return 0 in here

    def _step(self, here: frozenset[int], character: str, *, at_end: bool) -> frozenset[int]:
        moved = {self._first}
        seen = {character.lower(), character.upper()} if self._ignore_case else {character}
        for number in here:
            state = self._states[number]
            if state.accepts is not None and any(map(state.accepts, seen)):
                moved.update(state.after)
        return self._closure(moved, at_start=False, at_end=at_end)

    def _closure(self, numbers: set[int], *, at_start: bool, at_end: bool) -> frozenset[int]:
        """Return the states that wait for a character, or have found, reachable without one."""
        seen: set[int] = set()
        todo = list(numbers)
        while todo:
            number = todo.pop()
            if number in seen:
                continue
            seen.add(number)
            state = self._states[number]
            if (
                state.kind == _FORK
                or (state.kind == _START and at_start)
                or (state.kind == _END and at_end)
            ):
                todo.extend(state.after)
        return frozenset(n for n in seen if self._states[n].kind in {_ONE, _FOUND})


class _Reader:
    """Reads a pattern from left to right and builds its states from right to left of each piece."""

    def __init__(self, text: str, states: list[_State]) -> None:
        self._text = text
        self._at = 0
        self._states = states

    def at_end(self) -> None:
        if self._at < len(self._text):
            raise PatternError("that pattern does not parse: a ) without its (.")

    def alternatives(self, after: int) -> int:
        """Return the first state of ``a|b|c``, which goes on to ``after``."""
        branches = [self._sequence(after)]
        while self._next_is("|"):
            self._at += 1
            branches.append(self._sequence(after))
        return branches[0] if len(branches) == 1 else self._add(_FORK, after=branches)

    def _sequence(self, after: int) -> int:
        # States are chained through forks, because what follows a piece is known before the piece is built
        # only from the right; a fork that is filled in later stands for it.
        first = self._add(_FORK)
        last = first
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            joint = self._add(_FORK)
            self._states[last].after.append(self._repeated(joint))
            last = joint
        self._states[last].after.append(after)
        return first

    def _repeated(self, after: int) -> int:
        loop = self._add(_FORK)
        first = self._piece(loop)
        repeats = ""
        while self._at < len(self._text) and self._text[self._at] in "*+?":
            repeats += self._text[self._at]
            self._at += 1
        if _COUNTED.match(self._text, self._at):
            raise PatternError("counted repeats such as {2} are not known here; * + and ? are.")
        self._states[loop].after.append(after)
        if "*" in repeats or "+" in repeats:
            self._states[loop].after.append(first)
        if "*" in repeats or "?" in repeats:
            return self._add(_FORK, after=[first, after])
        return first

    def _piece(self, after: int) -> int:
        character = self._text[self._at]
        self._at += 1
        match character:
            case "(":
                return self._group(after)
            case "[":
                return self._add(_ONE, self._set(), [after])
            case ".":
                return self._add(_ONE, _ANY, [after])
            case "^":
                return self._add(_START, after=[after])
            case "$":
                return self._add(_END, after=[after])
            case "*" | "+" | "?":
                raise PatternError(
                    f"that pattern does not parse: nothing before {character} to repeat."
                )
            case "\\":
                return self._add(_ONE, self._escape(), [after])
            case _:
                return self._add(_ONE, Accepts(frozenset(character)), [after])

    def _group(self, after: int) -> int:
        if self._text.startswith("?:", self._at):
            self._at += 2
        elif self._next_is("?"):
            raise PatternError("look-around and named groups are not known here; ( ) are.")
        first = self.alternatives(after)
        if not self._next_is(")"):
            raise PatternError("that pattern does not parse: a ( is never closed.")
        self._at += 1
        return first

    def _escape(self) -> Accepts:
        if self._at == len(self._text):
            raise PatternError("that pattern does not parse: it ends in a backslash.")
        character = self._text[self._at]
        self._at += 1
        if character.lower() in _CLASSES:
            return Accepts(classes=(character,))
        if character.isalnum():
            raise PatternError(rf"\{character} is not known here; \d, \s and \w are.")
        return Accepts(frozenset(character))

    def _set(self) -> Accepts:
        inverted = self._next_is("^")
        self._at += inverted
        characters: set[str] = set()
        ranges: list[tuple[str, str]] = []
        classes: list[str] = []
        text = self._set_text()
        position = 0
        while position < len(text):
            character = text[position]
            if character == "\\" and position + 1 < len(text):
                escaped = text[position + 1]
                (classes.append if escaped.lower() in _CLASSES else characters.add)(escaped)
                position += 2
            elif text[position + 1 : position + 2] == "-" and position + 2 < len(text):
                if text[position + 2] < character:
                    raise PatternError(
                        "that pattern does not parse: a range in [ ] runs backwards."
                    )
                ranges.append((character, text[position + 2]))
                position += 3
            else:
                characters.add(character)
                position += 1
        return Accepts(frozenset(characters), tuple(ranges), tuple(classes), inverted=inverted)

    def _set_text(self) -> str:
        """Return what stands between the brackets, POSIX names written out, and move behind them."""
        parts: list[str] = []
        while True:
            named = re.compile(r"\[:(\w+):\]").match(self._text, self._at)
            if named and named[1] in _NAMED:
                parts.append(_NAMED[named[1]])
                self._at = named.end()
                continue
            character = self._text[self._at : self._at + 1]
            if not character:
                raise PatternError("that pattern does not parse: a [ is never closed.")
            self._at += 1
            if character == "]" and parts:
                return "".join(parts)
            if character == "\\" and self._at < len(self._text):
                character += self._text[self._at]
                self._at += 1
            parts.append(character)

    def _next_is(self, character: str) -> bool:
        return self._text.startswith(character, self._at)

    def _add(
        self, kind: int, accepts: Accepts | None = None, after: list[int] | None = None
    ) -> int:
        self._states.append(_State(kind, accepts, after if after is not None else []))
        return len(self._states) - 1
