"""The engine's /metrics against what vLLM 0.32 printed (captures/metrics_vllm_0_32.txt)."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from labs.instruments.prometheus import EPOCH_S, FAMILIES, metrics_text
from labs.instruments.prometheus.exposition import REFUSED, number
from labs.simulator.request import Status
from tests.labs.instruments.exposition import read
from tests.simulator.worlds import engine, submit

CAPTURE = read((Path(__file__).parent / "captures" / "metrics_vllm_0_32.txt").read_text())
HISTOGRAMS = [name for name, family in CAPTURE.items() if family.kind == "histogram"]


@pytest.fixture
def families(at_page):
    return read(metrics_text(at_page("metastable").view))


def shape(found, name):
    """The series of a family, with the labels whose values the format fixes."""
    fixed = {"le", "reason", "finished_reason", "source", "sleep_state", "engine"}
    return [
        (sample, tuple((label, value if label in fixed else "") for label, value in labels.items()))
        for sample, labels, _ in found[name].samples
    ]


def histogram(found, name):
    """A histogram's observations per bucket, its count and its sum."""
    series = found[name].samples
    seen = [value for sample, _, value in series if sample.endswith("_bucket")]
    per_bucket = [b - a for a, b in pairwise([0.0, *seen])]
    (count,) = [value for sample, _, value in series if sample == f"{name}_count"]
    (total,) = [value for sample, _, value in series if sample == f"{name}_sum"]
    return per_bucket, count, total


def value(found, name, **labels):
    (only,) = [v for _, has, v in found[name].samples if labels.items() <= has.items()]
    return only


def finished(world):
    return [r for r in world.world.cluster.requests if r.status is Status.FINISHED]


def test_the_page_has_vllms_families_in_vllms_order_with_help_and_type(families):
    assert list(families) == list(CAPTURE)
    assert len(FAMILIES) == 39
    ours = {name: (family.help, family.kind) for name, family in families.items()}
    assert ours == {name: (family.help, family.kind) for name, family in CAPTURE.items()}


SAME_BUCKETS = [
    name
    for name, family in CAPTURE.items()
    if not name.endswith("_tokens")
    and (family.kind != "histogram" or "tokens" not in name or "iteration" in name)
]
"""Buckets of token counts end at the context's length, which differs; the test below holds those."""


@pytest.mark.parametrize("name", SAME_BUCKETS)
def test_every_series_has_vllms_labels_and_buckets(families, name):
    assert shape(families, name) == shape(CAPTURE, name)


@pytest.mark.parametrize("name", HISTOGRAMS)
def test_buckets_are_vllms_and_cumulative(families, name):
    def bounds(found):
        return [float(labels["le"]) for _, labels, _ in found[name].samples if "le" in labels]

    per_bucket, count, _ = histogram(families, name)
    theirs = bounds(CAPTURE)
    # Those of token counts go on to the longest context: 1,024 there, 32,768 here.
    assert bounds(families)[: len(theirs) - 1] == theirs[:-1]
    more = bounds(families)[len(theirs) - 1 : -1]
    assert more in ([], [2000.0, 5000.0, 10000.0, 20000.0])
    assert min(per_bucket) >= 0
    assert sum(per_bucket) == count > 0


def test_the_pool_is_described_as_it_is(at_page):
    world = at_page("metastable")
    ((_, labels, is_there),) = read(metrics_text(world.view))["vllm:cache_config_info"].samples
    assert is_there == 1
    assert int(labels["num_gpu_blocks"]) == world.fleet.pool_blocks + 1
    assert int(labels["kv_cache_size_tokens"]) == world.fleet.pool_blocks * 16
    assert float(labels["kv_cache_max_concurrency"]) == world.fleet.pool_blocks * 16 / 32_768


def test_the_preemption_counter_lags_behind_what_happened(at_page):
    samples = at_page("metastable").world.cluster.engines[0].samples
    assert all(sample.preemptions_reported <= sample.preemptions for sample in samples)
    behind = [s.preemptions - s.preemptions_reported for s in samples if s.t_s > -300]
    assert max(behind) > 0
    reported = read(metrics_text(at_page("metastable").view))["vllm:num_preemptions_total"]
    assert reported.samples[0][2] == samples[-1].preemptions_reported


def test_a_finished_request_is_observed_once_in_each_of_its_histograms(at_page, families):
    done = finished(at_page("metastable"))
    of_requests = [n for n in HISTOGRAMS if n.startswith(("vllm:request_", "vllm:e2e"))]
    assert len(of_requests) == 13
    assert {histogram(families, name)[1] for name in of_requests} == {len(done)}
    assert value(families, "vllm:request_success_total", finished_reason="length") == len(done)


def test_the_queue_time_holds_only_the_first_wait(at_page, families):
    done = finished(at_page("metastable"))
    first = sum(r.first_scheduled_s - r.arrival_s for r in done)
    total = histogram(families, "vllm:request_queue_time_seconds")[2]
    assert total == pytest.approx(first)
    assert any(r.num_preemptions for r in done)
    parts = [
        histogram(families, f"vllm:request_{part}_time_seconds")[2]
        for part in ("queue", "prefill", "decode")
    ]
    whole = histogram(families, "vllm:e2e_request_latency_seconds")[2]
    assert sum(parts) == pytest.approx(whole)
    inference = histogram(families, "vllm:request_inference_time_seconds")[2]
    assert inference == pytest.approx(parts[1] + parts[2])


def test_no_token_counter_shows_that_tokens_were_computed_again(at_page, families):
    world = at_page("metastable")
    last = world.world.cluster.engines[0].samples[-1]
    assert last.recomputed_tokens > 0
    shown = value(families, "vllm:prompt_tokens_total")
    with_output = [r for r in world.world.cluster.requests if r.first_token_s is not None]
    assert shown == sum(r.prompt_tokens for r in with_output)
    generated = value(families, "vllm:generation_tokens_total")
    assert histogram(families, "vllm:iteration_tokens_total")[2] == shown + generated


def test_sums_are_those_of_the_requests(at_page, families):
    requests = at_page("metastable").world.cluster.requests
    seen = [r for r in requests if r.first_token_s is not None]
    _, count, total = histogram(families, "vllm:time_to_first_token_seconds")
    assert count == len(seen)
    assert total == pytest.approx(sum(r.first_token_s - r.arrival_s for r in seen))
    _, gaps, length = histogram(families, "vllm:inter_token_latency_seconds")
    assert gaps == value(families, "vllm:generation_tokens_total") - len(seen)
    # The engine ends the step that it is in after the last sample.
    so_far = sum(r.last_token_s - r.first_token_s for r in seen)
    assert length == pytest.approx(so_far, rel=1e-3)


def test_a_restarted_server_counts_from_0_and_says_since_when(at_page):
    world = at_page("metastable")
    view, cluster = world.view, world.world.cluster
    engine = cluster.engines[0]
    cluster.restart_engine(0, engine.config, engine.cost, 90.0)
    cluster.advance(60.0)
    assert metrics_text(replace(view, now_s=60.0)) == REFUSED
    cluster.advance(200.0)
    found = read(metrics_text(replace(view, now_s=200.0)))
    (up_s,) = [p.up_s for p in engine.processes if p.base is not None]
    assert 90.0 <= up_s < 91.0
    assert value(found, "vllm:generation_tokens_created") == EPOCH_S + up_s
    before = value(read(metrics_text(view)), "vllm:generation_tokens_total")
    assert 0 < value(found, "vllm:generation_tokens_total") < before
    done = [r for r in finished(world) if r.finish_s > up_s]
    assert histogram(found, "vllm:e2e_request_latency_seconds")[1] == len(done)
    assert value(found, "vllm:request_success_total", finished_reason="length") == len(done)


def test_a_killed_server_answers_nobody(at_page):
    world = at_page("metastable")
    world.world.cluster.engines[0].kill()
    world.world.cluster.advance(30.0)
    assert metrics_text(replace(world.view, now_s=30.0)) == REFUSED


def test_what_a_full_queue_rejects_is_counted(at_page):
    world = at_page("metastable")
    cluster = world.world.cluster
    engine_ = cluster.engines[0]
    engine_.config = replace(engine_.config, max_num_queued_reqs=20)
    gone = [r for r in cluster.requests if r.sent_s > -60.0][:5]
    for request in gone:
        request.refusal, request.finish_ps = "queue_full", request.arrival_ps
    found = read(metrics_text(world.view))
    name = "vllm:admission_rejections_total"
    assert value(found, name, reason="max_num_queued_reqs") == len(gone) == 5
    assert value(found, name, reason="max_num_queued_tokens") == 0


def test_cached_tokens_are_counted_by_the_prefix_cache_and_with_the_prompts(at_page):
    world = at_page("metastable")
    served = engine(enable_prefix_caching=True, prefix_hashing="groups")
    for at_s in (0.0, 1.0):
        submit(served, (65, 5), at_s=at_s, prefix=(("text", 64),))
    served.advance(10.0)
    world.world.cluster.engines[0] = served
    found = read(metrics_text(replace(world.view, now_s=10.0)))
    assert value(found, "vllm:prefix_cache_queries_total") == 130
    assert value(found, "vllm:prefix_cache_hits_total") == 64
    assert value(found, "vllm:prompt_tokens_cached_total") == 64
    assert value(found, "vllm:prompt_tokens_cached_by_source_total", source="device") == 64
    assert value(found, "vllm:prompt_tokens_by_source_total", source="local_cache_hit") == 64
    assert value(found, "vllm:prompt_tokens_by_source_total", source="local_compute") == 66
    assert histogram(found, "vllm:request_prefill_kv_computed_tokens")[2] == 66


@pytest.mark.parametrize(
    ("number_", "printed"),
    [
        (82, "82.0"),
        (0.25, "0.25"),
        (999_999, "999999.0"),
        (2_557_542_400, "2.5575424e+09"),
        (1_000_000, "1e+06"),
    ],
)
def test_numbers_are_printed_as_the_python_client_prints_them(number_, printed):
    assert number(number_) == printed
