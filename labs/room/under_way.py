"""What waits for a worker or runs: its name, its progress, and how many people are before it."""

from __future__ import annotations

from dataclasses import dataclass

from labs import attempts
from labs.lease_words import span
from labs.models import Action

Kind, Status = Action.Kind, Action.Status

_WORK_S = {Kind.FINISH: 12.0, Kind.BEGIN: 1.0}
_WORKERS = 2


@dataclass(frozen=True)
class UnderWay:
    """An action that waits for a worker or runs."""

    seq: int
    kind: str
    what: str
    words: str
    progress: float
    cancelling: bool
    can_cancel: bool


def under_way_of(action: Action) -> UnderWay:
    """Return how far an action is that is not over yet."""
    if action.status == Status.QUEUED and action.attempt.is_live and action.kind == Kind.FINISH:
        plan = action.attempt.spec.mitigation
        looks_s = plan.settle_s + plan.window_s + plan.follow_s
        words = f"Your engine is watched for as long as the mark looks, {span(looks_s)} at most; then it is computed."
    elif action.status == Status.QUEUED and action.attempt.is_live:
        words = "Your engine takes it next."
    elif action.status == Status.QUEUED:
        words = _queued(list(Action.objects.in_front_of(action).values_list("kind", flat=True)))
        if action.tries:
            words = (
                "The worker stopped while it did this. Your attempt is intact; "
                "it is being done again."
            )
    else:
        words = _doing(action)
    return UnderWay(
        seq=action.seq,
        kind=action.kind,
        what=_what(action),
        words=words,
        progress=action.progress,
        cancelling=action.cancel_requested,
        can_cancel=action.kind != Kind.FINISH
        and not (action.status == Status.RUNNING and attempts.is_made(action)),
    )


def _doing(action: Action) -> str:
    """Return what a running action does. Judging runs worlds on clocks of their own: those say nothing here."""
    if action.kind != Kind.FINISH:
        return action.doing or "Simulating"
    simulates = not action.doing or action.doing.startswith("Simulating")
    return f"Judging: {'the worlds run again' if simulates else action.doing}"


def _what(action: Action) -> str:
    if action.kind == Kind.COMMAND:
        return str(action.payload.get("line", ""))
    return {
        Kind.BEGIN: "the incident is brought to its page",
        Kind.FINISH: "your attempt is being marked",
    }.get(Kind(action.kind), action.get_kind_display())


def _queued(in_front: list[str]) -> str:
    if not in_front:
        return "A worker takes it next."
    seconds = sum(_WORK_S.get(Kind(kind), 0.6) for kind in in_front) / _WORKERS
    about = "a few seconds" if seconds < 5 else f"about {round(seconds / 5) * 5} s"  # noqa: PLR2004
    people = "One person is" if len(in_front) == 1 else f"{_counted(len(in_front))} people are"
    return f"{people} before you; {about}."


def _counted(count: int) -> str:
    words = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")
    return words[count] if count < len(words) else str(count)
