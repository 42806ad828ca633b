"""PromQL against direct computation from what the world recorded."""

import json
from contextlib import suppress
from dataclasses import replace
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labs.instruments import gpus, promql
from labs.instruments.promql import PromqlError
from labs.simulator.telemetry import ITL_BUCKETS_S


def read(world, expression):
    return promql.evaluate(world.view, promql.parse(expression))


@pytest.fixture
def world(at_page):
    return at_page("metastable")


@pytest.fixture
def samples(world):
    return world.world.cluster.engines[0].samples


def at(samples, t_s):
    return [s for s in samples if s.t_s <= t_s][-1]


@pytest.mark.parametrize("window_s", [60, 300, 1800])
def test_increase_is_stretched_from_the_samples_to_the_whole_window(world, samples, window_s):
    inside = [s for s in samples if -window_s < s.t_s <= 0]
    grown = inside[-1].preemptions_reported - inside[0].preemptions_reported
    # The first sample lies one interval into the window; a counter near 0 is not stretched below it.
    to_zero_s = (window_s - 5) * inside[0].preemptions_reported / grown
    wanted = grown * (window_s - 5 + min(5, to_zero_s)) / (window_s - 5)
    metric = f"vllm:num_preemptions_total[{window_s}s]"
    assert read(world, f"increase({metric})") == pytest.approx(wanted)
    assert read(world, f"rate({metric})") == pytest.approx(wanted / window_s)


def test_irate_looks_at_the_last_two_samples(world, samples):
    grown = samples[-1].preemptions_reported - samples[-2].preemptions_reported
    assert read(world, "irate(vllm:num_preemptions_total[5m])") == pytest.approx(grown / 5)


def test_functions_over_time_look_at_every_sample_of_the_window(world, samples):
    values = [s.kv_cache_usage_perc for s in samples if -600 < s.t_s <= 0]
    assert len(values) == 120
    assert read(world, "max_over_time(vllm:kv_cache_usage_perc[10m])") == max(values)
    assert read(world, "avg_over_time(vllm:kv_cache_usage_perc[10m])") == pytest.approx(
        fmean(values)
    )


def test_a_plain_metric_is_its_last_sample(world, samples):
    assert read(world, "vllm:num_requests_waiting") == at(samples, 0).waiting
    assert read(world, 'vllm:num_requests_waiting{engine="0"}') == at(samples, 0).waiting
    assert read(world, "sum by (engine) (vllm:num_requests_running)") == at(samples, 0).running


def test_a_quantile_of_a_histogram_is_linear_within_its_bucket(world, samples):
    after, before = at(samples, 0).itl_counts, at(samples, -295).itl_counts
    counts = [a - b for a, b in zip(after, before, strict=True)]
    rank = 0.5 * sum(counts)
    seen = 0
    for place, count in enumerate(counts):
        if seen + count >= rank:
            low = ITL_BUCKETS_S[place - 1] if place else 0.0
            wanted = low + (ITL_BUCKETS_S[place] - low) * (rank - seen) / count
            break
        seen += count
    expression = "histogram_quantile(0.5, rate(vllm:inter_token_latency_seconds_bucket[5m]))"
    assert read(world, expression) == pytest.approx(wanted)


@pytest.mark.parametrize(
    "expression",
    [
        "histogram_quantile(0.95, sum by (le) (rate(router_forward_duration_seconds_bucket[5m])))",
        "histogram_quantile(.95,increase(router_forward_duration_seconds_bucket[300s]))",
        "histogram_quantile(0.95, sum(rate(router_forward_duration_seconds_bucket[5m])) by (le))",
    ],
)
def test_the_routers_quantile_lies_in_the_bucket_of_the_true_one(world, expression):
    delays = sorted(r.router_delay_s for r in world.world.cluster.requests if -300 < r.sent_s <= 0)
    true = delays[int(0.95 * len(delays))]
    bucket = next(i for i, bound in enumerate(promql.ROUTER_BUCKETS_S) if true <= bound)
    low = promql.ROUTER_BUCKETS_S[bucket - 1] if bucket else 0.0
    assert low <= read(world, expression) <= promql.ROUTER_BUCKETS_S[bucket]


def test_the_answer_is_what_prometheus_sends(world, samples):
    query = promql.parse("vllm:num_requests_waiting")
    sent = json.loads(promql.answer(world.view, None, query))
    labels = {
        "__name__": "vllm:num_requests_waiting",
        "engine": "0",
        "instance": "atlas-0:8000",
        "job": "vllm",
        "model_name": "atlas-70b",
    }
    assert sent["status"] == "success"
    assert sent["data"]["result"] == [
        {"metric": labels, "value": [promql.EPOCH_S, str(samples[-1].waiting)]}
    ]
    nothing = promql.parse("vllm:num_requests_waiting > 10000")
    assert json.loads(promql.answer(world.view, None, nothing))["data"]["result"] == []
    number = json.loads(promql.answer(world.view, None, promql.parse("1 + 2 * 3 ^ 2")))
    assert number["data"] == {"resultType": "scalar", "result": [promql.EPOCH_S, "19"]}


@pytest.mark.parametrize(
    ("expression", "helps"),
    [
        ("vllm:gpu_cache_usage_perc", "today it is vllm:kv_cache_usage_perc"),
        ("up", "No series up. There are"),
        ("rate(vllm:kv_cache_usage_perc[5m])", "rate() is for counters"),
        ("vllm:num_tokens_prefill", "vLLM has no vllm:num_tokens_prefill; the nearest is"),
        ("vllm:kv_cache_usage", "The nearest: vllm:kv_cache_usage_perc"),
        ("rat(vllm:num_preemptions_total[5m])", "Did you mean rate()?"),
        ("vllm:num_requests_waiting[5m]", "has a window and no function"),
        ("sum(vllm:num_requests_waiting[5m])", "without a window of its own"),
        ("rate(sum(vllm:num_preemptions_total)[5m])", "subqueries are not read here"),
        ("topk(vllm:num_requests_waiting)", "topk takes 2 arguments"),
        ("vllm:num_requests_waiting{engine='0'", "Character 37"),
        ('vllm:num_requests_waiting{engine=~"("}', "no regular expression"),
        ("vllm:num_requests_waiting and 1", "between two vectors"),
        ("1 > 2", "Between two numbers it is `> bool`"),
        ("histogram_quantile(0.9, rate(vllm:prompt_tokens_total[5m]))", "has none: use …_bucket"),
        ("sum(1)", "taken of a metric"),
        ("(" * 90 + "1" + ")" * 90, "Too many brackets"),
        ("rate(vllm:num_preemptions_total)", "with a window such as [5m]"),
        ("rate(vllm:num_preemptions_total[5s])", "between 30s and 2d"),
        ("rate(vllm:num_preemptions_total[9d])", "between 30s and 2d"),
        ("vllm:time_to_first_token_seconds", "is a histogram: histogram_quantile("),
        ("histogram_quantile(0.95, rate(vllm:nothing_bucket[5m]))", "No series"),
        ("histogram_quantile(95, rate(vllm:time_to_first_token_seconds_bucket[5m]))", "0.95"),
        ("vllm:num_requests_waiting ?", "has no place in PromQL"),
        ("", "An expression is missing"),
    ],
)
def test_what_is_not_answered_is_told_what_would_be(expression, helps):
    with pytest.raises(PromqlError, match=r".") as caught:
        promql.parse(expression)
    assert helps in str(caught.value)


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(
    st.lists(
        st.sampled_from(
            [
                *(
                    "rate",
                    "sum",
                    "histogram_quantile",
                    "(",
                    ")",
                    "[5m]",
                    "[0s]",
                    "by(le)",
                    ",",
                    "0.9",
                ),
                *(
                    "vllm:num_preemptions_total",
                    "vllm:kv_cache_usage_perc",
                    "slo:ttft_p95",
                    "{",
                    "}",
                ),
                *("vllm:time_to_first_token_seconds_bucket", "[٣m]", "é", "99999m", " "),
            ]
        ),
        max_size=8,
    ).map("".join)
)
def test_garbage_raises_nothing_but_help(expression):
    with suppress(PromqlError):
        promql.parse(expression)


def rows(world, expression, **changes):
    found = promql.vector(replace(world.view, **changes), promql.parse(expression))
    return {row.labels.get("instance", ""): row.value for row in found}


@pytest.fixture
def two(world):
    """The same world with a second replica, idle and cold since the page, a minute on."""
    world.world.cluster.add_replica(10.0)
    world.world.cluster.advance(60.0)
    return world


def test_each_replica_is_a_target_of_its_own(two):
    running = rows(two, "vllm:num_requests_running", now_s=60.0)
    engines = two.world.cluster.engines
    assert running == {
        "atlas-0:8000": engines[0].samples[-1].running,
        "atlas-1:8000": engines[1].samples[-1].running,
    }
    total = rows(two, "sum(vllm:num_requests_running)", now_s=60.0)
    assert total == {"": sum(running.values())}
    assert rows(two, "count(vllm:num_requests_running)", now_s=60.0) == {"": 2.0}
    by = rows(two, "max by (instance) (vllm:num_requests_running)", now_s=60.0)
    assert by == running
    assert rows(two, "topk(1, vllm:num_requests_running)", now_s=60.0) == {
        "atlas-0:8000": max(running.values())
    }


@pytest.mark.parametrize(
    ("matchers", "wanted"),
    [
        ('{instance="atlas-1:8000"}', {"atlas-1:8000"}),
        ('{instance!="atlas-1:8000"}', {"atlas-0:8000"}),
        ('{instance=~"atlas-.*"}', {"atlas-0:8000", "atlas-1:8000"}),
        ('{instance=~"atlas"}', set()),
        ('{instance!~".*-0:.*", job="vllm",}', {"atlas-1:8000"}),
        ('{nothing=""}', {"atlas-0:8000", "atlas-1:8000"}),
    ],
)
def test_matchers_select_as_prometheus_does(two, matchers, wanted):
    assert set(rows(two, f"vllm:num_requests_running{matchers}", now_s=60.0)) == wanted


def test_vectors_match_on_equal_labels(two):
    engines = two.world.cluster.engines
    share = rows(
        two, "vllm:num_requests_running / (vllm:num_requests_running + vllm:num_requests_waiting)",
        now_s=60.0,
    )  # fmt: skip
    last = engines[0].samples[-1]
    assert share["atlas-0:8000"] == last.running / (last.running + last.waiting)
    mean = rows(
        two,
        "rate(vllm:time_to_first_token_seconds_sum[1m]) / rate(vllm:time_to_first_token_seconds_count[1m])",
        now_s=60.0,
    )
    assert mean["atlas-0:8000"] > 0
    with pytest.raises(PromqlError, match="duplicate series"):
        rows(two, "vllm:num_requests_running / on (job) vllm:num_requests_running", now_s=60.0)
    broken = promql.parse("vllm:num_requests_running / on (job) vllm:num_requests_running")
    view = replace(two.view, now_s=60.0)
    assert promql.evaluate(view, broken) is None
    assert json.loads(promql.answer(view, None, broken))["errorType"] == "execution"


def test_a_comparison_filters_and_bool_tells(two):
    busy = rows(two, "vllm:kv_cache_usage_perc > 0.5", now_s=60.0)
    assert set(busy) == {"atlas-0:8000"}
    told = rows(two, "vllm:kv_cache_usage_perc > bool 0.5", now_s=60.0)
    assert told == {"atlas-0:8000": 1.0, "atlas-1:8000": 0.0}
    both = "vllm:kv_cache_usage_perc > 0.5 and on (instance) vllm:num_requests_waiting > 0"
    assert set(rows(two, both, now_s=60.0)) == {"atlas-0:8000"}


def test_a_restart_is_a_reset_that_increase_counts_over(world):
    cluster = world.world.cluster
    engine = cluster.engines[0]
    before = read(world, "vllm:generation_tokens_total")
    cluster.restart_engine(0, engine.config, engine.cost, 60.0)
    cluster.advance(40.0)
    assert rows(world, "vllm:generation_tokens_total", now_s=40.0) == {}
    cluster.advance(180.0)
    (after,) = rows(world, "vllm:generation_tokens_total", now_s=180.0).values()
    assert after < before
    (grown,) = rows(world, "increase(vllm:generation_tokens_total[5m])", now_s=180.0).values()
    (offset,) = rows(world, "vllm:generation_tokens_total offset 295s", now_s=180.0).values()
    # From the first sample in the window to the last before the restart, then from 0.
    assert grown == pytest.approx((before - offset + after) * 300 / 295)
    (resets,) = rows(world, "resets(vllm:generation_tokens_total[5m])", now_s=180.0).values()
    assert resets == 1


def test_the_mean_of_a_histogram_is_its_sum_over_its_count(world):
    mean = read(
        world,
        "vllm:e2e_request_latency_seconds_sum / vllm:e2e_request_latency_seconds_count",
    )
    done = [r for r in world.world.cluster.requests if r.finish_s is not None and r.finish_s <= 0]
    assert mean == pytest.approx(sum(r.finish_s - r.arrival_s for r in done) / len(done))


@pytest.mark.parametrize(
    ("expression", "instrument"),
    [
        ("slo:ttft_p95", "slo"),
        ("slo:gap_p95 / slo:ttft_p95", "gaps"),
        ("increase(router_forward_duration_seconds_count[5m])", "router"),
        ("increase(vllm:num_preemptions_total[5m]) / 300", "preemptions"),
        ("vllm:num_requests_waiting", "counters"),
        ("avg(DCGM_FI_DEV_GPU_UTIL)", "dcgm"),
        ("rate(vllm:inter_token_latency_seconds_count[5m])", "ttft_histogram"),
    ],
)
def test_a_query_is_the_instrument_of_what_it_measures(expression, instrument):
    assert promql.instrument_of(promql.parse(expression)) == instrument


@pytest.mark.parametrize(
    ("expression", "signals"),
    [
        ("rate(vllm:num_preemptions_total[1m])", {"preemptions_5m": 600.0}),
        ("increase(vllm:num_preemptions_total[10m])", {"preemptions_5m": 1.0}),
        ("sum(max_over_time(vllm:num_requests_waiting[5m]))", {"queue_depth": 2.0}),
        ("vllm:num_requests_waiting offset 5m", {}),
        ("vllm:num_requests_waiting / 2", {}),
        ("avg(vllm:kv_cache_usage_perc)", {"kv_usage": 2.0}),
        ("avg(DCGM_FI_DEV_GPU_UTIL)", {"gpu_util": 0.02}),
        ("max(DCGM_FI_PROF_PIPE_TENSOR_ACTIVE)", {"tensor_active": 2.0}),
        (
            "histogram_quantile(0.95, sum by (le) (rate(vllm:time_to_first_token_seconds_bucket[5m])))",
            {"ttft_engine_p95_s": 2.0},
        ),
        ("histogram_quantile(0.5, rate(vllm:time_to_first_token_seconds_bucket[5m]))", {}),
    ],
)
def test_a_simple_query_shows_the_signal_of_its_metric(world, expression, signals):
    assert promql.signal_of(world.view, promql.parse(expression), 2.0) == signals


def test_the_gpus_are_targets_too(world):
    util = promql.vector(world.view, promql.parse("DCGM_FI_DEV_GPU_UTIL"))
    printed = [line for line in gpus.dcgm_text(world.view).splitlines() if "GPU_UTIL{" in line]
    assert [row.value for row in util] == [float(line.split()[-1]) for line in printed]
    assert {row.labels["job"] for row in util} == {"dcgm"}
    busiest = read(world, "max(max_over_time(DCGM_FI_DEV_GPU_UTIL[5m]))")
    assert busiest >= max(row.value for row in util)
