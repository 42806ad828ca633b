"""The answers that the simulator gives to predictions, each with the chart that shows it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from labs.simulator.workload import offered_tokens
from lessons import quantities, simulations
from lessons.figures import Line, Table, plot
from lessons.quantities import ATLAS
from lessons.reveals import Reveal
from lessons.simulations import Traffic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lessons.simulations import Run, Steps

_WARM_S, _MEASURED_S = 720, 1200
DOUBLE_SEED = 11
CAP_SEEDS = (1, 2, 3, 4, 5, 6, 7, 8)
CAP_RPS = 0.55
_CAP_WARM_S = 300
"""As in the storm study: where demand exceeds the pool, the queue grows with every second."""
DRAIN_SEED = 3
GRACE_S = 30


def _times(warm_s: int) -> list[int]:
    return list(range(warm_s + 60, warm_s + _MEASURED_S + 1, 60))


def double_arrivals() -> Steps[Reveal]:
    """Compute the factor by which median TPOT grows when arrivals double."""
    end_s = _WARM_S + _MEASURED_S
    rates = (0.18, 0.36)
    runs: list[Run] = []
    for place, rate in enumerate(rates):
        run = simulations.start(
            Traffic(((0.0, rate),), DOUBLE_SEED), max_num_seqs=256, until_s=end_s
        )
        yield from simulations.advance(run, 0, end_s, before_s=place * end_s, total_s=2 * end_s)
        runs.append(run)
    low, high = (
        simulations.percentile(simulations.tpots_ms(run, _WARM_S, end_s), 0.5) for run in runs
    )
    samples = [simulations.window(run, _WARM_S, end_s) for run in runs]
    running = [sum(s.running for s in found) / len(found) for found in samples]
    times = _times(_WARM_S)
    x = [(t - _WARM_S) / 60 for t in times]
    steps = [
        [simulations.mean_step_ms(simulations.window(run, t - 60, t)) for t in times]
        for run in runs
    ]
    chart = plot(
        "TPOT", "ms per token, mean of each minute",
        f"TPOT over twenty minutes: about {low:.0f} ms at 0.18 requests a second, about {high:.0f} ms at 0.36.",
        [Line("0.36 /s", "c1", x, steps[1]), Line("0.18 /s", "c0", x, steps[0])],
        x_range=(0, 20), x_title="minutes", size="tall",
    )  # fmt: skip
    table = Table(
        "TPOT in milliseconds, two arrival rates",
        ("Minute", "0.18 /s", "0.36 /s"),
        [(f"{x[i]:.0f}", f"{steps[0][i]:.1f}", f"{steps[1][i]:.1f}") for i in range(3, len(x), 4)],
    )
    ratio = high / low
    return Reveal(
        answer=ratio,
        shown=f"{ratio:.2f}",
        beside=f"{low:.1f} to {high:.1f} ms",
        method=f"labs.simulator, atlas-70b, seed {DOUBLE_SEED}, 20 minutes at each rate",
        facts={
            "ratio": f"{ratio:.2f}",
            "low": f"{low:.1f}",
            "high": f"{high:.1f}",
            "low_running": f"{running[0]:.0f}",
            "high_running": f"{running[1]:.0f}",
            "running_ratio": f"{running[1] / running[0]:.1f}",
        },
        plots=(chart,),
        table=table,
    )


@dataclass(frozen=True)
class _Capped:
    """What one run with one cap measured over its window."""

    p95_s: float
    gap_s: float
    kv: float
    preemptions: int
    waiting: int
    tokens_per_s: float
    series: tuple[float, ...]
    """TTFT p95 over two minutes, each minute: one late request does not draw the line alone."""


def _capped(run: Run, end_s: int) -> _Capped:
    found = simulations.window(run, _CAP_WARM_S, end_s)
    windows = (simulations.ttfts_s(run, t - 120, t) for t in _times(_CAP_WARM_S))
    return _Capped(
        p95_s=simulations.percentile(simulations.ttfts_s(run, _CAP_WARM_S, end_s), 0.95),
        gap_s=simulations.percentile(simulations.gaps_s(run, _CAP_WARM_S, end_s), 0.95),
        kv=sum(sample.kv_cache_usage_perc for sample in found) / len(found),
        preemptions=found[-1].preemptions - found[0].preemptions,
        waiting=found[-1].waiting,
        tokens_per_s=(found[-1].generation_tokens - found[0].generation_tokens) / _MEASURED_S,
        series=tuple(simulations.percentile(w, 0.95) if w else 0.0 for w in windows),
    )


def cap() -> Steps[Reveal]:
    """Compute p95 TTFT under a cap of 28 where demand exceeds the pool, seconds."""
    end_s = _CAP_WARM_S + _MEASURED_S
    total_s = 2 * len(CAP_SEEDS) * end_s
    runs: dict[int, list[_Capped]] = {40: [], 28: []}
    wanted: list[float] = []
    done_s = 0
    for seed in CAP_SEEDS:
        traffic = Traffic(((0.0, CAP_RPS),), seed)
        for cap, found in runs.items():
            run = simulations.start(traffic, max_num_seqs=cap, until_s=end_s)
            yield from simulations.advance(run, 0, end_s, before_s=done_s, total_s=total_s)
            found.append(_capped(run, end_s))
            done_s += end_s
        wanted.append(
            offered_tokens(
                [r for r in traffic.requests(end_s) if r.arrival_s >= _CAP_WARM_S],
                step_s=quantities.step_ms(kv_tokens=112_000) / 1e3,
                window_s=_MEASURED_S,
            )
        )
    return _cap_reveal(runs, wanted)


def _cap_reveal(runs: Mapping[int, list[_Capped]], wanted: list[float]) -> Reveal:
    facts: dict[str, str] = {}
    for cap, found in runs.items():
        p95s = [run.p95_s for run in found]
        facts[f"p95_{cap}"] = f"{median(p95s):.0f}"
        facts[f"p95_least_{cap}"] = f"{min(p95s):.0f}"
        facts[f"p95_most_{cap}"] = f"{max(p95s):.0f}"
        facts[f"gap_{cap}"] = f"{median(run.gap_s for run in found):.2f}"
        facts[f"kv_{cap}"] = f"{median(run.kv for run in found):.2f}"
        facts[f"preemptions_{cap}"] = f"{median(run.preemptions for run in found):.0f}"
        facts[f"waiting_{cap}"] = f"{median(run.waiting for run in found):.0f}"
        facts[f"rate_{cap}"] = f"{median(run.tokens_per_s for run in found):.0f}"
    worse = sum(b.p95_s > a.p95_s for a, b in zip(runs[40], runs[28], strict=True))
    facts["worse"], facts["seeds"] = f"{worse}", f"{len(CAP_SEEDS)}"
    facts["wanted"] = f"{median(wanted):,.0f}"
    pool_tokens = ATLAS.usable_blocks * ATLAS.block_size
    facts["wanted_share"] = f"{100 * median(wanted) / pool_tokens:.0f} %"
    # The seed drawn is the one in the middle, so the chart looks like the number beside it.
    middle = sorted(range(len(CAP_SEEDS)), key=lambda i: runs[28][i].p95_s)[len(CAP_SEEDS) // 2]
    x = [(t - _CAP_WARM_S) / 60 for t in _times(_CAP_WARM_S)]
    left, capped = (runs[cap][middle].series for cap in (40, 28))
    chart = plot(
        "TTFT p95", f"s, over 2 min, the same traffic twice, seed {CAP_SEEDS[middle]}",
        f"TTFT p95 over twenty minutes. With the cap at 40 it ends at {left[-1]:.0f} seconds; "
        f"with the cap at 28 at {capped[-1]:.0f}.",
        [Line("cap 28", "c1", x, capped), Line("cap 40", "c0", x, left)],
        x_range=(0, 20), x_title="minutes", size="tall",
    )  # fmt: skip
    table = Table(
        "TTFT p95 in seconds, two caps",
        ("Minute", "Cap 28", "Cap 40"),
        [(f"{x[i]:.0f}", f"{capped[i]:.0f}", f"{left[i]:.0f}") for i in range(3, len(x), 4)],
    )
    p95 = {cap: median(run.p95_s for run in found) for cap, found in runs.items()}
    return Reveal(
        answer=p95[28],
        shown=f"{p95[28]:.0f}",
        beside=f"{p95[40]:.0f} s if left at 40",
        method=f"labs.simulator, atlas-70b, {len(CAP_SEEDS)} seeds, the median; 20 minutes after 5 of filling",
        facts=facts,
        plots=(chart,),
        table=table,
    )


def drain() -> Steps[Reveal]:
    """Compute the share of open streams that end within the grace period, per cent."""
    stop_s, end_s = 1800, 2100
    run = simulations.start(
        Traffic(((0.0, 0.36),), DRAIN_SEED), max_num_seqs=256, until_s=float(stop_s)
    )
    yield from simulations.advance(run, 0, stop_s, before_s=0, total_s=end_s)
    streams = simulations.running_at(run)
    yield from simulations.advance(run, stop_s, end_s, before_s=stop_s, total_s=end_s)
    ends = sorted((request.finish_s or end_s) - stop_s for request in streams)
    done = sum(end <= GRACE_S for end in ends)
    share = done / len(ends) * 100
    x = list(range(0, 181, 5))
    left = [float(sum(end > t for end in ends)) for t in x]
    chart = plot(
        "Streams still open", "after admission stops",
        f"Of {len(ends)} streams, {left[GRACE_S // 5]:.0f} are still open after {GRACE_S} seconds.",
        [Line("open", "c1", x, left)],
        x_range=(0, 180), x_title="seconds", mark_x=GRACE_S, size="tall",
    )  # fmt: skip
    table = Table(
        "Open streams after admission stops",
        ("Second", "Open"),
        [(f"{t}", f"{left[x.index(t)]:.0f}") for t in (0, 15, 30, 60, 90, 120, 150, 180)],
    )
    return Reveal(
        answer=share,
        shown=f"{share:.0f}",
        beside=f"{done} of {len(ends)} streams",
        method=f"labs.simulator, atlas-70b at 0.36 requests a second, seed {DRAIN_SEED}",
        facts={
            "streams": f"{len(ends)}",
            "done": f"{done}",
            "cut": f"{len(ends) - done}",
            "last": f"{ends[-1]:.0f}",
            "share": f"{share:.0f}",
        },
        plots=(chart,),
        table=table,
    )
