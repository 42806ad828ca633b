"""A broken lab stops `manage.py check`: its spec, its plays, its pool and its table."""

from __future__ import annotations

from typing import Any

from django.core.checks import CheckMessage, Error, register

from labs import plays, pool
from labs.catalogue import labs
from labs.specs import SpecError

HINT = "Run: manage.py prove_lab <lab>, and commit what it writes."


@register()
def content_check(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Check every lab's spec (labs.E001), plays (labs.E002), pool and table (labs.E003)."""
    del app_configs, kwargs
    try:
        catalogue = labs()
    except SpecError as exc:
        return [Error(line, id="labs.E001") for line in str(exc).splitlines()]
    found: list[CheckMessage] = []
    for slug in catalogue:
        try:
            for name in plays.names(slug):
                plays.load_play(slug, name)
        except plays.PlayError as exc:
            found.append(Error(str(exc), id="labs.E002"))
        try:
            pool.admitted(slug)
            pool.table(slug)
        except pool.NotProved as exc:
            found.append(Error(str(exc), hint=HINT, id="labs.E003"))
    return found
