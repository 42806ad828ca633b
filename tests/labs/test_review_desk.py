"""What the grader's desk says of a value."""

from types import SimpleNamespace

import pytest

from labs.catalogue import labs
from labs.review_desk import desk_of, shown_value, signal_title

SPEC = labs()["preemption-storm"]


@pytest.mark.parametrize(
    ("key", "value", "title", "shown"),
    [
        ("ttft_p95_s", 0.412, "p95 TTFT, as clients see it", "0.41 s"),
        ("kv_usage", 0.98, "KV usage", "0.98"),
        ("queue_depth", 119.0, "Requests waiting", "119 requests"),
        ("gap_p95_s", None, "p95 of each stream's longest gap", "nothing to measure"),
        ("promise:gap", 0.843, "no pause over 1 s inside an answer", "kept to 84.3 %"),
        ("another_labs", "SYS", "another_labs", "SYS"),
    ],
)
def test_a_value_is_told_with_its_title_and_its_unit(key, value, title, shown):
    assert (signal_title(SPEC, key), shown_value(SPEC, key, value)) == (title, shown)


@pytest.mark.parametrize(
    ("slug", "number", "shown"),
    [
        ("slow-since-the-deploy", 66757.2, "66,757 MiB"),
        ("preemption-storm", 1.1414, "1.14"),
        ("slow-since-the-deploy", 1_234_567, "1,234,567 MiB"),
    ],
)
def test_the_number_of_a_diagnosis_is_told_whole_and_with_its_unit(slug, number, shown):
    said = {"scope": "fault", "parameter": number}
    entry = SimpleNamespace(seq=1, kind="diagnose", payload=said, outcome={}, at_s=45, cost_s=0)
    desk = desk_of(labs()[slug], [entry], None)
    assert desk.diagnosis.says[-1].text == shown
