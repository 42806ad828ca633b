"""Logs of an attempt that no database has seen, entry by entry."""

from labs.catalogue import labs
from labs.models import Action, Attempt
from labs.room import Room
from labs.room.log import Log

SPEC = labs()["preemption-storm"]
Kind, Status = Action.Kind, Action.Status


def entry(kind, /, *, status=Status.DONE, at_s=0, cost_s=0, payload=None, **outcome):
    """One entry, not yet numbered: ``entry("command", kind="reading", …)`` with what its outcome says."""
    return Action(
        kind=kind, status=status, at_s=at_s, cost_s=cost_s, payload=payload or {}, outcome=outcome
    )


def reading(instrument="ledger", /, number=1, **signals):
    return entry("command", kind="reading", number=number, instrument=instrument, signals=signals)


def change(number, operation, text="Changed."):
    return entry(
        "command",
        at_s=110,
        cost_s=80,
        kind="change",
        number=number,
        operation=operation,
        text=text,
    )


def verification(number, alarm, at_s=300, **kept):
    """One verification: what the alarm read, and the share of users to whom each promise was kept."""
    signals = {SPEC.alarm.signal: alarm} | {f"promise:{key}": share for key, share in kept.items()}
    return entry("command", at_s=at_s, kind="verification", number=number, signals=signals)


def log(*entries):
    for seq, each in enumerate(entries):
        each.seq = seq
    return Log(entries)


def room(*entries, clock_s=0, panel=None, status="open"):
    attempt = Attempt(
        lab_slug=SPEC.slug, number=1, status=status, clock_s=clock_s, panel=panel or {}
    )
    return Room(attempt, SPEC, log(*entries))


def begun(*entries, **known):
    """A room whose world is at its page and whose prediction is committed."""
    return room(entry("begin"), entry("predict"), *entries, **known)
