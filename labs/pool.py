"""The seeds that learners may be served, and the lab's information table: computed once, kept by digest.

Both live beside the lab's spec, written by ``manage.py prove_lab``. A file whose digest is not today's was computed
by another code or spec; it is not used.
"""

from __future__ import annotations

import gzip
import json
from functools import cache
from typing import TYPE_CHECKING, Any

from labs.catalogue import folder_of
from labs.digest import world_digest
from labs.marking.table import load_table

if TYPE_CHECKING:
    from labs.marking.table import Table


class NotProved(RuntimeError):  # noqa: N818
    """The lab's pool or table is missing or belongs to another code."""


@cache
def admitted(slug: str) -> tuple[int, ...]:
    """Return the pool seeds in order. Raises NotProved, whose message says what to run."""
    data = _read(slug, "pool.json")
    return tuple(int(entry["seed"]) for entry in data["seeds"])


def record(slug: str) -> dict[str, Any]:
    """Return what ``prove_lab`` noted about the pool. Raises NotProved, whose message says what to run."""
    return _read(slug, "pool.json")


def refused(slug: str) -> dict[str, int]:
    """Return how many seeds each world turned away from the table. Raises NotProved, as above."""
    counts: dict[str, int] = _read(slug, "table.json.gz")["refused"]
    return counts


@cache
def table(slug: str) -> Table:
    """Return the lab's information table. Raises NotProved, whose message says what to run."""
    return load_table(_read(slug, "table.json.gz")["table"])


def _read(slug: str, name: str) -> dict[str, Any]:
    path = folder_of(slug) / name
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise NotProved(f"{slug}/{name} is missing; run: manage.py prove_lab {slug}") from None
    data: dict[str, Any] = json.loads(gzip.decompress(raw) if name.endswith(".gz") else raw)
    if data.get("digest") != world_digest(slug):
        raise NotProved(
            f"{slug}/{name} belongs to another simulator or spec; run: manage.py prove_lab {slug}"
        )
    return data
