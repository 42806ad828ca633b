"""The wall clock of a cluster, which every log and table prints."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from labs.instruments.prometheus.scrapes import EPOCH_S


def time_of(now_s: float) -> datetime:
    """Return the wall clock of the cluster at an incident second."""
    return datetime.fromtimestamp(EPOCH_S, UTC) + timedelta(seconds=round(now_s))
