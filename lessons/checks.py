"""A broken lesson, symptom, drill or glossary stops ``manage.py check``: the message names the file and the line."""

from pathlib import Path
from typing import Any

from django.core.checks import Error, register

from courseware.glossary import GlossaryError, glossary
from labs.specs import SpecError
from lessons import content, symptoms, triage
from lessons.drills.evidence import evidence_of
from lessons.drills.spec import drills, folder_of
from lessons.front_matter import ContentError
from lessons.prose import text_html


@register()
def lessons_can_be_shown(app_configs: Any, **kwargs: Any) -> list[Error]:
    """Read glossary, lessons, symptoms and drills anew."""
    del app_configs, kwargs
    try:
        glossary.cache_clear()
        glossary()
    except GlossaryError as error:
        return [Error(str(error), id="lessons.E002")]
    try:
        content.course.cache_clear()
        content.course()
        symptoms.symptoms.cache_clear()
        symptoms.symptoms()
        triage.triage.cache_clear()
        triage.triage()
    except ContentError as error:
        return [Error(str(error), id="lessons.E001")]
    except SpecError:
        return []  # It is a fault of a lab that they name, and the labs tell it.
    return [*_drills()]


def _drills() -> list[Error]:
    try:
        drills.cache_clear()
        found = drills()
    except SpecError as error:
        return [Error(line, id="lessons.E003") for line in str(error).splitlines()]
    faults: list[Error] = []
    for number in found:
        faults += text_faults(folder_of(number))
    for number, spec in found.items():
        if number not in symptoms.symptoms():
            faults.append(
                Error(f"drills/{number}: there is no symptom {number}", id="lessons.E003")
            )
        try:
            evidence_of(spec.evidence)
        except ModuleNotFoundError:
            where = f"drills/{number}/drill.toml: evidence: there is no lessons/drills/evidence/{spec.evidence}.py"
            faults.append(Error(where, id="lessons.E003"))
    return faults


def text_faults(folder: Path) -> list[Error]:
    """Return what is wrong with the texts of a drill's folder."""
    faults = []
    for name in ("scene.md", "debrief.md"):
        try:
            text_html(folder / name)
        except ContentError as error:
            faults.append(Error(str(error), id="lessons.E003"))
    return faults
