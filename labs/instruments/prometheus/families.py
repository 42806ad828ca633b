"""The 39 metric families of a vLLM 0.32 server, in the order of its page, and where each takes its values.

Names, types, labels, buckets and help texts are those that a running server printed; a test holds them to its page.
What a text model without speculative decoding, LoRA, offloading or MFU metrics leaves at 0 is 0 here as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from labs.instruments.prometheus.readers import (
    admission_rejections,
    always,
    cache_config,
    counter,
    decode_s,
    gauge,
    outputs,
    prefill_s,
    prompt_tokens_by_source,
    prompt_tokens_cached_by_source,
    queue_s,
    request_success,
    sleep_state,
    time_per_output_token_s,
    token_bounds,
    waiting_by_reason,
    zero,
)
from labs.simulator.request import to_s
from labs.simulator.telemetry import ITERATION_TOKENS_BUCKETS, ITL_BUCKETS_S, TTFT_BUCKETS_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from labs.instruments.prometheus.readers import Values
    from labs.instruments.prometheus.scrapes import Scrape
    from labs.simulator.config import EngineConfig
    from labs.simulator.request import Request

REQUEST_SECONDS_BUCKETS = (
    0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0,
    120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0,
)  # fmt: skip
"""Upper bounds of the times of whole requests, vLLM 0.32.0, seconds."""
PREEMPTIONS_BUCKETS = (1, 2, 3, 4, 5, 10, 20)
PARAMS_N_BUCKETS = (1, 2, 5, 10, 20)


@dataclass(frozen=True)
class Family:
    """One family. A gauge or counter has ``read``; a histogram ``counts`` and ``total``, or ``observe``."""

    name: str
    kind: Literal["gauge", "counter", "histogram"]
    help: str
    read: Callable[[Scrape], Values] | None = None
    bounds: Callable[[EngineConfig], tuple[float, ...]] | None = None
    counts: str = ""
    """Field of ``Sample`` with the observations per bucket."""
    total: Callable[[Scrape], float] | None = None
    """Sum of the observations that ``counts`` counts."""
    observe: Callable[[Request], float] | None = None
    """What the family observes of a request that finishes."""

    @property
    def created(self) -> str:
        """Name of the gauge that tells when the family's series began; empty for a gauge."""
        if self.kind == "gauge":
            return ""
        stem = self.name.removesuffix("_total") if self.kind == "counter" else self.name
        return f"{stem}_created"


def _request_histogram(
    name: str,
    help_text: str,
    bounds: Callable[[EngineConfig], tuple[float, ...]],
    observe: Callable[[Request], float],
) -> Family:
    return Family(f"vllm:request_{name}", "histogram", help_text, bounds=bounds, observe=observe)


_SECONDS = always(REQUEST_SECONDS_BUCKETS)
_FLOPS_PER_GPU = "Estimated number of {} per GPU (for Model Flops Utilization calculations)."

FAMILIES: tuple[Family, ...] = (
    Family(
        "vllm:estimated_flops_per_gpu_total",
        "counter",
        _FLOPS_PER_GPU.format("floating point operations"),
        zero,
    ),
    Family(
        "vllm:estimated_read_bytes_per_gpu_total",
        "counter",
        _FLOPS_PER_GPU.format("bytes read from memory"),
        zero,
    ),
    Family(
        "vllm:estimated_write_bytes_per_gpu_total",
        "counter",
        _FLOPS_PER_GPU.format("bytes written to memory"),
        zero,
    ),
    Family(
        "vllm:num_requests_running",
        "gauge",
        "Number of requests in model execution batches.",
        gauge(lambda sample: sample.running),
    ),
    Family(
        "vllm:num_requests_waiting",
        "gauge",
        "Number of requests waiting to be processed.",
        gauge(lambda sample: sample.waiting),
    ),
    Family(
        "vllm:num_requests_waiting_by_reason",
        "gauge",
        "Number of waiting requests by reason. Reason labels: 'capacity' = waiting for scheduling capacity; 'deferred' = deferred by transient constraints (LoRA budget, KV transfer, blocked status). Sum of all reasons equals vllm:num_requests_waiting.",
        waiting_by_reason,
    ),
    Family(
        "vllm:engine_sleep_state",
        "gauge",
        "Engine sleep state; awake = 0 means engine is sleeping; awake = 1 means engine is awake; weights_offloaded = 1 means sleep level 1; discard_all = 1 means sleep level 2.",
        sleep_state,
    ),
    Family(
        "vllm:kv_cache_usage_perc",
        "gauge",
        "KV-cache usage. 1 means 100 percent usage.",
        gauge(lambda sample: sample.kv_cache_usage_perc),
    ),
    Family(
        "vllm:prefix_cache_queries_total",
        "counter",
        "Prefix cache queries, in terms of number of queried tokens.",
        counter("prefix_cache_queries"),
    ),
    Family(
        "vllm:prefix_cache_hits_total",
        "counter",
        "Prefix cache hits, in terms of number of cached tokens.",
        counter("prefix_cache_hits"),
    ),
    Family(
        "vllm:external_prefix_cache_queries_total",
        "counter",
        "External prefix cache queries from KV connector cross-instance cache sharing, in terms of number of queried tokens.",
        zero,
    ),
    Family(
        "vllm:external_prefix_cache_hits_total",
        "counter",
        "External prefix cache hits from KV connector cross-instance cache sharing, in terms of number of cached tokens.",
        zero,
    ),
    Family(
        "vllm:mm_cache_queries_total",
        "counter",
        "Multi-modal cache queries, in terms of number of queried items.",
        zero,
    ),
    Family(
        "vllm:mm_cache_hits_total",
        "counter",
        "Multi-modal cache hits, in terms of number of cached items.",
        zero,
    ),
    Family(
        "vllm:num_preemptions_total",
        "counter",
        "Cumulative number of preemption from the engine.",
        counter("preemptions_reported"),
    ),
    Family(
        "vllm:prompt_tokens_total",
        "counter",
        "Number of prefill tokens processed.",
        counter("prompt_tokens"),
    ),
    Family(
        "vllm:prompt_tokens_by_source_total",
        "counter",
        "Number of prompt tokens by source.",
        prompt_tokens_by_source,
    ),
    Family(
        "vllm:prompt_tokens_cached_total",
        "counter",
        "Number of cached prompt tokens (local + external).",
        counter("prompt_tokens_cached"),
    ),
    Family(
        "vllm:prompt_tokens_cached_by_source_total",
        "counter",
        "Prefix-cache hit tokens by the cache tier that supplied them: device (local HBM), host (offloaded to DRAM), disk, p2p (transferred from another vLLM instance) or external_unspecified. Counted at admission; sums to vllm:prefix_cache_hits + vllm:external_prefix_cache_hits.",
        prompt_tokens_cached_by_source,
    ),
    Family(
        "vllm:generation_tokens_total",
        "counter",
        "Number of generation tokens processed.",
        counter("generation_tokens"),
    ),
    Family(
        "vllm:request_success_total",
        "counter",
        "Count of successfully processed requests.",
        request_success,
    ),
    Family(
        "vllm:admission_rejections_total",
        "counter",
        "Number of admission attempts rejected by a queue limit, by reason.",
        admission_rejections,
    ),
    _request_histogram(
        "prompt_tokens",
        "Number of prefill tokens processed.",
        token_bounds,
        lambda request: float(request.prompt_tokens),
    ),
    _request_histogram(
        "generation_tokens", "Number of generation tokens processed.", token_bounds, outputs
    ),
    Family(
        "vllm:iteration_tokens_total",
        "histogram",
        "Histogram of number of tokens per engine_step.",
        bounds=always(ITERATION_TOKENS_BUCKETS),
        counts="iteration_tokens_counts",
        # A prompt counts once, in the step of its first output: recompute is invisible.
        total=lambda scrape: scrape.since("prompt_tokens") + scrape.since("generation_tokens"),
    ),
    _request_histogram(
        "max_num_generation_tokens",
        "Histogram of maximum number of requested generation tokens.",
        token_bounds,
        outputs,
    ),
    _request_histogram(
        "params_n",
        "Histogram of the n request parameter.",
        always(PARAMS_N_BUCKETS),
        lambda request: 1.0,
    ),
    _request_histogram(
        "params_max_tokens",
        "Histogram of the max_tokens request parameter.",
        token_bounds,
        lambda request: float(request.max_tokens),
    ),
    Family(
        "vllm:time_to_first_token_seconds",
        "histogram",
        "Histogram of time to first token in seconds.",
        bounds=always(TTFT_BUCKETS_S),
        counts="ttft_counts",
        total=lambda scrape: scrape.since("ttft_sum_s"),
    ),
    Family(
        "vllm:inter_token_latency_seconds",
        "histogram",
        "Histogram of inter-token latency in seconds.",
        bounds=always(ITL_BUCKETS_S),
        counts="itl_counts",
        total=lambda scrape: scrape.since("itl_sum_s"),
    ),
    _request_histogram(
        "time_per_output_token_seconds",
        "Histogram of time_per_output_token_seconds per request.",
        always(ITL_BUCKETS_S),
        time_per_output_token_s,
    ),
    Family(
        "vllm:e2e_request_latency_seconds",
        "histogram",
        "Histogram of e2e request latency in seconds.",
        bounds=_SECONDS,
        observe=lambda request: to_s((request.finish_ps or 0) - request.arrival_ps),
    ),
    _request_histogram(
        "queue_time_seconds",
        "Histogram of time spent in WAITING phase for request.",
        _SECONDS,
        queue_s,
    ),
    _request_histogram(
        "inference_time_seconds",
        "Histogram of time spent in RUNNING phase for request.",
        _SECONDS,
        lambda request: prefill_s(request) + decode_s(request),
    ),
    _request_histogram(
        "prefill_time_seconds",
        "Histogram of time spent in PREFILL phase for request.",
        _SECONDS,
        prefill_s,
    ),
    _request_histogram(
        "decode_time_seconds",
        "Histogram of time spent in DECODE phase for request.",
        _SECONDS,
        decode_s,
    ),
    _request_histogram(
        "num_preemptions",
        "Histogram of the number of times a request was preempted.",
        always(PREEMPTIONS_BUCKETS),
        lambda request: float(request.num_preemptions),
    ),
    _request_histogram(
        "prefill_kv_computed_tokens",
        "Histogram of new KV tokens computed during prefill (excluding cached tokens).",
        token_bounds,
        lambda request: float(request.prompt_tokens - request.cached_tokens),
    ),
    Family(
        "vllm:cache_config_info", "gauge", "Information of the LLMEngine CacheConfig", cache_config
    ),
)
BY_NAME = {family.name: family for family in FAMILIES}
