"""What the pages of a draft share: which draft, which file, what is wrong with it, and how far its proof is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.core.exceptions import BadRequest
from django.http import Http404

from courseware.models import Draft
from courseware.studio import drafts
from courseware.studio.looking import Look, look_at
from courseware.studio.pieces import piece_at
from labs import draft_proofs
from labs.models import DraftProof

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpRequest

_LINE = re.compile(r":(?P<line>\d+):")
_COUNT = re.compile(r"(?P<stage>table|pool|plays): (?P<done>\d+)(?: of (?P<of>\d+))?")
STAGES = {
    "table": "Running every world on many seeds",
    "pool": "Choosing seeds for learners",
    "plays": "Playing the reference, the tempting fixes and the cheats",
}


@dataclass(frozen=True)
class Stage:
    """How far a proof is."""

    word: str
    done: int
    of: int


def draft(public_id: UUID) -> Draft | None:
    return Draft.objects.select_related("by", "last_by").filter(public_id=public_id).first()


def draft_or_404(public_id: UUID) -> Draft:
    found = draft(public_id)
    if found is None:
        raise Http404
    return found


def file_of(found: Draft, asked: str) -> str:
    """Return the file that a page is about: the one that was asked for, else the one that one begins with."""
    if asked in found.texts:
        return asked
    first = [name for name in ("lab.toml", "drill.toml") if name in found.texts]
    texts = sorted(name for name in found.texts if name.endswith(".md"))
    return (first or texts or sorted(found.texts))[0]


def typed_in(request: HttpRequest) -> str:
    return request.POST.get("text", "").replace("\r\n", "\n")


def version_sent(request: HttpRequest) -> int:
    sent = request.POST.get("version", "")
    if not (sent.isascii() and sent.isdecimal() and len(sent) < 10):  # noqa: PLR2004
        raise BadRequest("version: the page sends the number of the draft that it showed")
    return int(sent)


def look_of(found: Draft, name: str, text: str, asked: dict[str, str] | None = None) -> Look:
    held = {**drafts.files_of(found), name: text.encode()}
    return look_at(piece_at(found.piece), held, name, asked)


def looked_at(found: Draft, name: str, text: str) -> dict[str, Any]:
    looked = look_of(found, name, text)
    lines = [int(match["line"]) for each in looked.faults if (match := _LINE.search(each))]
    shown: dict[str, Any] = {}
    if looked.preview is not None and not looked.faults:
        shown = {**looked.preview.context, "template": f"preview/_{looked.preview.kind}.html"}
    return {
        **shown,
        "draft": found,
        "file": name,
        "look": looked,
        "fault_lines": lines,
        "facts": looked.preview.facts if looked.preview else (),
        "spec": looked.spec,
    }


def proved(found: Draft) -> dict[str, Any]:
    known = drafts.proof_of(found)
    match = _COUNT.search(known.doing) if known is not None else None
    stage = None
    if match:
        stage = Stage(STAGES[match["stage"]], int(match["done"]), int(match["of"] or 0))
    lines = draft_proofs.lines_of(known) if known is not None else []
    return {
        "proof": known,
        "stage": stage,
        "is_proving": known is not None and known.status == DraftProof.Status.RUNNING,
        "lines": lines,
        "red": [line for line in lines if line.verdict == "red"],
        "report": known.report if known is not None else None,
    }
