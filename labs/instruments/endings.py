"""How calls end: whole, refused, given up by their client; and which of them stand still."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.instruments.signals import quantile, recent, window_words
from labs.simulator.request import Status, to_s

if TYPE_CHECKING:
    from collections.abc import Callable

    from labs.instruments.signals import View
    from labs.simulator.request import Request

REFUSED_FROM = 429
"""The lowest status that a client's library reports as a failure of the service."""


def _left_s(request: Request) -> float | None:
    return None if request.client_left_ps is None else to_s(request.client_left_ps)


def _end_s(request: Request, now_s: float) -> float | None:
    """Return when a call ended for its client by ``now_s``; None while it is open."""
    left_s = _left_s(request)
    end_s = request.finish_s if left_s is None else left_s
    return end_s if end_s is not None and end_s <= now_s else None


def _is_unfinished(request: Request) -> bool:
    """Return whether a call that has ended did so without its whole answer, other than by its user's wish."""
    return (
        request.client_left_ps is not None
        or request.http_status >= REFUSED_FROM
        or request.status is Status.SHED
        or request.finish_reason == "error"
    )


def _is_silent(view: View, request: Request) -> bool:
    """Return whether a call was given up after the lab's ``silent_s`` without a token, or stands so now."""
    now_s = view.now_s
    end_s = _end_s(request, now_s)
    if end_s is not None and request.client_left_ps is None:
        return False
    last_s = request.sent_s if request.last_token_s is None else request.last_token_s
    return (now_s if end_s is None else end_s) - last_s > view.windows.silent_s


def unfinished_share_5m(view: View) -> float | None:
    """Return the share of the calls that ended in five minutes that ended without their whole answer."""
    from_s = view.now_s - view.windows.panel_s
    ended = [
        each
        for each in recent(view.cluster, from_s, view.now_s)
        if from_s < (_end_s(each, view.now_s) or from_s) <= view.now_s
    ]
    return sum(map(_is_unfinished, ended)) / len(ended) if ended else None


def _open(view: View) -> list[Request]:
    """Return the calls that were open in five minutes, the refused left out."""
    calls = recent(view.cluster, view.now_s - view.windows.panel_s, view.now_s)
    return [each for each in calls if not each.refusal]


def silent_share_5m(view: View) -> float | None:
    """Return the share of the calls open in five minutes that have had no token for ``silent_s`` before their end, or now."""
    calls = _open(view)
    return sum(_is_silent(view, each) for each in calls) / len(calls) if calls else None


def give_up_age_s(view: View) -> float | None:
    """Return the median age at which clients gave up in five minutes, seconds; None if none did."""
    ages = [
        left_s - each.sent_s
        for each in _open(view)
        if (left_s := _left_s(each)) is not None
        and view.now_s - view.windows.panel_s < left_s <= view.now_s
    ]
    return quantile(ages, 0.5)


def endings(view: View) -> str:
    """Return how the calls of five minutes ended, and which stand still."""
    calls = _open(view)
    if not calls:
        return "no call was open in this window"
    silent = sum(_is_silent(view, each) for each in calls)
    whole = [each for each in calls if _end_s(each, view.now_s) is not None and not each.timed_out]
    left = sum(1 for each in calls if each.timed_out)
    age_s = give_up_age_s(view)
    longest_s = max(((each.finish_s or 0.0) - each.sent_s for each in whole), default=None)
    said = "" if longest_s is None else f"  the longest took {longest_s:.0f} s from send to end"
    return "\n".join(
        [
            f"{len(calls)} calls were open in the last {window_words(view.windows.panel_s)}",
            f"ended whole              {len(whole):5}{said}",
            f"given up by their client {left:5}"
            + (
                ""
                if age_s is None
                else f"  after {age_s:.0f} s, the median of {window_words(view.windows.panel_s)}"
            ),
            f"silent for over {view.windows.silent_s:.0f} s     {silent:5}  {silent / len(calls):.3f} of all, given up or open",
        ]
    )


ENDING_SIGNALS: dict[str, Callable[[View], float | str | None]] = {
    "unfinished_share_5m": unfinished_share_5m,
    "silent_share_5m": silent_share_5m,
    "give_up_age_s": give_up_age_s,
}
