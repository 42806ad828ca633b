"""A broken lab stops `manage.py check`: its spec, its plays, its pool and its table."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from django.core.checks import CheckMessage, Error, register

from courseware.glossary import unknown_terms
from courseware.harmless import harms
from labs import console, plays, pool, rubrics
from labs.catalogue import folder_of, lab, labs, live_keys, text_of
from labs.instruments.registry import SIGNALS
from labs.rubric_words import names_of
from labs.specs import LabSpec, SpecError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

HINT = "Run: manage.py prove <lab>, and commit what it writes."


@register()
def content_check(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Check every lab: spec (labs.E001), plays (E002), computed files (E003), words (E004), terms (E005), rubric (E006), number (E007), real engines (E008)."""
    del app_configs, kwargs
    try:
        catalogue = labs()
    except SpecError as exc:
        return [Error(line, id="labs.E001") for line in str(exc).splitlines()]
    found: list[CheckMessage] = [
        Error(says_twice(catalogue[slug], owner), id="labs.E007")
        for owner, slug in numbered_twice(catalogue)
    ]
    for slug in catalogue:
        found += faults_of(slug)
        try:
            pool.admitted(slug)
            pool.table(slug)
        except pool.NotProved as exc:
            found.append(Error(str(exc), hint=HINT, id="labs.E003"))
    return [*found, *_live_faults()]


def _live_faults() -> Iterator[CheckMessage]:
    """Yield what is wrong with what labs say of real engines."""
    for key in live_keys():
        try:
            spec = lab(key)
        except SpecError as exc:
            yield from (Error(line, id="labs.E008") for line in str(exc).splitlines())
            continue
        for fault in not_known(spec):
            yield Error(f"{spec.slug}/live/live.toml: {fault}", id="labs.E008")
        try:
            for name in plays.names(key):
                plays.load_play(key, name)
            pool.admitted(key)
            pool.table(key)
        except (plays.PlayError, pool.NotProved) as exc:
            yield Error(str(exc), hint=HINT, id="labs.E008")


def numbered_twice(catalogue: Mapping[str, LabSpec]) -> Iterator[tuple[str, str]]:
    """Yield the slugs of labs that have one number, two by two."""
    owners: dict[str, str] = {}
    for slug, spec in catalogue.items():
        owner = owners.setdefault(spec.number, slug)
        if owner != slug:
            yield owner, slug


def says_twice(spec: LabSpec, owner: str) -> str:
    """Return what the author of a lab is told whose number another lab has."""
    return f"{spec.slug}/lab.toml: number: {spec.number} is the number of {owner}; write another"


def faults_of(key: str) -> Iterator[CheckMessage]:
    """Yield what is wrong with what the author of a lab wrote; its spec can be read."""
    spec = lab(key)
    for fault in not_known(spec):
        yield Error(f"{spec.slug}/lab.toml: {fault}", id="labs.E004")
    try:
        for name in plays.names(key):
            plays.load_play(key, name)
    except plays.PlayError as exc:
        yield Error(str(exc), id="labs.E002")
    for fault in _wrong_texts(key, spec.slug):
        yield Error(fault, id="labs.E005")
    for fault in rubric_faults(key, spec):
        yield Error(fault, id="labs.E006")


def _wrong_texts(key: str, slug: str) -> Iterator[str]:
    for name in ("brief.md", "debrief.md"):
        if not (folder_of(key) / name).is_file():
            yield f"{slug}/{name}: there is no such file; every lab's folder needs one"
            continue
        for line, said in harms(text_of(key, name)):
            yield f"{slug}/{name}:{line}: {said}"
        for line, term in unknown_terms(text_of(key, name)):
            yield f"{slug}/{name}:{line}: no keyword is called {term!r}; write it into lessons/content/glossary.toml"


def rubric_faults(key: str, spec: LabSpec) -> Iterator[str]:
    """Return what keeps the file of a lab's rubric from being used, one line a fault."""
    file = f"{spec.slug}/{rubrics.FILE}"
    try:
        text = text_of(key, rubrics.FILE)
        rubric = rubrics.read(text, file)
    except FileNotFoundError:
        yield f"{file}: there is no such file; every lab needs one, with what graders give points for"
    except rubrics.RubricError as exc:
        yield from str(exc).splitlines()
    else:
        for fault in rubrics.unknown_names(rubric, names_of(spec)):
            yield rubrics.located(text, fault, file)


def not_known(spec: LabSpec) -> Iterator[str]:
    """Return the signals that nothing computes, and the commands that the console does not read."""
    for name in sorted(set(spec.signals) - set(SIGNALS)):
        near = difflib.get_close_matches(name, SIGNALS, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        yield f"signals.{name}: nothing computes it{hint}"
    commands = {f"instruments.{key}": each.command for key, each in spec.instruments.items()}
    commands |= {f"changes.{key}": each.command for key, each in spec.changes.items()}
    for where, line in commands.items():
        parsed = console.parse(line)
        if isinstance(parsed, console.Refusal):
            yield f"{where}.command: {parsed.message}"
