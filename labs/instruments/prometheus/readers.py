"""What a family reads: of a scrape, its values by label; of a request that finished, what is observed of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.simulator.request import to_s

if TYPE_CHECKING:
    from collections.abc import Callable

    from labs.instruments.prometheus.scrapes import Scrape
    from labs.simulator.config import EngineConfig
    from labs.simulator.request import Request
    from labs.simulator.telemetry import Sample

type Labels = tuple[tuple[str, str], ...]
"""Pairs of a label's name and value, in the order of the names."""
type Values = tuple[tuple[Labels, float], ...]


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


def always(bounds: tuple[float, ...]) -> Callable[[EngineConfig], tuple[float, ...]]:
    """Return the same bounds whatever the config."""
    return lambda config: bounds


def gauge(read: Callable[[Sample], float]) -> Callable[[Scrape], Values]:
    """Read a gauge of the sample."""
    return lambda scrape: ((server(scrape), float(read(scrape.sample))),)


def counter(name: str) -> Callable[[Scrape], Values]:
    """Read a counter of the sample, since the process began."""
    return lambda scrape: ((server(scrape), scrape.since(name)),)


def zero(scrape: Scrape) -> Values:
    """Read 0: nothing of this engine moves it."""
    return ((server(scrape), 0.0),)


def waiting_by_reason(scrape: Scrape) -> Values:
    """Read the waiting requests; none is deferred here."""
    return (
        (server(scrape, reason="capacity"), float(scrape.sample.waiting)),
        (server(scrape, reason="deferred"), 0.0),
    )


def sleep_state(scrape: Scrape) -> Values:
    """Read that the engine is awake."""
    states = (("awake", 1.0), ("weights_offloaded", 0.0), ("discard_all", 0.0))
    return tuple((server(scrape, sleep_state=state), value) for state, value in states)


def prompt_tokens_by_source(scrape: Scrape) -> Values:
    """Read the prompts that have an output, by where their KV came from."""
    cached = scrape.since("prompt_tokens_cached")
    values = (
        ("local_compute", scrape.since("prompt_tokens") - cached),
        ("local_cache_hit", cached),
        ("external_kv_transfer", 0.0),
    )
    return tuple((server(scrape, source=source), value) for source, value in values)


def prompt_tokens_cached_by_source(scrape: Scrape) -> Values:
    """Read the tokens that admissions found in the cache: all in HBM."""
    # Counted at admission: it sums to the hits, not to the cached tokens of prompts that have an output.
    sources = ("device", "host", "p2p", "disk", "external_unspecified")
    hits = scrape.since("prefix_cache_hits")
    return tuple(
        (server(scrape, source=source), hits if source == "device" else 0.0) for source in sources
    )


def request_success(scrape: Scrape) -> Values:
    """Read the finished requests by reason."""
    # Only finished requests are counted; what a request of this simulator ends with is its length.
    reasons = ("stop", "length", "abort", "error", "repetition")
    return tuple(
        (
            server(scrape, finished_reason=reason),
            scrape.since("finished") if reason == "length" else 0.0,
        )
        for reason in reasons
    )


def admission_rejections(scrape: Scrape) -> Values:
    """Read what the queue limits rejected."""
    counts = {"max_num_queued_reqs": float(scrape.rejections), "max_num_queued_tokens": 0.0}
    return tuple(
        ((("model_name", scrape.model_name), ("reason", reason)), count)
        for reason, count in counts.items()
    )


def cache_config(scrape: Scrape) -> Values:
    """Read the description of the pool: 1, with everything in the labels."""
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


def time_per_output_token_s(request: Request) -> float:
    """Return the mean time between outputs, seconds; 0 of a single output."""
    after_first = request.num_output_tokens - 1
    return decode_s(request) / after_first if after_first else 0.0


def queue_s(request: Request) -> float:
    """Return the first wait, seconds."""
    # Up to one step more than vLLM's own, whose clock starts when a step lets the request in.
    return to_s((request.first_scheduled_ps or 0) - request.arrival_ps)


def prefill_s(request: Request) -> float:
    """Return from the first admission to the first output, seconds."""
    return to_s((request.first_token_ps or 0) - (request.first_scheduled_ps or 0))


def decode_s(request: Request) -> float:
    """Return from the first output to the last, seconds."""
    # A stall after a preemption, with its second wait, lies in here: the queue time has only the first.
    return to_s((request.last_token_ps or 0) - (request.first_token_ps or 0))


def outputs(request: Request) -> float:
    """Return the outputs."""
    return float(request.num_output_tokens)
