"""Which rules a mark follows from, as one digest: the code of marking, the lab's answers, and its information table."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from courseware.served import remembered
from labs import pool
from labs.catalogue import lab
from labs.digest import meaning_digest

if TYPE_CHECKING:
    from labs.specs import LabSpec

_ROOMS = ("marking", "log.py", "reruns.py", "judgement.py", "reveal.py")
_SAID = {
    "hypotheses",
    "nodes",
    "signals",
    "instruments",
    "slos",
    "diagnosis_budget_s",
    "prediction",
}
_SHOWN = 12


@remembered
def rules_of(key: str) -> str:
    """Return the digest of the rules that mark a lab today, 64 hexadecimal digits.

    What a re-run simulates is not in it: that was kept when the attempt was marked first.
    """
    spec: LabSpec = lab(key)
    total = hashlib.sha256(meaning_digest(_ROOMS).encode())
    said = spec.model_dump(mode="json", include=_SAID, exclude_defaults=True)
    total.update(json.dumps(said, sort_keys=True).encode())
    try:
        total.update(pool.behaviour(key).encode())
    except pool.NotProved:
        total.update(b"not proved")
    return total.hexdigest()


def short(rules: str) -> str:
    """Return a digest as people read it aloud."""
    return rules[:_SHOWN] or "not recorded"
