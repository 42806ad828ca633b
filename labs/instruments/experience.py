"""What the user of one request has felt so far: the one place where a promise is measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.simulator.gateway import is_clamped
from labs.simulator.request import Status

if TYPE_CHECKING:
    from labs.simulator.request import Request

PATIENCE_S = 60.0
"""Whoever has waited this long for a first token was not answered."""
_LOST = {Status.SHED, Status.ABORTED, Status.STRANDED}


def was_told(request: Request) -> bool:
    """Return whether a request that was wrong in itself was told so: a 400 or 404, at once and in words."""
    return bool(request.refusal) and request.http_status in (400, 404)


def is_lost(request: Request) -> bool:
    """Return whether a request was refused, failed, given up or cut short, other than by its user's own wish."""
    if was_told(request):
        return False
    return request.cut or (request.status in _LOST and not request.is_cancelled)


def is_final(request: Request) -> bool:
    """Return whether what a promise measures of a request is the same at any later time."""
    if is_lost(request) or was_told(request):
        return True
    return request.finish_ps is not None and request.first_token_ps is not None


def longest_gap_s(request: Request, now_s: float) -> float | None:
    """Return the longest pause within a stream, its silence until now included; None before its first token."""
    last_s = request.last_token_s
    if last_s is None:
        return None
    silent_s = 0.0 if request.finish_s is not None else now_s - last_s
    return max(request.longest_gap_s, silent_s)


def felt(request: Request, measure: str, now_s: float) -> float | None:
    """Return what a promise measures of a request by ``now_s``: seconds, or 0 for ``answered``.

    None where it is missed without a time: refused, failed, cut short. One that still waits has waited so far.
    Raises ValueError for a measure that does not exist.
    """
    if is_lost(request):
        return None
    if was_told(request):
        return 0.0
    first_s, last_s, sent_s = request.first_token_s, request.last_token_s, request.sent_s
    waited_s = now_s - sent_s
    match measure:
        case "ttft":
            return waited_s if first_s is None else first_s - sent_s
        case "gap":
            # Silence since it was sent: nobody who waits for a first token has no pause.
            gap_s = longest_gap_s(request, now_s)
            return waited_s if gap_s is None else gap_s
        case "tpot":
            if first_s is None or last_s is None:
                return waited_s
            until_s = last_s if request.finish_s is not None else now_s
            return (until_s - first_s) / max(1, request.num_output_tokens - 1)
        case "e2e":
            return (now_s if request.finish_s is None else request.finish_s) - sent_s
        case "answered":
            silent = first_s is None and waited_s > PATIENCE_S
            return None if silent or is_clamped(request) else 0.0
    raise ValueError(f"no measure {measure!r}")
