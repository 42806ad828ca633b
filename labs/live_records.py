"""Records of live attempts, in their rows."""

from __future__ import annotations

import zlib
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from labs import worlds
from labs.live import records
from labs.models import LiveRecord
from labs.simulator.config import EngineConfig
from labs.worlds import Fleet

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labs.incident import Incident
    from labs.models import Attempt


class NoRecord(LookupError):  # noqa: N818
    """A live attempt whose world left no record: its engine never came to the page, or its box was lost."""


def taken(world: Incident, *, box: str, profile: str) -> dict[str, Any]:
    """Return what was seen of a live world until now, as the fields of its row."""
    raw = records.bytes_of(records.dump(world, about={"box": box, "profile": profile}))
    return {
        "box": box,
        "profile": profile,
        "fleet": asdict(world.fleet),
        "blob": zlib.compress(raw, level=6),
        "digest": records.digest_of(raw),
    }


def store(attempt: Attempt, record: Mapping[str, Any]) -> None:
    """Write a record that was taken, over what was written of the attempt before."""
    LiveRecord.objects.update_or_create(attempt=attempt, defaults=dict(record))


def incident_of(attempt: Attempt) -> Incident:
    """Return the world of a live attempt as its record tells of it. Raises NoRecord."""
    row = LiveRecord.objects.filter(attempt=attempt).first()
    if row is None:
        raise NoRecord(f"{attempt} left no record of its engine")
    spec = attempt.spec
    fleet = Fleet(**{**row.fleet, "config": EngineConfig(**row.fleet["config"])})
    truth = worlds.hypothesis_of(spec, attempt.seed)
    return records.incident_of(spec, truth, attempt.seed, fleet, zlib.decompress(row.blob))
