"""The engine's ``/metrics``, in Prometheus' text format, by vLLM 0.32's names, labels and buckets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.instruments.signals import sample_at
from labs.simulator.telemetry import ITERATION_TOKENS_BUCKETS, ITL_BUCKETS_S, TTFT_BUCKETS_S

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from labs.instruments.signals import View
    from labs.simulator.telemetry import Sample

LABELS = 'engine="0",model_name="atlas-70b"'

GAUGES = {
    "vllm:num_requests_running": "Number of requests in model execution batches.",
    "vllm:num_requests_waiting": "Number of requests waiting to be processed.",
    "vllm:kv_cache_usage_perc": "KV-cache usage. 1 means 100 percent usage.",
}
COUNTERS = {
    "vllm:num_preemptions_total": "Cumulative number of preemption from the engine.",
    "vllm:prompt_tokens_total": "Number of prefill tokens processed.",
    "vllm:generation_tokens_total": "Number of generation tokens processed.",
}
HISTOGRAMS = {
    "vllm:time_to_first_token_seconds": "Histogram of time to first token in seconds.",
    "vllm:inter_token_latency_seconds": "Histogram of inter-token latency in seconds.",
    "vllm:iteration_tokens_total": "Histogram of number of tokens per engine_step.",
}


def value_of(sample: Sample, metric: str) -> float:
    """Return a gauge or counter of a sample by its metric's name. Raises KeyError for another name."""
    return {
        "vllm:num_requests_running": float(sample.running),
        "vllm:num_requests_waiting": float(sample.waiting),
        "vllm:kv_cache_usage_perc": sample.kv_cache_usage_perc,
        "vllm:num_preemptions_total": float(sample.preemptions_reported),
        "vllm:prompt_tokens_total": float(sample.prompt_tokens),
        "vllm:generation_tokens_total": float(sample.generation_tokens),
        "vllm:request_success_total": float(sample.finished),
    }[metric]


def buckets_of(sample: Sample, metric: str) -> tuple[Sequence[float], Sequence[int]]:
    """Return a histogram's bounds and its counts per bucket (+Inf last). Raises KeyError for another name."""
    return {
        "vllm:time_to_first_token_seconds": (TTFT_BUCKETS_S, sample.ttft_counts),
        "vllm:inter_token_latency_seconds": (ITL_BUCKETS_S, sample.itl_counts),
        "vllm:iteration_tokens_total": (ITERATION_TOKENS_BUCKETS, sample.iteration_tokens_counts),
    }[metric]


def metrics_text(view: View) -> str:
    """Return what ``curl localhost:8000/metrics`` prints."""
    sample = sample_at(view.engine, view.now_s)
    return "\n".join(_lines(view, sample)) if sample is not None else ""


def _lines(view: View, sample: Sample) -> Iterator[str]:
    for metric, help_text in GAUGES.items():
        yield from _head(metric, help_text, "gauge")
        yield f"{metric}{{{LABELS}}} {value_of(sample, metric)}"
    yield from _head("vllm:cache_config_info", "Information of the LLMEngine CacheConfig", "gauge")
    config = view.engine.config
    yield (
        f'vllm:cache_config_info{{block_size="{config.block_size}",'
        f'cache_dtype="{"fp8" if view.fleet.fp8_kv else "auto"}",engine="0",'
        f'kv_cache_size_tokens="{config.usable_blocks * config.block_size}",'
        f'num_gpu_blocks="{config.num_gpu_blocks}"}} 1.0'
    )
    for metric, help_text in COUNTERS.items():
        yield from _head(metric, help_text, "counter")
        yield f"{metric}{{{LABELS}}} {value_of(sample, metric)}"
    yield from _head(
        "vllm:request_success_total", "Count of successfully processed requests.", "counter"
    )
    for reason in ("stop", "length", "abort", "error", "repetition"):
        count = float(sample.finished) if reason == "length" else 0.0
        yield f"vllm:request_success_total{{{LABELS.replace(',', f',finished_reason={chr(34)}{reason}{chr(34)},', 1)}}} {count}"
    for metric, help_text in HISTOGRAMS.items():
        yield from _head(metric, help_text, "histogram")
        bounds, counts = buckets_of(sample, metric)
        seen = 0
        for bound, count in zip((*bounds, None), counts, strict=True):
            seen += count
            le = "+Inf" if bound is None else str(float(bound))
            yield f'{metric}_bucket{{engine="0",le="{le}",model_name="atlas-70b"}} {float(seen)}'
        yield f"{metric}_count{{{LABELS}}} {float(seen)}"


def _head(metric: str, help_text: str, kind: str) -> Iterator[str]:
    yield f"# HELP {metric} {help_text}"
    yield f"# TYPE {metric} {kind}"
