"""The gateway's request log: who came, with what lengths, and what became of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.instruments.signals import (
    SIGNALS,
    gap_p95_at,
    offered_load,
    quantile,
    recent,
    sent_between,
    window_words,
)

if TYPE_CHECKING:
    from labs.instruments.signals import View

SHOWN_WAITING = 5


def summary(view: View, window_s: float) -> str:
    """Return arrivals, lengths and the KV tokens that they want, against the pool."""
    sent = sent_between(view.cluster, view.now_s - window_s, view.now_s)
    if not sent:
        return "no request arrived in this window"
    prompts = [float(request.prompt_tokens) for request in sent]
    outputs = [float(request.max_tokens) for request in sent]
    load = offered_load(view, window_s) or 0.0
    pool = view.fleet.pool_tokens * len(view.cluster.engines)
    life_s = sum(outputs) / len(outputs) * view.step_s
    token_steps = sum(o * (p + o / 2) for p, o in zip(prompts, outputs, strict=True)) / sum(outputs)
    rows = [
        ("arrivals", f"{len(sent)} in {window_words(window_s)}", f"{len(sent) / window_s:.3f} /s"),
        ("prompt tokens", f"mean {_mean(prompts):,.0f}", f"p95 {quantile(prompts, 0.95):,.0f}"),
        ("output tokens", f"mean {_mean(outputs):,.0f}", f"p95 {quantile(outputs, 0.95):,.0f}"),
        (
            "undelayed lifetime",
            f"{life_s:.1f} s",
            f"{_mean(outputs):,.0f} steps of {1000 * view.step_s:.1f} ms, pool full",
        ),
        ("tokens held", f"{token_steps:,.0f}", "prompt and half the answer"),
        ("tokens wanted", f"{load * pool:,.0f}", f"of {pool:,}: {load:.2f}"),
    ]
    return "\n".join(f"{name:20}{first:15}{second}" for name, first, second in rows)


def gaps(view: View) -> str:
    """Return the longest gap of each stream that was open in the last five minutes, as percentiles."""
    values: list[float] = []
    for request in recent(view.cluster, view.now_s - view.windows.panel_s, view.now_s):
        last_s = request.last_token_s
        if last_s is not None:
            silent_s = 0.0 if request.finish_s is not None else view.now_s - last_s
            values.append(max(request.longest_gap_s, silent_s))
    if not values:
        return "no stream was open in this window"
    p95 = gap_p95_at(view.cluster, view.now_s, view.windows.panel_s) or 0.0
    return (
        f"longest gap per stream, {len(values)} streams open in the last {window_words(view.windows.panel_s)}\n"
        f"p50 {quantile(values, 0.5):.2f} s    p95 {p95:.2f} s    max {max(values):.2f} s\n"
        f"over 1 s: {sum(value > 1 for value in values)} streams"
    )


def waiting(view: View) -> str:
    """Return how many wait and the longest-waiting of them."""
    depth, oldest = SIGNALS["queue_depth"](view), SIGNALS["queue_age_s"](view)
    rows = [f"waiting {depth or 0:.0f}    oldest {oldest or 0.0:.1f} s"]
    for request in list(view.engine.waiting)[:SHOWN_WAITING]:
        state = (
            f"{request.num_output_tokens} tokens sent, then evicted"
            if request.num_output_tokens
            else "no token yet"
        )
        rows.append(
            f"{request.request_id}  arrived {view.now_s - request.arrival_s:6.1f} s ago  prompt {request.prompt_tokens:5d}  {state}"
        )
    return "\n".join(rows)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
