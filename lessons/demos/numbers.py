"""Numbers as the sentences of demonstrations say them."""

from __future__ import annotations

from labs.charts.numbers import number

__all__ = ["number", "plain", "share", "split_time", "time"]


def plain(value: float) -> str:
    """Return a number as it was set: thousands marks, and no decimals that it does not have."""
    return f"{value:,.10g}"


def split_time(seconds: float) -> tuple[str, str]:
    """Return a time and its unit: ms below a second, three figures at most."""
    if abs(seconds) < 0.9995:  # noqa: PLR2004  (what rounds to 1,000 ms is a second)
        ms = seconds * 1e3
        return number(ms, 0 if abs(ms) >= 10 else 1), "ms"  # noqa: PLR2004
    return number(seconds), "s"


def time(seconds: float) -> str:
    """Return a time with its unit."""
    return " ".join(split_time(seconds))


def share(part: float) -> str:
    """Return a share in per cent, with a decimal where it is small or almost all; never 0 or 100 unless it is.

    Beyond 1 it is a ratio.
    """
    percent = round(part * 100, 9)
    if percent in {0, 100} or percent > 100:  # noqa: PLR2004
        return f"{percent:,.0f} %"
    if percent < 0.01:  # noqa: PLR2004
        return "under 0.01 %"
    if percent > 99.99:  # noqa: PLR2004
        return "over 99.99 %"
    decimals = 2 if percent < 1 or percent > 99.9 else 1 if percent < 10 or percent > 99 else 0  # noqa: PLR2004
    return f"{percent:.{decimals}f} %"
