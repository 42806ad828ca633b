"""The labs that this checkout has."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from labs.specs import LabSpec, load_spec

CONTENT = Path(__file__).parent / "content"


@cache
def labs() -> dict[str, LabSpec]:
    """Return every lab by slug, in order of number. Raises SpecError for a folder that cannot be served."""
    folders = sorted(path for path in CONTENT.iterdir() if path.is_dir())
    specs = sorted((load_spec(folder) for folder in folders), key=lambda spec: _place(spec.number))
    return {spec.slug: spec for spec in specs}


def _place(number: str) -> tuple[int, ...]:
    """Return where a number stands: 10 after 9, and 2.10 after 2.9."""
    return tuple(int(part) for part in number.split(".") if part.isdecimal())


def folder_of(slug: str) -> Path:
    """Return the folder of a lab."""
    return CONTENT / slug


@cache
def text_of(slug: str, name: str) -> str:
    """Return a text of the lab's folder: ``brief.md`` or ``debrief.md``."""
    return (folder_of(slug) / name).read_text(encoding="utf-8")
