"""What an alert does with time: how long a queue drains, how fast a budget burns, when a rule fires."""

from __future__ import annotations


def drain_s(*, waiting: float, served_rps: float, arriving_rps: float) -> float:
    """Return after how many seconds a queue of ``waiting`` requests is empty: waiting / (served - arriving).

    Raises ValueError where as many arrive as are served: it never empties.
    """
    if served_rps <= arriving_rps:
        raise ValueError(f"a queue does not drain at {arriving_rps} in and {served_rps} out")
    return waiting / (served_rps - arriving_rps)


def burn_rate(bad_share: float, *, target: float) -> float:
    """Return how many times as fast as allowed an error budget goes: bad share / (1 - target).

    Raises ValueError for a target outside 0 to 1 or a share outside it. Source: Google's SRE workbook, chapter 5.
    """
    if not 0 < target < 1 or not 0 <= bad_share <= 1:
        raise ValueError(f"no budget has a target of {target} and a bad share of {bad_share}")
    return bad_share / (1 - target)


def budget_left_h(rate: float, *, period_days: float = 30) -> float:
    """Return after how many hours a burn rate has spent the whole budget of a period; infinity at 0."""
    return period_days * 24 / rate if rate else float("inf")


def spent_share(rate: float, *, over_h: float, period_days: float = 30) -> float:
    """Return the share of a period's budget that a burn rate spends in ``over_h`` hours."""
    return rate * over_h / (period_days * 24)


def fires_after_s(
    bad_share: float,
    threshold: float,
    *,
    window_s: float,
    for_s: float = 0.0,
    every_s: float = 30.0,
) -> float | None:
    """Return when a rule ``share over window > threshold`` fires after its cause set in, seconds; None if never.

    Before it nothing was bad. The mean over the window crosses the threshold after window x threshold / share,
    is seen at the next evaluation, and must then hold for ``for_s``. Requests are spread evenly over time.
    """
    if bad_share <= threshold:
        return None
    crossed = window_s * threshold / bad_share
    seen = every_s * (int(crossed // every_s) + 1)
    return seen + every_s * -(-for_s // every_s)
