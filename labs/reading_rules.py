"""The rules by which explanations are read: a lab's own, or those of every lab. A change is a new version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import IntegrityError, transaction

from labs.models import ReadingRules

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from courseware.models import User

EVERY_LAB = ""
"""Whose rules hold where a lab has none of its own."""
FIELDS = (
    *("graders_see_names", "instructors_see_names", "learners_see_readers"),
    *("second_percent", "most_difference", "needs_training", "training_most_off"),
    *("regrade_days", "regrade_tokens"),
)


class MovedOn(Exception):  # noqa: N818
    """Nothing was written: somebody stored newer rules. ``now`` is what holds."""

    def __init__(self, now: ReadingRules) -> None:
        super().__init__(str(now))
        self.now = now


def newest(lab_slug: str) -> ReadingRules:
    """Return the last version of a lab's own rules; version 0, which is stored nowhere, before there is any."""
    found = ReadingRules.objects.filter(lab_slug=lab_slug).first()
    return found or ReadingRules(lab_slug=lab_slug, version=0, as_elsewhere=bool(lab_slug))


def rules_of(lab_slug: str) -> ReadingRules:
    """Return the rules that hold for a lab."""
    own = newest(lab_slug)
    return newest(EVERY_LAB) if own.as_elsewhere else own


def rules_of_all(lab_slugs: Iterable[str]) -> dict[str, ReadingRules]:
    """Return the rules that hold for each of some labs, in one query."""
    wanted = set(lab_slugs)
    found: dict[str, ReadingRules] = {}
    for each in ReadingRules.objects.filter(lab_slug__in=wanted | {EVERY_LAB}):
        found.setdefault(each.lab_slug, each)
    everywhere = found.get(EVERY_LAB) or ReadingRules(lab_slug=EVERY_LAB, version=0)
    own = {slug: each for slug, each in found.items() if not each.as_elsewhere}
    return {slug: own.get(slug, everywhere) for slug in wanted | {EVERY_LAB}}


def labs_with_own() -> dict[str, ReadingRules]:
    """Return the labs that have rules of their own, with them."""
    found: dict[str, ReadingRules] = {}
    for each in ReadingRules.objects.exclude(lab_slug=EVERY_LAB):
        found.setdefault(each.lab_slug, each)
    return {slug: each for slug, each in found.items() if not each.as_elsewhere}


def regrade_tokens() -> int:
    """Return how many requests for another look a learner may have, over all labs."""
    return newest(EVERY_LAB).regrade_tokens


def change(lab_slug: str, said: Mapping[str, Any], *, by: User, version: int) -> None:
    """Store new rules; the same ones again are stored once.

    ``version`` is the one that the page showed. Raises MovedOn if there is a newer one.
    """
    fields = {name: said[name] for name in FIELDS if name in said}
    now = newest(lab_slug)
    if now.version and not now.as_elsewhere and _says(now, fields):
        return
    _store(lab_slug, version, by, fields)


def as_elsewhere(lab_slug: str, *, by: User, version: int) -> None:
    """Let a lab have no rules of its own any more. Raises MovedOn as ``change`` does."""
    if not newest(lab_slug).as_elsewhere:
        _store(lab_slug, version, by, {"as_elsewhere": True})


def _says(rules: ReadingRules, fields: Mapping[str, Any]) -> bool:
    return all(getattr(rules, name) == value for name, value in fields.items())


def _store(lab_slug: str, version: int, by: User, fields: Mapping[str, Any]) -> None:
    now = newest(lab_slug)
    if now.version != version:
        raise MovedOn(now)
    try:
        # The version is unique: of two who store one at once, the second is told.
        with transaction.atomic():
            ReadingRules.objects.create(lab_slug=lab_slug, version=version + 1, by=by, **fields)
    except IntegrityError:
        raise MovedOn(newest(lab_slug)) from None
