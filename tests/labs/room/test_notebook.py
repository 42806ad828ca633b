"""The notebook: readings, the newest first, beside what is healthy."""

import pytest

from labs.room import notebook
from tests.labs.room.logs import begun, change, reading, verification


@pytest.fixture(autouse=True)
def _healthy(monkeypatch):
    monkeypatch.setattr(
        notebook, "healthy_medians", lambda slug: {"kv_usage": 0.48, "gap_p95_s": 0.08}
    )


def test_the_newest_reading_is_on_top_and_changes_are_not_in_it():
    notes = begun(
        reading(number=1),
        change(2, {"verb": "shed", "percent": "20"}),
        verification(3, 0.4, ttft=1.0, gap=1.0),
    ).notebook
    assert [(note.number, note.title) for note in notes] == [(3, "Verification"), (1, "KV ledger")]


def test_a_signal_stands_beside_its_healthy_value_and_a_missing_one_beside_nothing():
    (note,) = begun(reading(kv_usage=0.99, gap_p95_s=None, not_in_the_lab=1.0)).notebook
    usage, gap = note.measures
    assert (usage.value, usage.unit, usage.healthy) == ("0.99", "", "0.48")
    assert (gap.value, gap.unit, gap.healthy) == ("nothing to measure", "", "")
