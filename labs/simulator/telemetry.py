"""What an engine shows while it runs: gauges, counters and histograms, sampled on a grid."""

from dataclasses import dataclass

ITL_BUCKETS_S = (
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75,
    1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0,
)  # fmt: skip
"""Upper bounds of ``vllm:inter_token_latency_seconds``, vLLM 0.32.0; one more count for +Inf."""
TTFT_BUCKETS_S = (
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75,
    1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0,
)  # fmt: skip
"""Upper bounds of ``vllm:time_to_first_token_seconds``, vLLM 0.32.0."""
ITERATION_TOKENS_BUCKETS = (1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)
"""Upper bounds of ``vllm:iteration_tokens_total``, vLLM 0.32.0."""


@dataclass(slots=True, frozen=True)
class StepRecord:
    """One step, for those who listen. Token counts are whole; times are seconds."""

    step: int
    start_s: float
    end_s: float
    scheduled_tokens: int
    prefill_tokens: int
    kv_tokens: int
    """Tokens of KV that the step's requests read, those that it writes included."""
    running: int
    """After the step, the finished removed."""
    waiting: int
    free_blocks: int
    """After the step."""
    admitted: tuple[str, ...]
    """New and resumed requests, in order of admission."""
    preempted: tuple[str, ...]
    finished: tuple[str, ...]


@dataclass(slots=True, frozen=True)
class Sample:
    """What the engine's metrics read at ``t_s``.

    Gauges hold the value of the last step that ended at or before ``t_s``, as vLLM's do. All
    names without further word are cumulative since the engine began.
    """

    t_s: float
    running: int
    """Gauge, ``vllm:num_requests_running``."""
    waiting: int
    """Gauge, ``vllm:num_requests_waiting``; only arrivals that a step has seen."""
    kv_cache_usage_perc: float
    """Gauge, 0 to 1, ``vllm:kv_cache_usage_perc``; leaked blocks count as used."""
    leaked_blocks: int
    """Gauge; no metric of vLLM shows it."""
    oldest_waiting_s: float
    """Age in the queue of the request longest there, at ``t_s``; 0 if none waits."""
    max_prefill_tokens_in_step: int
    """Largest number of prefill tokens in one step since the sample before."""
    preemptions: int
    """As they happened. No metric of vLLM shows it."""
    preemptions_reported: int
    """``vllm:num_preemptions_total``: moves only with the victim's next output."""
    prompt_tokens: int
    """``vllm:prompt_tokens_total``: a prompt counts once, with its first output."""
    generation_tokens: int
    """``vllm:generation_tokens_total``."""
    computed_tokens: int
    """Tokens scheduled, recompute included."""
    prefill_tokens: int
    """Tokens scheduled by requests in prefill, recompute included."""
    recomputed_tokens: int
    kv_tokens_read: int
    """Sum over steps of the KV tokens read."""
    steps: int
    finished: int
    aborted: int
    busy_s: float
    """Time within steps; the rest is idle or down."""
    prefill_s: float
    """Share of ``busy_s`` that prefill tokens cost."""
    recompute_s: float
    """Share of ``prefill_s`` that recompute cost."""
    weight_read_s: float
    """Share of ``busy_s`` that reading the weights takes."""
    kv_read_s: float
    """Share of ``busy_s`` that reading KV takes."""
    collective_s: float
    """Share of ``busy_s`` in collectives, without the wait for the slowest rank; 0 where the cost does not say."""
    itl_counts: tuple[int, ...]
    """Observations per bucket of ``ITL_BUCKETS_S`` and +Inf; not summed over buckets."""
    ttft_counts: tuple[int, ...]
    """Observations per bucket of ``TTFT_BUCKETS_S`` and +Inf, the engine's own TTFT."""
    iteration_tokens_counts: tuple[int, ...]
    """Observations per bucket of ``ITERATION_TOKENS_BUCKETS`` and +Inf."""
    prefix_cache_queries: int = 0
    """``vllm:prefix_cache_queries_total``, tokens: prompts of first admissions."""
    prefix_cache_hits: int = 0
    """``vllm:prefix_cache_hits_total``, tokens."""
    prompt_tokens_cached: int = 0
    """``vllm:prompt_tokens_cached_total``: the part of ``prompt_tokens`` that was found in the cache."""
    itl_sum_s: float = 0.0
    """Sum of what ``itl_counts`` counts."""
    ttft_sum_s: float = 0.0
    """Sum of what ``ttft_counts`` counts."""


@dataclass(slots=True, frozen=True)
class Process:
    """One life of the server's process. Samples go on counting over restarts; its own counters begin at 0."""

    stopped_s: float
    """When the process before it stopped; for the first, when the engine began."""
    up_s: float
    """When it answers: from here on ``/metrics`` can be read."""
    base: Sample | None
    """What had been counted when it began; None for the first, which began with nothing."""
