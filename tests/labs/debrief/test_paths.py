"""The two paths: their steps, their chart in words and numbers."""

from tests.labs.debrief.marked import shown


def test_waits_and_looks_at_the_panel_are_one_line_of_a_path():
    you, reference = shown().paths
    assert [(step.numbers, step.title, step.cost) for step in you.steps] == [
        ("1", "Engine gauges", "0:15"),
        ("2", "KV ledger", "0:30"),
        ("4", "Restarted with --max-num-seqs 28", "1:20"),
        ("5", "Verified: p95 TTFT, as clients see it: 277 s; 0 of 2 promises kept", "5:00"),
        ("6", "Restarted with --kv-cache-dtype fp8", "1:20"),
        ("7–9", "Waited, looked at the panel once", "20:15"),
    ]
    assert "Waited, looked at the panel once" in [step.title for step in reference.steps]
    assert reference.ends == "31:35"


def test_the_chart_of_the_paths_is_told_and_tabled():
    found = shown()
    assert "reference back within the target by" in found.paths_spoken
    assert "untouched at 1,036 s at the end" in found.paths_spoken
    assert found.paths_table[0][0] == "−10:00"
    assert found.paths_table[1] == ("0:00", *found.paths_table[1][1:])
