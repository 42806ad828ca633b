"""The engine's log, line for line as vLLM 0.32 prints it."""

import re
from dataclasses import replace

import pytest

from labs.instruments.logs import Kernels, Settings, engine_log, iteration_lines
from labs.instruments.logs.kernels import FP8_KERNELS
from labs.instruments.logs.kernels import lines as kernel_lines
from labs.instruments.signals import SIGNALS
from labs.simulator.telemetry import StepRecord

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


def test_a_restart_is_told_and_nothing_is_written_while_the_server_is_down(at_page):
    world = at_page("metastable")
    cluster = world.world.cluster
    engine = cluster.engines[0]
    cluster.restart_engine(0, engine.config, engine.cost, 60.0)
    cluster.advance(100.0)
    lines = engine_log(replace(world.view, now_s=100.0)).splitlines()
    stop = next(i for i, line in enumerate(lines) if "shutdown triggered" in line)
    assert lines[stop].startswith("INFO 01-05 11:00:00 [launcher.py:254] [shutdown] API server")
    told = [line[11:19] for line in lines[stop:] if "throughput" in line]
    assert told == ["11:01:10", "11:01:20", "11:01:30", "11:01:40"]


def test_aborts_are_told_only_where_requests_are_logged(at_page):
    world = at_page("metastable")
    engine = world.world.cluster.engines[0]
    gone = engine.waiting[0]
    engine.abort(gone)
    world.world.cluster.advance(10.0)
    view = replace(world.view, now_s=10.0)
    assert "Aborted" not in engine_log(view)
    told = engine_log(view, settings=Settings(log_requests=True))
    assert f"[async_llm.py:922] Aborted request(s) {gone.request_id}." in told
    assert f"[async_llm.py:783] Request {gone.request_id} aborted." in told


def test_only_a_line_of_the_start_tells_of_a_fallback():
    marlin = Kernels(linear_kernel="MarlinFP8ScaledMMLinearKernel")
    told = [str(entry) for entry in kernel_lines(marlin, -600.0)]
    assert "Selected MarlinFP8ScaledMMLinearKernel for Fp8LinearMethod" in told[1]
    assert told[0].startswith("WARNING 01-05 10:50:00")
    native = [str(e) for e in kernel_lines(replace(marlin, linear_kernel=FP8_KERNELS[0]), 0.0)]
    assert not any("WARNING" in line for line in native)
    slow = Kernels(
        attention_backend="TRITON_ATTN",
        attention_unsupported=(("FLASH_ATTN", "head size"), ("FLASHINFER", "not installed")),
        full_graphs=False,
    )
    backend, graphs = (str(entry) for entry in kernel_lines(slow, 0.0))
    assert (
        "Using TRITON_ATTN attention backend out of potential backends: ['TRITON_ATTN'," in backend
    )
    assert "setting cudagraph_mode=PIECEWISE" in graphs
    with pytest.raises(ValueError, match="no attention backend"):
        Kernels(attention_backend="FASTEST")


def test_an_iteration_line_says_what_was_in_the_step():
    record = StepRecord(
        step=7, start_s=0.0, end_s=0.05, scheduled_tokens=512, prefill_tokens=500, kv_tokens=9_000,
        running=13, waiting=2, free_blocks=5, admitted=("a",), preempted=(), finished=("b",),
    )  # fmt: skip
    (line,) = iteration_lines([record])
    assert line.endswith(
        "Iteration(7): 2 context requests, 500 context tokens, 12 generation requests, "
        "12 generation tokens, iteration elapsed time: 50.00 ms"
    )


def test_the_hit_rate_is_that_of_the_prompts(at_page):
    world = at_page("metastable")
    for request in world.world.cluster.requests:
        request.cached_tokens = request.prompt_tokens // 4 * 3
    assert "Prefix cache hit rate: 7" in engine_log(world.view).splitlines()[-1]
