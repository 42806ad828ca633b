"""Drill 1.1: first tokens ten times later since a template deploy. What the tokenizer, the cache and a queue compute.

Both templates render the same conversation, and the ids are the encoder's own. What the cache finds follows from
chained blocks (``lessons.exact.tokens``); the wait from Pollaczek-Khinchine. Scenario constants: 0.071 ms of prefill a
token (70B at TP4, half of the BF16 peak), questions of 300 tokens more or less, service CV² 0.2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from lessons.drills.evidence import Observed
from lessons.exact.chat_templates import Options, conversation, tokenize
from lessons.exact.draws import generator
from lessons.exact.queueing import pollaczek_khinchine_s, service
from lessons.exact.tokens import first_difference

PREFILL_MS = 0.071
SERVICE_CV2 = 0.2
BLOCK = 16
WINDOW_S = 900
"""The alarm looks back a quarter of an hour."""
_DATES = ("5 January 2026", "Monday the 5th", "2026-01-05")
_SYSTEM_TOKENS = (2600, 2800, 3000, 3200)


@dataclass(frozen=True)
class Case:
    """One world: what a seed drew, and what ails it."""

    old_ids: int
    """Prompt tokens of the old render."""
    first_difference: int
    shared: int
    """Tokens that requests have in common as they are sent now."""
    own: int
    """Tokens of one's own."""
    lost_share: float
    """Share of the cached blocks that were evicted before they were asked for again."""
    render_ms: float
    """In front of the engine, template and tokenizer."""
    cold_s: float
    """Seconds of the window in which the cache was empty."""
    rate_rps: float
    util: float

    @property
    def cached(self) -> float:
        """Tokens found, per request, mean."""
        return BLOCK * (self.shared // BLOCK) * (1 - self.lost_share)

    def ttft_ms(self, *, cold: bool = False) -> float:
        """Return the mean time to first token, milliseconds: render, wait, prefill."""
        new = self.shared + self.own - (0.0 if cold else self.cached)
        prefill_s = new * PREFILL_MS / 1e3
        wait_s = pollaczek_khinchine_s(self.rate_rps, service(prefill_s, SERVICE_CV2))
        return self.render_ms + 1e3 * (wait_s + prefill_s)

    @property
    def alarm_ms(self) -> float:
        """The alarm's mean over its window, cold minutes and warm ones."""
        if not self.cold_s:
            return self.ttft_ms()
        share = self.cold_s / WINDOW_S
        return share * self.ttft_ms(cold=True) + (1 - share) * self.ttft_ms()


@lru_cache(maxsize=64)
def _renders(system_tokens: int, date: str, *, late: bool) -> tuple[int, int, int]:
    """Return tokens of the old render, the first place at which the new one differs, and the shared tokens."""
    said = conversation(system_tokens, "Where is my order?")
    old = tokenize("headers", said)
    new = tokenize("headers", said, Options(late_date=date) if late else Options(date=date))
    other = tokenize("headers", conversation(system_tokens, "May I return it?"))
    return len(old), first_difference(old, new) or 0, first_difference(old, other) or 0


def _case(world: str, seed: int) -> Case:
    rng = generator("drill-1.1", seed)
    system = _SYSTEM_TOKENS[int(rng.integers(len(_SYSTEM_TOKENS)))]
    date = _DATES[int(rng.integers(len(_DATES)))]
    own = float(rng.uniform(260, 340))
    rate = float(rng.uniform(1.6, 2.2))
    render = float(rng.uniform(1.5, 4.0))
    util = float(rng.uniform(96, 100))
    more = float(rng.uniform(2400, 3000))
    lost = float(rng.uniform(0.86, 0.95))
    slow = float(rng.uniform(230, 380))
    cold = float(rng.uniform(700, 860))
    old_ids, early, shared = _renders(system, date, late=False)
    late = _renders(system, date, late=True)[1]
    calm = Case(old_ids, late, shared, round(own), 0.0, render, 0.0, rate, util)
    match world:
        case "template":
            return replace(
                calm, first_difference=early, shared=early, own=round(own) + shared - early
            )
        case "longer":
            return replace(calm, own=round(own + more))
        case "evicted":
            return replace(calm, lost_share=lost)
        case "render":
            return replace(calm, render_ms=render + slow)
        case "cold":
            return replace(calm, cold_s=cold)
    raise KeyError(world)


_CURES = {
    "reorder": "template",
    "split": "longer",
    "pool": "evicted",
    "workers": "render",
    "leave": "cold",
}


def observe(world: str, seed: int, fix: str | None = None) -> Observed:
    """Return what a world reads. A fix that is not the world's changes nothing. Takes 0.02 s."""
    case = _case(world, seed)
    if fix is not None and _CURES[fix] == world:
        case = replace(_case("cold", seed), cold_s=0.0)
    hits = case.cached / (case.shared + case.own)
    now_ms = case.ttft_ms()
    values = {
        "ttft_15m_ms": case.alarm_ms,
        "ttft_1m_ms": now_ms,
        "first_difference_tokens": float(case.first_difference),
        "hit_share": hits,
        "prompt_tokens": float(case.shared + case.own),
        "lost_share": case.lost_share,
        "render_ms": case.render_ms,
        "gpu_util": case.util,
    }
    asked = case.rate_rps * 60 * (case.shared + case.own)
    prints = {
        "diff": (
            f"old render {case.old_ids} tokens; the new one differs first at token {case.first_difference}",
            f"whole blocks in front of it: {case.first_difference // BLOCK} of {case.old_ids // BLOCK}",
        ),
        "counters": (
            f"vllm:prefix_cache_queries_total  +{asked:,.0f} tokens in the last minute",
            f"vllm:prefix_cache_hits_total     +{asked * hits:,.0f}",
            f"hits / queries                   {hits:.2f}",
        ),
        "lengths": (f"mean prompt, last minute: {case.shared + case.own:,} tokens",),
        "evictions": (f"blocks evicted before their next use: {100 * case.lost_share:.0f} %",),
        "frontend": (
            f"template and tokenizer, mean: {case.render_ms:.1f} ms before the engine is asked",
        ),
        "last-minute": (
            f"mean TTFT, last minute: {now_ms:.0f} ms (the alarm's 15 minutes: {case.alarm_ms:.0f} ms)",
        ),
        "utilisation": (f"GPU utilisation: {case.util:.0f} %, and before the deploy 98 %",),
    }
    return Observed(values, prints)
