"""The labs of the course as it is served, and single versions of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from courseware.served import PINNED, remembered, tree
from labs.specs import LIVE, LabSpec, load_live, load_spec

if TYPE_CHECKING:
    from pathlib import Path


@remembered
def labs() -> dict[str, LabSpec]:
    """Return every lab by slug, in order of number. Raises SpecError for a folder that cannot be served."""
    folders = sorted(path for path in tree().labs.iterdir() if path.is_dir())
    specs = sorted((load_spec(folder) for folder in folders), key=lambda spec: _place(spec.number))
    return {spec.slug: spec for spec in specs}


@remembered
def lab(key: str) -> LabSpec:
    """Return one lab: the one that is served under this slug, or the version ``<slug>@<digest>``.

    With ``/live`` behind it, the lab as a real engine runs it. Raises KeyError if there is no such lab (LookupError
    for one that runs on no real engine), SpecError for a version that cannot be read.
    """
    if key.endswith(LIVE):
        return load_live(folder_of(key).parent)
    if PINNED not in key:
        return labs()[key]
    if not folder_of(key).is_dir():
        raise KeyError(key)
    return load_spec(folder_of(key))


@remembered
def live_keys() -> tuple[str, ...]:
    """Return the keys of the labs that a real engine can run, in order of number."""
    return tuple(f"{slug}{LIVE}" for slug in labs() if (folder_of(slug) / LIVE[1:]).is_dir())


def _place(number: str) -> tuple[int, ...]:
    """Return where a number stands: 10 after 9, and 2.10 after 2.9."""
    return tuple(int(part) for part in number.split(".") if part.isdecimal())


def folder_of(key: str) -> Path:
    """Return the folder of a lab, of one of its versions, or of what either says of real engines.

    Raises KeyError for a version where none are kept.
    """
    here = tree()
    if PINNED not in key:
        return here.labs / key
    if here.pinned is None:
        raise KeyError(key)
    return here.pinned / key


@remembered
def text_of(key: str, name: str) -> str:
    """Return a text of the lab's folder: ``brief.md`` or ``debrief.md``. A real engine may have its own."""
    path = folder_of(key) / name
    if key.endswith(LIVE) and not path.is_file():
        path = path.parent.parent / name
    return path.read_text(encoding="utf-8")
