"""The 39 metric families of a vLLM 0.32 server, in the order of its page, and where each takes its values.

Names, types, labels, buckets and help texts are those that a running server printed; a test holds them to its page.
What a text model without speculative decoding, LoRA, offloading or MFU metrics leaves at 0 is 0 here as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from labs.simulator.request import to_s
from labs.simulator.telemetry import ITERATION_TOKENS_BUCKETS, ITL_BUCKETS_S, TTFT_BUCKETS_S

if TYPE_CHECKING:
    from labs.instruments.prometheus.scrapes import Scrape
    from labs.simulator.config import EngineConfig
    from labs.simulator.request import Request
    from labs.simulator.telemetry import Sample

type Labels = tuple[tuple[str, str], ...]
"""Pairs of a label's name and value, in the order of the names."""
type Values = tuple[tuple[Labels, float], ...]

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
        return (
            ""
            if self.kind == "gauge"
            else f"{self.name.removesuffix('_total') if self.kind == 'counter' else self.name}_created"
        )


def server(scrape: Scrape, **more: str) -> Labels:
    """Return the labels that nearly every series has, and ``more``, in the order of their names."""
    return tuple(sorted({"engine": "0", "model_name": scrape.model_name, **more}.items()))


def token_bounds(config: EngineConfig) -> tuple[float, ...]:
    """Return vLLM's buckets of token counts: 1, 2, 5, 10, 20... up to ``max_model_len``."""
    bounds: list[float] = []
    decade = 1
    while decade <= config.max_model_len:
        bounds += [step * decade for step in (1, 2, 5) if step * decade <= config.max_model_len]
        decade *= 10
    return tuple(bounds)


def _always(bounds: tuple[float, ...]) -> Callable[[EngineConfig], tuple[float, ...]]:
    return lambda config: bounds


def _gauge(read: Callable[[Sample], float]) -> Callable[[Scrape], Values]:
    return lambda scrape: ((server(scrape), float(read(scrape.sample))),)


def _counter(name: str) -> Callable[[Scrape], Values]:
    return lambda scrape: ((server(scrape), scrape.since(name)),)


def _zero(scrape: Scrape) -> Values:
    return ((server(scrape), 0.0),)


def _waiting_by_reason(scrape: Scrape) -> Values:
    return (
        (server(scrape, reason="capacity"), float(scrape.sample.waiting)),
        (server(scrape, reason="deferred"), 0.0),
    )


def _sleep_state(scrape: Scrape) -> Values:
    states = (("awake", 1.0), ("weights_offloaded", 0.0), ("discard_all", 0.0))
    return tuple((server(scrape, sleep_state=state), value) for state, value in states)


def _prompt_tokens_by_source(scrape: Scrape) -> Values:
    cached = scrape.since("prompt_tokens_cached")
    values = (
        ("local_compute", scrape.since("prompt_tokens") - cached),
        ("local_cache_hit", cached),
        ("external_kv_transfer", 0.0),
    )
    return tuple((server(scrape, source=source), value) for source, value in values)


def _prompt_tokens_cached_by_source(scrape: Scrape) -> Values:
    # Counted at admission: it sums to the hits, not to the cached tokens of prompts that have an output.
    sources = ("device", "host", "p2p", "disk", "external_unspecified")
    hits = scrape.since("prefix_cache_hits")
    return tuple(
        (server(scrape, source=source), hits if source == "device" else 0.0) for source in sources
    )


def _request_success(scrape: Scrape) -> Values:
    # Only finished requests are counted; what a request of this simulator ends with is its length.
    reasons = ("stop", "length", "abort", "error", "repetition")
    return tuple(
        (
            server(scrape, finished_reason=reason),
            scrape.since("finished") if reason == "length" else 0.0,
        )
        for reason in reasons
    )


def _admission_rejections(scrape: Scrape) -> Values:
    counts = {"max_num_queued_reqs": float(scrape.rejections), "max_num_queued_tokens": 0.0}
    return tuple(
        ((("model_name", scrape.model_name), ("reason", reason)), count)
        for reason, count in counts.items()
    )


def _cache_config(scrape: Scrape) -> Values:
    config = scrape.engine.config
    tokens = config.usable_blocks * config.block_size
    labels = {
        "_block_size_resolved": "True", "block_size": str(config.block_size),
        "cache_dtype": "fp8" if scrape.fp8_kv else "auto", "cache_hit_alignment_tokens": "None",
        "effective_attention_block_size": str(config.block_size),
        "enable_mamba_shared_prefix_checkpoint": "False",
        "enable_prefix_caching": str(config.enable_prefix_caching), "engine": "0",
        "gpu_memory_utilization": "0.92", "hash_block_size": "None", "is_attention_free": "False",
        "kv_cache_dtype_skip_layers": "[]", "kv_cache_layout": "None",
        "kv_cache_max_concurrency": str(tokens / config.max_model_len), "kv_cache_memory_bytes": "None",
        "kv_cache_size_tokens": str(tokens), "kv_offloading_backend": "native",
        "kv_offloading_size": "None", "kv_sharing_fast_prefill": "False", "mamba_block_size": "None",
        "mamba_cache_dtype": "auto", "mamba_cache_mode": "none", "mamba_page_size_padded": "None",
        "mamba_ssm_cache_dtype": "auto", "num_cpu_blocks": "None",
        "num_gpu_blocks": str(config.num_gpu_blocks), "num_gpu_blocks_override": "None",
        "prefix_cache_retention_interval": "0", "prefix_caching_hash_algo": "sha256",
        "prefix_match_unit": "None", "replayssm_buffer_len": "16", "skip_page_size_padded": "None",
        "sliding_window": "None", "swa_bounded_replay": "True", "use_kda_recoverssm": "False",
        "use_replayssm": "False", "user_specified_block_size": "False",
    }  # fmt: skip
    return ((tuple(labels.items()), 1.0),)


def _time_per_output_token_s(request: Request) -> float:
    after_first = request.num_output_tokens - 1
    return _decode_s(request) / after_first if after_first else 0.0


def _queue_s(request: Request) -> float:
    # Up to one step more than vLLM's own, whose clock starts when a step lets the request in.
    return to_s((request.first_scheduled_ps or 0) - request.arrival_ps)


def _prefill_s(request: Request) -> float:
    return to_s((request.first_token_ps or 0) - (request.first_scheduled_ps or 0))


def _decode_s(request: Request) -> float:
    # A stall after a preemption, with its second wait, lies in here: the queue time has only the first.
    return to_s((request.last_token_ps or 0) - (request.first_token_ps or 0))


def _outputs(request: Request) -> float:
    return float(request.num_output_tokens)


def _request_histogram(
    name: str,
    help_text: str,
    bounds: Callable[[EngineConfig], tuple[float, ...]],
    observe: Callable[[Request], float],
) -> Family:
    return Family(f"vllm:request_{name}", "histogram", help_text, bounds=bounds, observe=observe)


_SECONDS = _always(REQUEST_SECONDS_BUCKETS)
_FLOPS_PER_GPU = "Estimated number of {} per GPU (for Model Flops Utilization calculations)."

FAMILIES: tuple[Family, ...] = (
    Family(
        "vllm:estimated_flops_per_gpu_total",
        "counter",
        _FLOPS_PER_GPU.format("floating point operations"),
        _zero,
    ),
    Family(
        "vllm:estimated_read_bytes_per_gpu_total",
        "counter",
        _FLOPS_PER_GPU.format("bytes read from memory"),
        _zero,
    ),
    Family(
        "vllm:estimated_write_bytes_per_gpu_total",
        "counter",
        _FLOPS_PER_GPU.format("bytes written to memory"),
        _zero,
    ),
    Family(
        "vllm:num_requests_running",
        "gauge",
        "Number of requests in model execution batches.",
        _gauge(lambda sample: sample.running),
    ),
    Family(
        "vllm:num_requests_waiting",
        "gauge",
        "Number of requests waiting to be processed.",
        _gauge(lambda sample: sample.waiting),
    ),
    Family(
        "vllm:num_requests_waiting_by_reason",
        "gauge",
        "Number of waiting requests by reason. Reason labels: 'capacity' = waiting for scheduling capacity; 'deferred' = deferred by transient constraints (LoRA budget, KV transfer, blocked status). Sum of all reasons equals vllm:num_requests_waiting.",
        _waiting_by_reason,
    ),
    Family(
        "vllm:engine_sleep_state",
        "gauge",
        "Engine sleep state; awake = 0 means engine is sleeping; awake = 1 means engine is awake; weights_offloaded = 1 means sleep level 1; discard_all = 1 means sleep level 2.",
        _sleep_state,
    ),
    Family(
        "vllm:kv_cache_usage_perc",
        "gauge",
        "KV-cache usage. 1 means 100 percent usage.",
        _gauge(lambda sample: sample.kv_cache_usage_perc),
    ),
    Family(
        "vllm:prefix_cache_queries_total",
        "counter",
        "Prefix cache queries, in terms of number of queried tokens.",
        _counter("prefix_cache_queries"),
    ),
    Family(
        "vllm:prefix_cache_hits_total",
        "counter",
        "Prefix cache hits, in terms of number of cached tokens.",
        _counter("prefix_cache_hits"),
    ),
    Family(
        "vllm:external_prefix_cache_queries_total",
        "counter",
        "External prefix cache queries from KV connector cross-instance cache sharing, in terms of number of queried tokens.",
        _zero,
    ),
    Family(
        "vllm:external_prefix_cache_hits_total",
        "counter",
        "External prefix cache hits from KV connector cross-instance cache sharing, in terms of number of cached tokens.",
        _zero,
    ),
    Family(
        "vllm:mm_cache_queries_total",
        "counter",
        "Multi-modal cache queries, in terms of number of queried items.",
        _zero,
    ),
    Family(
        "vllm:mm_cache_hits_total",
        "counter",
        "Multi-modal cache hits, in terms of number of cached items.",
        _zero,
    ),
    Family(
        "vllm:num_preemptions_total",
        "counter",
        "Cumulative number of preemption from the engine.",
        _counter("preemptions_reported"),
    ),
    Family(
        "vllm:prompt_tokens_total",
        "counter",
        "Number of prefill tokens processed.",
        _counter("prompt_tokens"),
    ),
    Family(
        "vllm:prompt_tokens_by_source_total",
        "counter",
        "Number of prompt tokens by source.",
        _prompt_tokens_by_source,
    ),
    Family(
        "vllm:prompt_tokens_cached_total",
        "counter",
        "Number of cached prompt tokens (local + external).",
        _counter("prompt_tokens_cached"),
    ),
    Family(
        "vllm:prompt_tokens_cached_by_source_total",
        "counter",
        "Prefix-cache hit tokens by the cache tier that supplied them: device (local HBM), host (offloaded to DRAM), disk, p2p (transferred from another vLLM instance) or external_unspecified. Counted at admission; sums to vllm:prefix_cache_hits + vllm:external_prefix_cache_hits.",
        _prompt_tokens_cached_by_source,
    ),
    Family(
        "vllm:generation_tokens_total",
        "counter",
        "Number of generation tokens processed.",
        _counter("generation_tokens"),
    ),
    Family(
        "vllm:request_success_total",
        "counter",
        "Count of successfully processed requests.",
        _request_success,
    ),
    Family(
        "vllm:admission_rejections_total",
        "counter",
        "Number of admission attempts rejected by a queue limit, by reason.",
        _admission_rejections,
    ),
    _request_histogram(
        "prompt_tokens",
        "Number of prefill tokens processed.",
        token_bounds,
        lambda request: float(request.prompt_tokens),
    ),
    _request_histogram(
        "generation_tokens", "Number of generation tokens processed.", token_bounds, _outputs
    ),
    Family(
        "vllm:iteration_tokens_total",
        "histogram",
        "Histogram of number of tokens per engine_step.",
        bounds=_always(ITERATION_TOKENS_BUCKETS),
        counts="iteration_tokens_counts",
        # A prompt counts once, in the step of its first output: recompute is invisible.
        total=lambda scrape: scrape.since("prompt_tokens") + scrape.since("generation_tokens"),
    ),
    _request_histogram(
        "max_num_generation_tokens",
        "Histogram of maximum number of requested generation tokens.",
        token_bounds,
        _outputs,
    ),
    _request_histogram(
        "params_n",
        "Histogram of the n request parameter.",
        _always(PARAMS_N_BUCKETS),
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
        bounds=_always(TTFT_BUCKETS_S),
        counts="ttft_counts",
        total=lambda scrape: scrape.since("ttft_sum_s"),
    ),
    Family(
        "vllm:inter_token_latency_seconds",
        "histogram",
        "Histogram of inter-token latency in seconds.",
        bounds=_always(ITL_BUCKETS_S),
        counts="itl_counts",
        total=lambda scrape: scrape.since("itl_sum_s"),
    ),
    _request_histogram(
        "time_per_output_token_seconds",
        "Histogram of time_per_output_token_seconds per request.",
        _always(ITL_BUCKETS_S),
        _time_per_output_token_s,
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
        _queue_s,
    ),
    _request_histogram(
        "inference_time_seconds",
        "Histogram of time spent in RUNNING phase for request.",
        _SECONDS,
        lambda request: _prefill_s(request) + _decode_s(request),
    ),
    _request_histogram(
        "prefill_time_seconds",
        "Histogram of time spent in PREFILL phase for request.",
        _SECONDS,
        _prefill_s,
    ),
    _request_histogram(
        "decode_time_seconds",
        "Histogram of time spent in DECODE phase for request.",
        _SECONDS,
        _decode_s,
    ),
    _request_histogram(
        "num_preemptions",
        "Histogram of the number of times a request was preempted.",
        _always(PREEMPTIONS_BUCKETS),
        lambda request: float(request.num_preemptions),
    ),
    _request_histogram(
        "prefill_kv_computed_tokens",
        "Histogram of new KV tokens computed during prefill (excluding cached tokens).",
        token_bounds,
        lambda request: float(request.prompt_tokens - request.cached_tokens),
    ),
    Family(
        "vllm:cache_config_info", "gauge", "Information of the LLMEngine CacheConfig", _cache_config
    ),
)
BY_NAME = {family.name: family for family in FAMILIES}
