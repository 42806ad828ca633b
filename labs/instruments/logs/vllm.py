"""The engine's log, as vLLM 0.32 prints it: a line every ten seconds, none about preemptions."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from labs.instruments.logs.entries import Entry, Settings
from labs.instruments.logs.lifetime import lives_lines
from labs.instruments.prometheus.scrapes import process_at
from labs.instruments.signals import sample_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from labs.instruments.signals import View
    from labs.simulator.engine import Engine
    from labs.simulator.request import Request
    from labs.simulator.telemetry import StepRecord

EVERY_S = 10
"""VLLM_LOG_STATS_INTERVAL's default."""
KEPT_S = 900
RECENT_REQUESTS = 1000
"""Over so many admissions vLLM's log takes the hit rate of the prefix cache."""


def engine_log(view: View, replica: int = 0, settings: Settings | None = None) -> str:
    """Return the last fifteen minutes of a replica's log: throughput, starts and ends, aborts if they are told."""
    settings = settings or Settings()
    engine = view.cluster.engines[replica]
    stops = [each for each in view.cluster.front.stops if each.replica == replica]
    entries = [
        *_stats(view, engine),
        *_within(view, lives_lines(engine, view.cluster.memory.get(replica), settings, stops)),
        *(_within(view, _aborts(engine)) if settings.log_requests else ()),
    ]
    return "\n".join(str(entry) for entry in sorted(entries, key=lambda entry: entry.t_s))


def _within(view: View, entries: Iterable[Entry]) -> Iterator[Entry]:
    return (entry for entry in entries if view.now_s - KEPT_S < entry.t_s <= view.now_s)


def _stats(view: View, engine: Engine) -> Iterator[Entry]:
    last = int(view.now_s // EVERY_S) * EVERY_S
    admitted = sorted(
        (r for r in engine.requests if r.first_scheduled_ps is not None),
        key=lambda request: (request.first_scheduled_s or 0.0, request.index),
    )
    was_quiet = True
    for t_s in range(last - KEPT_S + EVERY_S, last + EVERY_S, EVERY_S):
        after, before = sample_at(engine, t_s), sample_at(engine, t_s - EVERY_S)
        if after is None or before is None or after is before or process_at(engine, t_s) is None:
            continue
        prompt = (after.prompt_tokens - before.prompt_tokens) / EVERY_S
        generated = (after.generation_tokens - before.generation_tokens) / EVERY_S
        is_quiet = not prompt and not generated
        # A quiet interval is told once; after it, only at DEBUG.
        if is_quiet and was_quiet and not after.running + after.waiting:
            continue
        was_quiet = is_quiet
        yield Entry(
            t_s,
            "INFO",
            "loggers.py:335",
            f"Engine 000: Avg prompt throughput: {prompt:.1f} tokens/s, "
            f"Avg generation throughput: {generated:.1f} tokens/s, Running: {after.running} reqs, "
            f"Waiting: {after.waiting} reqs, GPU KV cache usage: {100 * after.kv_cache_usage_perc:.1f}%, "
            f"Prefix cache hit rate: {100 * _hit_rate(admitted, t_s):.1f}%",
        )


def _hit_rate(admitted: Sequence[Request], t_s: float) -> float:
    """Return the share of prompt tokens that the last thousand admissions before ``t_s`` found in the cache."""
    end = bisect_left(admitted, t_s, key=lambda request: request.first_scheduled_s or 0.0)
    recent = admitted[max(0, end - RECENT_REQUESTS) : end]
    queried = sum(request.prompt_tokens for request in recent)
    return sum(request.cached_tokens for request in recent) / queried if queried else 0.0


def _aborts(engine: Engine) -> Iterator[Entry]:
    for request in engine.requests:
        if request.finish_reason == "abort" and request.finish_s is not None:
            yield Entry(
                request.finish_s,
                "INFO",
                "async_llm.py:922",
                f"Aborted request(s) {request.request_id}.",
            )
            yield Entry(
                request.finish_s,
                "INFO",
                "async_llm.py:783",
                f"Request {request.request_id} aborted.",
            )


def iteration_lines(records: Iterable[StepRecord]) -> Iterator[str]:
    """Return the line of each step that ``--enable-logging-iteration-details`` adds, from steps one by one.

    Requests in prefill are those scheduled less those that decode, each of which has one token.
    """
    for record in records:
        decoding = record.scheduled_tokens - record.prefill_tokens
        prefilling = max(record.running + len(record.finished) - decoding, 0)
        if record.prefill_tokens:
            prefilling = max(1, prefilling)
        yield str(
            Entry(
                record.end_s,
                "INFO",
                "core.py:470",
                f"Iteration({record.step}): {prefilling if record.prefill_tokens else 0} context requests, "
                f"{record.prefill_tokens} context tokens, {decoding} generation requests, "
                f"{decoding} generation tokens, iteration elapsed time: "
                f"{1000 * (record.end_s - record.start_s):.2f} ms",
            )
        )
