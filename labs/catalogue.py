"""The labs of the course as it is served, and single versions of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from courseware.served import PINNED, remembered, tree
from labs.specs import LabSpec, load_spec

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

    Raises KeyError if there is no such lab, SpecError for a version that cannot be read.
    """
    if PINNED not in key:
        return labs()[key]
    if not folder_of(key).is_dir():
        raise KeyError(key)
    return load_spec(folder_of(key))


def _place(number: str) -> tuple[int, ...]:
    """Return where a number stands: 10 after 9, and 2.10 after 2.9."""
    return tuple(int(part) for part in number.split(".") if part.isdecimal())


def folder_of(key: str) -> Path:
    """Return the folder of a lab, or of one of its versions. Raises KeyError for a version where none are kept."""
    here = tree()
    if PINNED not in key:
        return here.labs / key
    if here.pinned is None:
        raise KeyError(key)
    return here.pinned / key


@remembered
def text_of(key: str, name: str) -> str:
    """Return a text of the lab's folder: ``brief.md`` or ``debrief.md``."""
    return (folder_of(key) / name).read_text(encoding="utf-8")
