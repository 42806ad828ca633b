"""What users feel, computed exactly from the requests; each measure is defined once, here.

A window is ``[from_s, to_s)`` in seconds. ``now_s`` is when one looks: what has not happened by
then counts as not having happened.
"""

import math
from collections.abc import Iterable, Sequence

from labs.simulator.request import Request, Status

NORMAL_P95 = 1.6448536269514722
"""The 95th percentile of the standard normal distribution."""


def percentile(values: Sequence[float], q: float) -> float:
    """Return the ``q``-th percentile (0 to 100) with linear interpolation between order statistics.

    The same as numpy's default: with n values, the one at place ``q / 100 x (n - 1)``, counted from 0.
    Raises ValueError if there is no value or ``q`` is out of range.
    """
    if not values or not 0 <= q / 100 <= 1:
        raise ValueError(f"no {q}-th percentile of {len(values)} values")
    ordered = sorted(values)
    place = q / 100 * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def sent_in(requests: Iterable[Request], *, from_s: float, to_s: float) -> list[Request]:
    """Return the requests that clients sent within the window, in the order given."""
    return [request for request in requests if from_s <= request.sent_s < to_s]


def ttft_s(
    requests: Iterable[Request], *, from_s: float, to_s: float, now_s: float, percentile_: float
) -> float | None:
    """Return a percentile of the time to first token of requests sent within the window, seconds.

    From the client's send, router included. A request without a first token by ``now_s`` counts with
    the time that it has waited so far, so that a queue shows before it is served. Requests that
    were refused, or ended before their first token, have no time to first token. None if nothing is left.
    """
    values = []
    for request in sent_in(requests, from_s=from_s, to_s=min(to_s, now_s)):
        first_s = request.first_token_s
        if first_s is not None and first_s <= now_s:
            values.append(first_s - request.sent_s)
        elif request.status not in (Status.SHED, Status.ABORTED):
            values.append(now_s - request.sent_s)
    return percentile(values, percentile_) if values else None


def longest_gap_s(
    requests: Iterable[Request],
    *,
    from_s: float,
    to_s: float,
    now_s: float,
    percentile_: float = 95.0,
) -> float | None:
    """Return a percentile, over streams, of each stream's longest time between two outputs, seconds.

    Streams are the requests that had a first token before ``to_s`` and were not over before
    ``from_s``. A stream that stands still at ``now_s`` counts with the gap so far. None if there is none.
    """
    values = []
    for request in requests:
        first_s, finish_s = request.first_token_s, request.finish_s
        if first_s is None or first_s >= to_s or (finish_s is not None and finish_s < from_s):
            continue
        gap = request.longest_gap_s
        if finish_s is None and request.last_token_s is not None:
            gap = max(gap, now_s - request.last_token_s)
        values.append(gap)
    return percentile(values, percentile_) if values else None


def meets(
    request: Request, *, ttft_limit_s: float, gap_limit_s: float, now_s: float
) -> bool | None:
    """Say whether ``request`` was served within both limits; None while it may still go either way.

    Missed: refused, failed, given up by its client, cut short by the router, first token or a gap past its
    limit, or not served and past it already. Met: all outputs that were wanted, each in time. A request
    that was wrong in itself (4xx) is neither.
    """
    if request.refusal and 400 <= request.http_status < 500 and request.status is not Status.SHED:  # noqa: PLR2004
        return None
    is_over = request.status in (Status.SHED, Status.ABORTED) and not request.is_cancelled
    if is_over or request.cut or request.timed_out:
        return False
    first_s = request.first_token_s
    if (now_s if first_s is None else first_s) - request.sent_s > ttft_limit_s:
        return False
    if request.longest_gap_s > gap_limit_s:
        return False
    if request.finish_s is not None:
        return True
    last_s = request.last_token_s
    return False if last_s is not None and now_s - last_s > gap_limit_s else None


def share_meeting_limits(
    requests: Iterable[Request],
    *,
    from_s: float,
    to_s: float,
    now_s: float,
    ttft_limit_s: float,
    gap_limit_s: float,
) -> float | None:
    """Return the share, 0 to 1, of the requests sent within the window that met both limits.

    Of all that were offered and are decided at ``now_s``, the refused included; see ``meets``. None
    if none is decided.
    """
    verdicts = [
        verdict
        for request in sent_in(requests, from_s=from_s, to_s=to_s)
        if (
            verdict := meets(
                request, ttft_limit_s=ttft_limit_s, gap_limit_s=gap_limit_s, now_s=now_s
            )
        )
        is not None
    ]
    return sum(verdicts) / len(verdicts) if verdicts else None
