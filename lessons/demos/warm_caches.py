"""A benchmark that repeats its prompts: what the prefix cache spares it, against production.

Source: hits by ``lessons.exact.caches``; a prefilled token at the rate of the course's 70B, see its profile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lessons.demos.demo import Choice, Demo, Number, Readout, Shown
from lessons.demos.numbers import number, share, split_time, time
from lessons.demos.plots import Rule, Series, lines
from lessons.exact.caches import cached_tokens, loop_hits, lru_hits
from lessons.exact.draws import generator
from lessons.figures import Table
from lessons.quantities import LLAMA

if TYPE_CHECKING:
    from lessons.figures import Plot

POOL_TOKENS = LLAMA.usable_blocks * LLAMA.block_size
_SEED = 1
_POINTS = 16


def hit_rate(*, prompts: int, requests: int, order: str, held: int) -> float:
    """Return the share of ``requests`` over ``prompts`` that an empty cache of ``held`` prompts has seen before."""
    if order == "loop":
        return loop_hits(prompts, requests, held) / requests
    drawn = generator("benchmark prompts", _SEED).integers(prompts, size=requests).tolist()
    return lru_hits(drawn, held) / requests


def computed(
    *,
    prompts: int,
    requests: int,
    order: str,
    prompt_tokens: int,
    cache_tokens: int,
    production: int,
) -> Shown:
    """Return the mean prefill of a benchmark and of production."""
    held = cache_tokens // prompt_tokens
    hits = hit_rate(prompts=prompts, requests=requests, order=order, held=held)
    bench_s, real_s = (_prefill_s(prompt_tokens, each) for each in (hits, production / 100))
    counts = _counts(prompts, held)
    rates = [hit_rate(prompts=n, requests=requests, order=order, held=held) for n in counts]
    ratio = real_s / bench_s
    factor = f"{number(ratio, 1 if ratio >= 1 else 2)} times as much"
    says = (
        f"{share(hits)} of the benchmark's requests find their prompt in the cache, so a request costs "
        f"{time(bench_s)} of prefill; with {production} % in production it costs {time(real_s)}, {factor}. "
        f"The cache holds {held:,} prompts and the file has {prompts:,}."
    )
    return Shown(
        says=says,
        readouts=(
            Readout("Benchmark, prefill", *split_time(bench_s), f"{share(hits)} hits"),
            Readout("Production, prefill", *split_time(real_s), f"{production} % hits", "truth"),
            Readout("Cache holds", f"{held:,}", "prompts", f"of {prompts:,} in the file"),
        ),
        plots=(_plot(counts, rates, prompts, held, production),),
        table=Table(
            "Hits and mean prefill by the number of different prompts",
            ("Prompts in the file", "Hits, %", "Prefill, ms"),
            [
                (f"{n:,}", number(100 * rate, 1), number(1e3 * _prefill_s(prompt_tokens, rate), 1))
                for n, rate in zip(counts, rates, strict=True)
            ],
        ),
        method=(
            f"An empty cache of whole blocks that drops the least recently used; {LLAMA.prefill_ms_per_token} ms of "
            "prefill a token, a 70B on four GPUs. Output tokens and running requests would make the cache smaller. "
            "Production's hit rate is what you set."
        ),
    )


def _prefill_s(prompt_tokens: int, hits: float) -> float:
    """Return the mean prefill of a request, seconds, if a share ``hits`` of requests is in the cache."""
    left = prompt_tokens - hits * cached_tokens(prompt_tokens)
    return left * LLAMA.prefill_ms_per_token / 1e3


def _counts(prompts: int, held: int) -> list[int]:
    """Return the numbers of prompts to draw: to twice what fits, the cliff and the reader's own among them."""
    most = max(2 * held, round(prompts * 1.2), 10)
    even = {max(1, round(most * n / _POINTS)) for n in range(_POINTS + 1)}
    return sorted(even | {prompts, max(1, held), held + 1})


def _plot(counts: list[int], rates: list[float], prompts: int, held: int, production: int) -> Plot:
    here = rates[counts.index(prompts)]
    return lines(
        "Hit rate by size of the file",
        "% of requests",
        f"Hit rate from {share(rates[0])} with {counts[0]} prompts to {share(rates[-1])} with {counts[-1]:,}; "
        f"at yours, {prompts:,}, it is {share(here)}. The cache holds {held:,}.",
        [Series("bench", "c1", counts, [100 * rate for rate in rates])],
        x_title="different prompts in the file",
        y_range=(0, 110),
        rules=(
            Rule(prompts, "yours", is_vertical=True),
            Rule(production, "production", colour="edge"),
        ),
    )


DEMO = Demo(
    id="warm-caches",
    title="A file of prompts, sent more than once",
    controls=(
        Number("prompts", "Prompts in the file", "", 10, 1_000, 10, 100),
        Number("requests", "Requests of the run", "", 100, 2_000, 100, 1_000),
        Choice(
            "order",
            "Order",
            (("random", "drawn at random"), ("loop", "the file, again and again")),
            "random",
        ),
        Number("prompt_tokens", "Each prompt has", "tokens", 256, 8_192, 64, 2_048),
        Number("cache_tokens", "The cache holds", "tokens", 16_384, 1_048_576, 16_384, POOL_TOKENS),
        Number("production", "Hits in production", "% of requests", 0, 95, 1, 20),
    ),
    compute=computed,
)
