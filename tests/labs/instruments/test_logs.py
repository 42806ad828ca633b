"""The engine's log, line for line as vLLM 0.32 prints it."""

import re

from labs.instruments.logs import engine_log
from labs.instruments.signals import SIGNALS

# From a server under load, without the process's name before it.
CAPTURED = (
    "INFO 11-29 14:49:17 [loggers.py:335] Engine 000: Avg prompt throughput: 272.5 tokens/s, "
    "Avg generation throughput: 1299.3 tokens/s, Running: 12 reqs, Waiting: 15 reqs, "
    "GPU KV cache usage: 96.9%, Prefix cache hit rate: 0.0%"
)


def shape(line):
    return re.sub(r"\d+(\.\d+)?", "#", line)


def test_every_line_has_the_shape_of_vllms(at_page):
    lines = engine_log(at_page("metastable").view).splitlines()
    assert len(lines) == 90
    assert {shape(line) for line in lines} == {shape(CAPTURED)}


def test_lines_come_every_ten_seconds_and_end_now(at_page):
    stamps = [line[5:19] for line in engine_log(at_page("demand").view).splitlines()]
    assert stamps[-3:] == ["01-05 10:59:40", "01-05 10:59:50", "01-05 11:00:00"]


def test_the_last_line_shows_what_the_gauges_show(at_page):
    view = at_page("metastable").view
    last = engine_log(view).splitlines()[-1]
    assert f"Waiting: {SIGNALS['queue_depth'](view):.0f} reqs" in last
    assert f"GPU KV cache usage: {100 * SIGNALS['kv_usage'](view):.1f}%" in last


def test_no_line_speaks_of_preemptions(at_page):
    assert "preempt" not in engine_log(at_page("metastable").view).lower()
