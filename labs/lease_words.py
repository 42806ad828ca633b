"""What the learner reads of a lease: durations, why it ended, what is kept, what to do. Pure."""

from __future__ import annotations

MINUTE_S, HOUR_S = 60, 3600

BEFORE_THE_PAGE = (
    "Your attempt is kept, and nothing was charged. Ask for an engine again when you are ready."
)
AFTER_THE_PAGE = (
    "The attempt and all its readings are kept. Commit your diagnosis from them, explain, "
    "and close the incident."
)
CLOSED = "All that was read is kept."


def span(seconds: float) -> str:
    """Return a duration for people: "40 s", "12 min", "1 h 5 min"; whole minutes from two minutes on."""
    whole = max(0, round(seconds))
    if whole < 2 * MINUTE_S:
        return f"{whole} s"
    minutes = round(whole / MINUTE_S)
    hours, rest = divmod(minutes, 60)
    if not hours:
        return f"{rest} min"
    return f"{hours} h {rest} min" if rest else f"{hours} h"


def happened(reason: str, *, was_queued: bool = False, limit_s: float = 0.0) -> str:
    """Return what ended a lease, in a sentence. ``limit_s``: the clock's length, where a clock ended it."""
    return {
        "finished": "The attempt was closed, and its engine was stopped.",
        "cancelled": "You left the queue before an engine was started."
        if was_queued
        else "You stopped the engine.",
        "idle": f"Nothing was asked of the engine for {span(limit_s)}, so it was stopped for whoever waits.",
        "deadline": f"The engine ran for {span(limit_s)}, which is all that a lease has, and was stopped.",
        "engine_died": "The engine ended by itself. The operator finds the end of its log with the lease.",
        "start_failed": "The engine could not be started. The operator finds the end of its log with the lease.",
        "start_timeout": f"The engine was not ready within {span(limit_s)}, and was stopped.",
        "no_incident": "The incident did not come about on this box.",
        "worker_lost": "The worker that held your engine was lost, and the engine is stopped.",
        "worker_stopped": "The box that ran your engine was stopped by its operator.",
    }[reason]


def after(*, is_open: bool, at_page: bool) -> str:
    """Return what is kept, and what to do: for an attempt whose world had come to its page, or had not."""
    if not is_open:
        return CLOSED
    return AFTER_THE_PAGE if at_page else BEFORE_THE_PAGE
