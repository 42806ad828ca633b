"""PromQL against direct computation from what the world recorded."""

import json
from contextlib import suppress
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labs.instruments import promql
from labs.instruments.promql import PromqlError


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
def test_increase_and_rate_are_differences_of_the_counter(world, samples, window_s):
    grown = at(samples, 0).preemptions_reported - at(samples, -window_s).preemptions_reported
    metric = f"vllm:num_preemptions_total[{window_s}s]"
    assert read(world, f"increase({metric})") == grown
    assert read(world, f"rate({metric})") == pytest.approx(grown / window_s)
    assert read(world, f"irate({metric})") == pytest.approx(grown / window_s)


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
    after, before = at(samples, 0).itl_counts, at(samples, -300).itl_counts
    counts = [a - b for a, b in zip(after, before, strict=True)]
    bounds = promql.buckets_of(at(samples, 0), "vllm:inter_token_latency_seconds")[0]
    rank = 0.5 * sum(counts)
    seen = 0
    for place, count in enumerate(counts):
        if seen + count >= rank:
            low = bounds[place - 1] if place else 0.0
            wanted = low + (bounds[place] - low) * (rank - seen) / count
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


def test_the_answer_is_what_prometheus_sends(world):
    query = promql.parse("vllm:num_requests_waiting")
    sent = json.loads(promql.answer(world.view, 82.0, query))
    assert sent["status"] == "success"
    assert sent["data"]["result"] == [
        {"metric": {"engine": "0", "model_name": "atlas-70b"}, "value": [promql.EPOCH_S, "82"]}
    ]
    assert json.loads(promql.answer(world.view, None, query))["data"]["result"] == []


@pytest.mark.parametrize(
    ("expression", "helps"),
    [
        ("vllm:gpu_cache_usage_perc", "today it is vllm:kv_cache_usage_perc"),
        ("up", "No series up. There are"),
        ("rate(vllm:kv_cache_usage_perc[5m])", "rate() is for counters"),
        ("max_over_time(vllm:num_preemptions_total[5m])", "is for gauges"),
        ("rate(vllm:num_preemptions_total)", "with a window such as [5m]"),
        ("rate(vllm:num_preemptions_total[5s])", "between 30s and 30m"),
        ("rate(vllm:num_preemptions_total[9h])", "between 30s and 30m"),
        ("vllm:time_to_first_token_seconds", "is a histogram: histogram_quantile("),
        ("histogram_quantile(0.95, rate(vllm:nothing_bucket[5m]))", "No series"),
        ("histogram_quantile(95, rate(vllm:time_to_first_token_seconds_bucket[5m]))", "0.95"),
        ("1 + 1", "This Prometheus reads"),
        ("", "This Prometheus reads"),
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
