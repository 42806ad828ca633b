"""Numbers as people read them."""

from __future__ import annotations


def number(value: float | str | None, decimals: int = 2) -> str:
    """Return a number for people: thousands marks, and no more decimals than its size deserves.

    A category is its own word.
    """
    if isinstance(value, str):
        return value
    if value is None:
        return "none"
    if abs(value) >= 100:  # noqa: PLR2004
        decimals = 0
    elif abs(value) >= 10:  # noqa: PLR2004
        decimals = min(decimals, 1)
    return f"{value:,.{decimals}f}".replace("-", "−")
