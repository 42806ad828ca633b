"""One file of a draft as its author sees it while they type: what is wrong with it, and how it would be shown.

Read in a tree of its own that holds the draft beside all the rest of the course; nothing of it is kept.
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from courseware import previewing, served
from courseware.glossary import GlossaryError, glossary
from courseware.served import PINNED, Tree
from courseware.studio.pieces import write
from labs import catalogue, plays, rubrics
from labs import checks as lab_checks
from labs.plays import PlayError
from labs.specs import SpecError
from lessons import check_cards, content, hint_cards, triage
from lessons.computing import ask
from lessons.drills.evidence import evidence_of
from lessons.drills.spec import load_drill
from lessons.front_matter import ContentError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from courseware.studio.pieces import Files, Piece
    from labs.specs import LabSpec

FAULTS = (ContentError, GlossaryError, SpecError, PlayError)
_TEXTS = (check_cards.inline, check_cards.text_of, hint_cards.inline)
"""They unfold terms of the glossary, and depend on nothing else."""
_SHARED = {
    "lab": (glossary, *_TEXTS),
    "drill": (glossary, catalogue.labs, content.course, *_TEXTS),
    "symptom": (glossary, catalogue.labs, content.course, *_TEXTS),
    "lesson": (glossary, catalogue.labs, *_TEXTS),
    "triage": (glossary, catalogue.labs, content.course, *_TEXTS),
}
"""What a draft of a kind cannot change: read of the course that is served, not again."""


@dataclass(frozen=True)
class Look:
    """A file of a draft, read."""

    faults: tuple[str, ...]
    """Sentences with file, line or key, and how to mend it."""
    preview: previewing.Preview | None
    """How it would be shown; None for a file that shows nothing by itself."""
    spec: LabSpec | None = None
    """What a lab's spec says, if that is the file."""


def look_at(piece: Piece, files: Files, name: str, asked: Mapping[str, str] | None = None) -> Look:
    """Return what its author sees of one file of a piece. ``asked`` may set a demonstration."""
    with _overlay(piece, files) as folder:
        path = folder / name if piece.is_folder else folder
        try:
            faults = tuple(_faults(piece, path, name))
        except FAULTS as error:
            faults = tuple(str(error).splitlines())
        except UnicodeDecodeError:
            faults = (f"{name}: is not UTF-8: save the file in UTF-8",)
        except FileNotFoundError as error:
            faults = (f"{Path(error.filename).name}: there is no such file; this piece needs one",)
        preview, spec = None, None
        if piece.kind == "lab" and name == "lab.toml" and not faults:
            spec = catalogue.lab(f"{piece.name}{PINNED}draft")
        if name.endswith(".md") and not faults:
            preview = previewing.preview_of(path, asked, answered=ask)
            faults = (preview.fault,) if preview.fault else ()
        return Look(tuple(_plain(each, folder) for each in faults), preview, spec)


@contextmanager
def _overlay(piece: Piece, files: Files) -> Iterator[Path]:
    """Yield where a piece stands in a tree that has it beside the rest of the course that is served."""
    here = served.tree()
    with tempfile.TemporaryDirectory() as root:
        base = Path(root)
        (base / "pinned").mkdir()
        place = base / piece.path
        _link({"labs": here.labs, "lessons": here.lessons}, base, piece.path.split("/"))
        write(files, place if piece.is_folder else place.parent)
        (base / "pinned" / f"{piece.name}{PINNED}draft").symlink_to(place)
        shared = {
            each: here.memory[each] for each in _SHARED.get(piece.kind, ()) if each in here.memory
        }
        tree = Tree(
            labs=base / "labs",
            lessons=base / "lessons",
            pinned=base / "pinned",
            numbers=here.numbers,
            stamp=here.stamp,
            memory=dict(shared),
        )
        with served.trying(tree):
            yield place


def _link(places: Mapping[str, Path], base: Path, path: Sequence[str]) -> None:
    """Link what stands at ``places`` into ``base``, by name, but for what stands at ``path``."""
    first, *rest = path
    for name, place in places.items():
        if name != first:
            (base / name).symlink_to(place)
    if rest:
        (base / first).mkdir()
        inside = places[first].iterdir() if first in places else ()
        _link({each.name: each for each in inside}, base / first, rest)


def _faults(piece: Piece, path: Path, name: str) -> Iterator[str]:
    key = f"{piece.name}{PINNED}draft"
    if piece.kind == "lab" and name == "lab.toml":
        catalogue.lab(key)
        yield from (each.msg for each in lab_checks.faults_of(key))
    elif piece.kind == "lab" and name == rubrics.FILE:
        yield from lab_checks.rubric_faults(key, catalogue.lab(key))
    elif piece.kind == "lab" and name.startswith("plays/"):
        plays.load_play(key, Path(name).stem)
    elif piece.kind == "lesson" and not name.endswith(".md"):
        content.read_lesson(path.parent)
    elif piece.kind == "drill" and name == "drill.toml":
        spec = load_drill(path.parent)
        try:
            evidence_of(spec.evidence)
        except ModuleNotFoundError:
            yield f"drill.toml: evidence: there is no lessons/drills/evidence/{spec.evidence}.py"
    elif piece.kind == "glossary":
        glossary(path)
    elif piece.kind == "triage":
        triage.triage(path)
    elif piece.kind == "unit":
        content.title_of_unit(path)


def _plain(fault: str, folder: Path) -> str:
    """Return a fault with its file by name, not by where it stood for a moment."""
    return (
        fault.replace(f"{folder}/", "")
        .replace(f"{folder}:", f"{folder.name}:")
        .replace(f"{folder.parent}/", "")
    )
