"""The seeds that learners may be served, the lab's information table and its proof: computed once, kept by digest.

They live beside the lab's spec, written by ``manage.py prove``. A file that follows from another spec is not used.
"""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

from courseware.served import PINNED, remembered
from labs.catalogue import folder_of, lab
from labs.digest import spec_digest
from labs.marking.table import load_table

if TYPE_CHECKING:
    from labs.marking.table import Table

POOL, TABLE, PROOF = "pool.json", "table.json.gz", "proof.json"


class NotProved(RuntimeError):  # noqa: N818
    """The lab's pool or table is missing or belongs to another spec."""


@remembered
def admitted(key: str) -> tuple[int, ...]:
    """Return the pool seeds in order. Raises NotProved, whose message says what to run."""
    data = _read(key, POOL)
    return tuple(int(entry["seed"]) for entry in data["seeds"])


def record(key: str) -> dict[str, Any]:
    """Return what ``prove`` noted about the pool. Raises NotProved, whose message says what to run."""
    return _read(key, POOL)


def refused(key: str) -> dict[str, int]:
    """Return how many seeds each world turned away from the table. Raises NotProved, as above."""
    counts: dict[str, int] = _read(key, TABLE)["refused"]
    return counts


@remembered
def table(key: str) -> Table:
    """Return the lab's information table. Raises NotProved, whose message says what to run."""
    return load_table(_read(key, TABLE)["table"])


def proof(key: str) -> dict[str, Any]:
    """Return the lab's stored proof. Raises NotProved, whose message says what to run."""
    return _read(key, PROOF)


def behaviour(key: str) -> str:
    """Return the digest of the worlds' behaviour when the table was computed. Raises NotProved, as above."""
    return str(_read(key, TABLE)["behaviour"])


def write(key: str, name: str, data: dict[str, Any]) -> None:
    """Store a computed file beside the lab's spec, with the spec's digest."""
    whole = {"spec": spec_digest(lab(key)), **data}
    path = folder_of(key) / name
    if name.endswith(".gz"):
        raw = json.dumps(whole, sort_keys=True, separators=(",", ":")).encode()
        path.write_bytes(gzip.compress(raw, 9, mtime=0))
    else:
        path.write_text(json.dumps(whole, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    admitted.cache_clear()
    table.cache_clear()


def _read(key: str, name: str) -> dict[str, Any]:
    path, slug = folder_of(key) / name, key.partition(PINNED)[0]
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise NotProved(f"{slug}/{name} is missing; run: manage.py prove {slug}") from None
    data: dict[str, Any] = json.loads(gzip.decompress(raw) if name.endswith(".gz") else raw)
    if data.get("spec") != spec_digest(lab(key)):
        raise NotProved(f"{slug}/{name} follows from another spec; run: manage.py prove {slug}")
    return data
