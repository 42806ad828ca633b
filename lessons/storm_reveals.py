"""What the simulator answers to predictions about a pool that runs full: whom, in which order, for how long. Pure."""

from __future__ import annotations

from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from labs.simulator.engine import Engine
from labs.simulator.request import Request
from labs.simulator.scheduler import EngineConfig
from lessons import simulations
from lessons.guesses import Axes
from lessons.quantities import ATLAS, BURST, EVICTED_BLOCKS, EVICTED_REQUESTS, OUTGROWN
from lessons.reveals import Reveal
from lessons.simulations import Traffic

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lessons.simulations import Run, Steps

# ------------------------------------------------------------------------------------- who is evicted

STREAMS = ("a", "b", "c", "d")
_LOOK_S = 0.25


def evicted() -> Steps[Reveal]:
    """Compute which of four running requests loses its blocks when a small pool runs full."""
    yield from ()
    config = EngineConfig(
        num_gpu_blocks=EVICTED_BLOCKS + 1,  # vLLM keeps one block for itself.
        max_num_seqs=len(STREAMS),
        max_num_batched_tokens=ATLAS.max_num_batched_tokens,
        max_model_len=ATLAS.max_model_len,
        block_size=ATLAS.block_size,
    )
    engine = Engine(config, ATLAS.cost_model())
    requests = {
        name: Request(name, float(arrival_s), prompt, output)
        for name, (arrival_s, prompt, output) in EVICTED_REQUESTS.items()
    }
    for request in requests.values():
        engine.submit(request)
    now_s, blocks = 0.0, dict.fromkeys(STREAMS, 0)
    while not any(request.num_preemptions for request in requests.values()):
        blocks = {name: request.num_blocks for name, request in requests.items()}
        now_s += _LOOK_S
        engine.advance(now_s)
    victim = next(name for name, request in requests.items() if request.num_preemptions)
    engine.advance(float(EVICTED_REQUESTS[victim][0] + 600))
    lost = requests[victim]
    return Reveal(
        answer=victim,
        method=f"labs.simulator, the scheduler of vLLM, a pool of {EVICTED_BLOCKS} blocks of 16",
        readings={name: f"held {held} blocks" for name, held in blocks.items()},
        facts={
            **{f"blocks_{name}": f"{held}" for name, held in blocks.items()},
            "second": f"{now_s:.0f}",
            "gap": f"{lost.longest_gap_s:.0f}",
            "recomputed": f"{lost.recomputed_tokens:,}",
            "came": f"{EVICTED_REQUESTS[victim][0]}",
        },
    )


# ------------------------------------------------------------------------------- the order of the graphs

GRAPHS = ("ttft", "kv", "preemptions", "running")
"""As the page lists them: what rings first, the rest as they come to mind."""
ORDER_SEEDS = (1, 2, 3, 4, 5, 6)
_ORDER_WARM_S, _ORDER_END_S = 600, 1_020
_ORDER_GRID_S = 5


def graphs_in_order() -> Steps[Reveal]:
    """Compute the order in which four graphs move once arrivals outgrow the pool."""
    total_s = len(ORDER_SEEDS) * _ORDER_END_S
    rates = ((0.0, OUTGROWN["low_rps"]), (_ORDER_WARM_S, OUTGROWN["high_rps"]))
    found: list[dict[str, float]] = []
    for place, seed in enumerate(ORDER_SEEDS):
        traffic = Traffic(rates, seed)
        run = simulations.start(traffic, max_num_seqs=64, until_s=_ORDER_END_S)
        yield from simulations.advance(
            run, 0, _ORDER_END_S, before_s=place * _ORDER_END_S, total_s=total_s
        )
        found.append(_moved_at(run))
    at_s = {name: median(each[name] for each in found) for name in GRAPHS}
    order = sorted(GRAPHS, key=at_s.__getitem__)
    # Two graphs may move between the same two looks; what counts is that none runs against the order.
    same = sum(all(each[a] <= each[b] for a, b in pairwise(order)) for each in found)
    return Reveal(
        answer=order,
        method=f"labs.simulator, atlas-70b, the median of {len(ORDER_SEEDS)} seeds; seconds after arrivals rise",
        readings={name: f"after {seconds:.0f} s" for name, seconds in at_s.items()},
        facts={
            **{name: f"{seconds:.0f}" for name, seconds in at_s.items()},
            "seeds": f"{len(ORDER_SEEDS)}",
            "same": f"{same}",
            "head_start": f"{at_s[order[-1]] - at_s[order[0]]:.0f}",
        },
    )


def _moved_at(run: Run) -> dict[str, float]:
    """Return when each graph moved, seconds after arrivals rose; it did not: the end of the run."""
    before = simulations.window(run, _ORDER_WARM_S - 300, _ORDER_WARM_S)
    usual = sum(sample.running for sample in before) / len(before)
    counted = before[-1].preemptions_reported
    after = [sample for sample in run.samples if sample.t_s >= _ORDER_WARM_S]
    never_s = _ORDER_END_S - _ORDER_WARM_S
    grid = range(_ORDER_GRID_S, never_s, _ORDER_GRID_S)
    return {
        "running": _first(((s.t_s, s.running >= 2 * usual) for s in after), never_s),
        "kv": _first(((s.t_s, s.kv_cache_usage_perc >= 0.95) for s in after), never_s),  # noqa: PLR2004
        "preemptions": _first(((s.t_s, s.preemptions_reported > counted) for s in after), never_s),
        "ttft": _first(((_ORDER_WARM_S + t, _is_late(run, t)) for t in grid), never_s),
    }


def _first(moved: Iterable[tuple[float, bool]], never_s: float) -> float:
    return next((at_s - _ORDER_WARM_S for at_s, is_so in moved if is_so), never_s)


def _is_late(run: Run, after_s: float) -> bool:
    end_s = _ORDER_WARM_S + after_s
    ttfts = simulations.ttfts_s(run, end_s - 60, end_s)
    return bool(ttfts) and simulations.percentile(ttfts, 0.95) > OUTGROWN["ttft_limit_s"]


# ------------------------------------------------------------------------------------ after the burst

BURST_SEEDS = (1, 2, 3)
_BEGINS, _ENDS = int(BURST["from_minute"]), int(BURST["to_minute"])
BURST_AXES = Axes(
    x_title="minutes", xs=tuple(range(0, 25, 3)), y_title="KV usage", unit="%",
    least=0, most=100, step=5, within=0.12,
)  # fmt: skip
_BURST_WARM_S = 300
_FULL = 0.9


def after_the_burst() -> Steps[Reveal]:
    """Compute KV usage before, in and after a burst of five minutes, per cent."""
    low, high = BURST["low_rps"], BURST["high_rps"]
    begin_s, stop_s = (_BURST_WARM_S + 60 * minute for minute in (_BEGINS, _ENDS))
    end_s = _BURST_WARM_S + 60 * round(BURST_AXES.xs[-1]) + 60
    runs: list[Run] = []
    for place, seed in enumerate(BURST_SEEDS):
        traffic = Traffic(((0.0, low), (begin_s, high), (stop_s, low)), seed)
        run = simulations.start(traffic, max_num_seqs=64, until_s=end_s)
        yield from simulations.advance(
            run, 0, end_s, before_s=place * end_s, total_s=len(BURST_SEEDS) * end_s
        )
        runs.append(run)
    minutes = range(round(BURST_AXES.xs[-1]) + 1)
    usage = [median(_kv_percent(run, minute) for run in runs) for minute in minutes]
    full = [minute for minute in minutes if usage[minute] >= 100 * _FULL]
    waiting = median(simulations.window(run, stop_s, stop_s + 5)[0].waiting for run in runs)
    after = full[-1] - _ENDS
    return Reveal(
        answer=[usage[round(x)] for x in BURST_AXES.xs],
        method=f"labs.simulator, atlas-70b, {len(BURST_SEEDS)} seeds, the median of each minute",
        axes=BURST_AXES,
        curve=tuple((float(minute), usage[minute]) for minute in minutes),
        facts={
            "kv_before": f"{usage[_BEGINS - 1]:.0f}",
            "kv_burst": f"{usage[_ENDS]:.0f}",
            "waiting": f"{waiting:.0f}",
            "full_until": f"{full[-1]}",
            "full_after": f"{after}",
            "times": f"{after / (_ENDS - _BEGINS):.1f}",
        },
    )


def _kv_percent(run: Run, minute: int) -> float:
    """Return the mean KV usage of the minute around ``minute``, per cent."""
    middle_s = _BURST_WARM_S + 60 * minute
    found = simulations.window(run, middle_s - 30, middle_s + 30)
    return round(100 * sum(sample.kv_cache_usage_perc for sample in found) / len(found), 1)
