"""The ruler of phases below the head, and the one line that says what the present phase wants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from labs.room.gauges import promises_held

if TYPE_CHECKING:
    from labs.models import Action
    from labs.room.log import Log
    from labs.specs import LabSpec

_WANTED = {
    "Investigate": "Measure what tells your hypotheses apart. Each reading costs its minutes.",
    "Diagnose": "Commit a diagnosis as soon as the readings prove it; it can be revised.",
    "Change": "Change what the mechanism needs, and give it the time that it takes.",
    "Verify": "Measure again what raised the alarm, and every promise.",
    "Explain": "Write what happened, in your own words. Then close.",
    "Debrief": "Everything is there. Close the incident when every promise holds.",
}


@dataclass(frozen=True)
class Phase:
    """One mark of the ruler: done, now, tried, ahead, or skipped: closed before it was entered."""

    name: str
    state: str

    @property
    def words(self) -> str:
        return {
            "done": "Done",
            "now": "Now",
            "tried": "Tried once",
            "ahead": "Ahead",
            "skipped": "Not entered",
        }[self.state]


def phases_of(spec: LabSpec, log: Log, *, ended: bool) -> list[Phase]:
    """Return the phases in order; exactly one is now. After a missed verification a second round begins."""
    done = _done(spec, log)
    tried = {
        "Diagnose": bool(log.diagnoses),
        "Change": bool(log.changes),
        "Verify": bool(log.verifications),
    }
    now = "Debrief" if ended else next(name for name, is_done in done.items() if not is_done)
    found: list[Phase] = []
    passed = False
    for name, is_done in done.items():
        passed = passed or name == now
        if name == now:
            state = "now"
        elif not passed:
            state = "done" if is_done else "tried" if tried.get(name) else "skipped"
        elif tried.get(name) or is_done:
            state = "tried"
        else:
            state = "ahead"
        found.append(Phase(name, state))
    return found


def _done(spec: LabSpec, log: Log) -> dict[str, bool]:
    """Return whether each phase is done in this round; Debrief never is."""
    failed = failed_round(spec, log)
    since = failed.seq if failed else -1
    nothing = bool(log.diagnoses) and log.diagnoses[-1].payload.get("scope") == "nothing"
    return {
        "Brief": True,
        "Predict": log.prediction is not None,
        "Investigate": bool(log.readings),
        "Diagnose": any(each.seq > since for each in log.diagnoses),
        "Change": nothing or any(each.seq > since for each in log.changes),
        "Verify": any(
            each.seq > since and (not log.changes or each.seq > log.changes[-1].seq)
            for each in log.verifications
        ),
        "Explain": log.explanation is not None,
        "Debrief": False,
    }


def failed_round(spec: LabSpec, log: Log) -> Action | None:
    """Return the last verification if it came after a change and a promise was still missed."""
    last = log.verifications[-1] if log.verifications else None
    if last is None or not log.changes or log.changes[-1].seq > last.seq:
        return None
    return None if promises_held(spec, (last.outcome or {}).get("signals", {})) else last


def wanted_in(spec: LabSpec, log: Log, ruler: list[Phase]) -> str:
    """Return what the present phase wants, or that a second round has begun."""
    now = next((phase.name for phase in ruler if phase.state == "now"), "")
    if now == "Diagnose" and failed_round(spec, log):
        return (
            "Another round. The last verification missed a target. "
            "Revise the diagnosis, or change something else."
        )
    return _WANTED.get(now, "")
