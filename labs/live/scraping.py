"""What a real engine's ``/metrics`` says, as a ``Sample`` of the simulator's; and which families it lacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from prometheus_client.parser import text_string_to_metric_families

from labs.simulator.telemetry import (
    ITERATION_TOKENS_BUCKETS,
    ITL_BUCKETS_S,
    TTFT_BUCKETS_S,
    Sample,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

NEEDED = (
    "vllm:num_requests_running",
    "vllm:num_requests_waiting",
    "vllm:kv_cache_usage_perc",
    "vllm:num_preemptions",
    "vllm:prompt_tokens",
    "vllm:generation_tokens",
    "vllm:iteration_tokens_total",
    "vllm:time_to_first_token_seconds",
    "vllm:inter_token_latency_seconds",
    "vllm:request_success",
    "vllm:prefix_cache_queries",
    "vllm:prefix_cache_hits",
)
"""Families that the instruments of a lab read; counters without their ``_total``, as the client library names them."""


class OtherMetrics(Exception):  # noqa: N818
    """A page without families that the instruments need: another version of vLLM, or no vLLM. The text names them."""


@dataclass(frozen=True)
class Page:
    """One read of ``/metrics``: its text, and the value of every series by name and labels."""

    text: str
    values: Mapping[str, Mapping[tuple[tuple[str, str], ...], float]]
    families: frozenset[str]

    def total(self, name: str, **labels: str) -> float:
        """Return the sum over the series of a name with these labels; 0 if there is none."""
        wanted = set(labels.items())
        return sum(v for k, v in self.values.get(name, {}).items() if wanted <= set(k))

    def counts(self, family: str, bounds: Sequence[float]) -> tuple[int, ...]:
        """Return a histogram's observations per bucket and +Inf, not summed over buckets."""
        series = self.values.get(f"{family}_bucket", {})
        upto: dict[float, float] = {}
        for labels, value in series.items():
            bound = float(dict(labels)["le"])
            upto[bound] = upto.get(bound, 0.0) + value
        cumulative = [upto.get(float(bound), 0.0) for bound in (*bounds, float("inf"))]
        earlier = [0.0, *cumulative[:-1]]
        return tuple(round(b - a) for a, b in zip(earlier, cumulative, strict=True))


def read(text: str) -> Page:
    """Parse a page. Raises OtherMetrics for what is no Prometheus text, or lacks families that are needed."""
    values: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}
    families: set[str] = set()
    try:
        for family in text_string_to_metric_families(text):
            families.add(family.name)
            for each in family.samples:
                labels = tuple(sorted(each.labels.items()))
                values.setdefault(each.name, {})[labels] = each.value
    except (ValueError, KeyError, IndexError) as exc:
        raise OtherMetrics(f"/metrics is not in Prometheus' text format: {exc}") from exc
    page = Page(text, values, frozenset(families))
    missing = missing_of(page)
    if missing:
        names = ", ".join(missing)
        raise OtherMetrics(
            f"This engine's /metrics lacks {names}: it is not the vLLM that this course knows (0.32)."
        )
    return page


def missing_of(page: Page, needed: Iterable[str] = NEEDED) -> list[str]:
    """Return which families a page lacks."""
    return [name for name in needed if name not in page.families]


def sample_of(
    page: Page, t_s: float, *, oldest_waiting_s: float = 0.0, max_prefill_tokens: int = 0
) -> Sample:
    """Return a page as a sample at ``t_s``.

    What no metric of vLLM shows is 0 in it: leaked blocks, computed and recomputed tokens, the parts of a step's
    time. Instruments that need those read the engine's log, or say that this engine does not tell.
    """
    preemptions = round(page.total("vllm:num_preemptions_total"))
    iterations = page.counts("vllm:iteration_tokens_total", ITERATION_TOKENS_BUCKETS)
    success = round(page.total("vllm:request_success_total"))
    aborted = round(page.total("vllm:request_success_total", finished_reason="abort"))
    return Sample(
        t_s=t_s,
        running=round(page.total("vllm:num_requests_running")),
        waiting=round(page.total("vllm:num_requests_waiting")),
        kv_cache_usage_perc=page.total("vllm:kv_cache_usage_perc"),
        leaked_blocks=0,
        oldest_waiting_s=oldest_waiting_s,
        max_prefill_tokens_in_step=max_prefill_tokens,
        preemptions=preemptions,
        preemptions_reported=preemptions,
        prompt_tokens=round(page.total("vllm:prompt_tokens_total")),
        generation_tokens=round(page.total("vllm:generation_tokens_total")),
        computed_tokens=0,
        prefill_tokens=0,
        recomputed_tokens=0,
        kv_tokens_read=0,
        steps=sum(iterations),
        finished=success - aborted,
        aborted=aborted,
        busy_s=0.0,
        prefill_s=0.0,
        recompute_s=0.0,
        weight_read_s=0.0,
        kv_read_s=0.0,
        collective_s=0.0,
        itl_counts=page.counts("vllm:inter_token_latency_seconds", ITL_BUCKETS_S),
        ttft_counts=page.counts("vllm:time_to_first_token_seconds", TTFT_BUCKETS_S),
        iteration_tokens_counts=iterations,
        prefix_cache_queries=round(page.total("vllm:prefix_cache_queries_total")),
        prefix_cache_hits=round(page.total("vllm:prefix_cache_hits_total")),
        prompt_tokens_cached=round(page.total("vllm:prompt_tokens_cached_total")),
        itl_sum_s=page.total("vllm:inter_token_latency_seconds_sum"),
        ttft_sum_s=page.total("vllm:time_to_first_token_seconds_sum"),
    )
