"""What can be cited, and what a committed diagnosis says."""

from tests.labs.room.logs import begun, change, entry, reading

SAID = {
    "scope": "fault",
    "layer": "memory",
    "components": ["kv_pool"],
    "mechanism": "demand_exceeds_pool",
    "confidence": 80,
    "citations": [],
}


def test_own_readings_can_be_cited_signal_by_signal():
    found = begun(reading(number=1, kv_usage=0.99, unaccounted_share=0.0)).citable
    assert [each.field for each in found] == ["cite-1-kv_usage", "cite-1-unaccounted_share"]


def test_readings_after_the_first_diagnosis_cannot_be_cited():
    assert begun(entry("diagnose", payload=SAID), reading(kv_usage=0.99)).citable == []


def test_readings_after_the_first_change_cannot_be_cited():
    shed = change(1, {"verb": "shed", "percent": "20"})
    assert begun(shed, reading(number=2, kv_usage=0.99)).citable == []


def test_the_last_diagnosis_counts_and_is_told_by_titles():
    assert begun().diagnosed is None
    revised = {**SAID, "layer": "overload"}
    said = begun(*(entry("diagnose", payload=each) for each in (SAID, revised))).diagnosed
    assert (said["layer"], said["components"], said["count"]) == ("overload", ["KV block pool"], 2)
