"""The engine's log, as vLLM 0.32 prints it: a line every ten seconds, none about preemptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.instruments.gpus import time_of
from labs.instruments.signals import sample_at

if TYPE_CHECKING:
    from labs.instruments.signals import View

EVERY_S = 10
KEPT_S = 900


def engine_log(view: View) -> str:
    """Return the last fifteen minutes of the log, one throughput line every ten seconds."""
    lines: list[str] = []
    last = int(view.now_s // EVERY_S) * EVERY_S
    for t_s in range(last - KEPT_S + EVERY_S, last + EVERY_S, EVERY_S):
        after, before = sample_at(view.engine, t_s), sample_at(view.engine, t_s - EVERY_S)
        if after is None or before is None or after is before:
            continue
        if (
            after.running + after.waiting == 0
            and after.generation_tokens == before.generation_tokens
        ):
            continue
        prompt = (after.prompt_tokens - before.prompt_tokens) / EVERY_S
        generated = (after.generation_tokens - before.generation_tokens) / EVERY_S
        lines.append(
            f"INFO {time_of(t_s):%m-%d %H:%M:%S} [loggers.py:335] Engine 000: Avg prompt throughput: {prompt:.1f} tokens/s, "
            f"Avg generation throughput: {generated:.1f} tokens/s, Running: {after.running} reqs, Waiting: {after.waiting} reqs, "
            f"GPU KV cache usage: {100 * after.kv_cache_usage_perc:.1f}%, Prefix cache hit rate: 0.0%"
        )
    return "\n".join(lines)
