"""The notebook: readings, the newest first, beside what is healthy."""

import pytest

from labs.room import notebook
from labs.room.diagnosis import citable_of
from tests.labs.room.logs import SPEC, begun, change, log, reading, verification


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


def test_a_category_is_its_own_word():
    link = SPEC.signals["kv_usage"].model_copy(
        update={"title": "Link", "unit": "", "kind": "category"}
    )
    spec = SPEC.model_copy(update={"signals": {**SPEC.signals, "link": link}})
    (note,) = notebook.notes_of(spec, log(reading(link="SYS")))
    assert [(each.title, each.value, each.unit) for each in note.measures] == [("Link", "SYS", "")]
    (cited,) = citable_of(spec, log(reading(link="SYS")))
    assert (cited.title, cited.value, cited.unit) == ("Link", "SYS", "")


def test_a_verification_notes_what_paged_and_to_how_many_each_promise_was_kept():
    (note,) = begun(verification(1, 0.4, ttft=0.973, gap=None)).notebook
    assert [(each.title, each.value, each.unit) for each in note.measures] == [
        ("p95 TTFT, as clients see it", "0.40", "s"),
        ("first token within 2 s", "kept to 97.3 %", ""),
        ("no pause over 1 s inside an answer", "nobody to ask", ""),
    ]
