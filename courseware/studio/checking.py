"""What is wrong with a course, or with one that a change would make: each fault with the piece that it is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from courseware import served
from courseware.glossary import GlossaryError
from courseware.studio.pieces import piece_at
from labs import checks as lab_checks
from labs import proved
from labs.catalogue import labs
from labs.specs import SpecError
from lessons.checks import lessons_can_be_shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from courseware.served import Tree


@dataclass(frozen=True)
class Fault:
    """A sentence that names what is wrong, where, and how to mend it."""

    piece: str
    """Its path; empty if it cannot be told which one is at fault."""
    says: str


def faults_in(
    candidate: Tree, changed: Iterable[str], *, proved_today: bool | None = True
) -> list[Fault]:
    """Return what forbids to serve a tree: the changed labs with their proofs, and all lessons as they refer to each other.

    If ``proved_today`` is False, a proof may be older than the rules of marking: those who write them run ``prove``;
    if it is None, no proof is asked for.
    """
    with served.trying(candidate):
        return [*_labs(changed, proved_today=proved_today), *_lessons(candidate)]


def _labs(changed: Iterable[str], *, proved_today: bool | None) -> Iterator[Fault]:
    try:
        there = labs()
    except SpecError as error:
        for line in str(error).splitlines():
            yield Fault(f"labs/{line.partition('/')[0]}", line)
        return
    paths = list(changed)
    if proved_today is not None:
        for pair in lab_checks.numbered_twice(there):
            # Of the two, the one that is being changed has to give way.
            one, other = sorted(pair, key=lambda slug: f"labs/{slug}" not in paths)
            yield Fault(f"labs/{one}", lab_checks.says_twice(there[one], other))
    for path in paths:
        piece = piece_at(path)
        if piece.kind == "lab" and piece.name in there:
            try:
                found = [each.msg for each in lab_checks.faults_of(piece.name)]
            except GlossaryError:
                continue  # It is a fault of the lessons, which tell it.
            if not found and proved_today is not None:
                found = list(proved.why_not(piece.name, today=proved_today))
            yield from (Fault(path, says) for says in found)


def _lessons(candidate: Tree) -> Iterator[Fault]:
    known = sorted(candidate.numbers, key=len, reverse=True)
    for message in lessons_can_be_shown(None):
        says = message.msg
        for root in (candidate.lessons, candidate.labs):
            says = says.replace(f"{root}/", "").replace(f"{root}: ", "")
        yield Fault(next((path for path in known if _is_about(says, path)), ""), says)


def _is_about(says: str, path: str) -> bool:
    """Tell whether a message names a piece: by its path, or a folder by its name."""
    name = f"{piece_at(path).name}/"
    return path.removeprefix("lessons/") in says or f" {name}" in says or says.startswith(name)
