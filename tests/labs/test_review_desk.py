"""What the grader's desk says of a value."""

import pytest

from labs.catalogue import labs
from labs.review_desk import shown_value, signal_title

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
