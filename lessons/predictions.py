"""What the predictions ask, and how each answer is computed. Pure; drives labs.simulator.

A question's ``compute`` is a generator: :class:`~lessons.simulations.Progress` while it runs, and
a :class:`Reveal` at the end. The same code gives the same bytes; :func:`code_version` names it.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from statistics import median
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from labs import simulator
from labs.simulator.workload import offered_tokens
from lessons import figures, quantities, simulations
from lessons.figures import Line, Table, plot
from lessons.quantities import ATLAS, CLAMPED, GIB, LLAMA, POOL_GIB, STORM
from lessons.simulations import Traffic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lessons.figures import Plot
    from lessons.simulations import Run, Steps

CONFIDENCES = (50, 60, 70, 80, 90)
"""Per cent."""


@dataclass(frozen=True)
class Reveal:
    """What is shown once a prediction is committed."""

    answer: float
    shown: str
    """The answer as the page writes it, without its unit."""
    method: str
    """What computed it."""
    beside: str = ""
    """What to compare it with."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """Numbers for the explanation."""
    plots: tuple[Plot, ...] = ()
    table: Table | None = None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Question:
    """Something to predict: a number."""

    key: str
    unit: str
    compute: Callable[[], Steps[Reveal]]
    facts: frozenset[str] = frozenset()
    """Names of the facts that the explanation may use."""
    is_long: bool = False
    """True: a worker computes it, since it takes longer than a page may (0.3 s)."""
    is_charted: bool = False
    """True: its reveal draws a chart."""
    highest: float = 1e9
    whole: bool = False


def _clamp() -> Steps[Reveal]:
    yield from ()
    answer = quantities.admission(**CLAMPED)
    room = CLAMPED["context_window"] - CLAMPED["prompt_tokens"]
    return Reveal(
        answer=answer.completion_tokens,
        shown=f"{answer.completion_tokens}",
        beside=f"status {answer.status}",
        method="vLLM 0.32's rule, as a live 0.32.0 answered",
        facts={
            "status": f"{answer.status}",
            "room": f"{room}",
            "asked": f"{CLAMPED['max_tokens']}",
            "short": f"{CLAMPED['max_tokens'] - answer.completion_tokens}",
        },
    )


def _little() -> Steps[Reveal]:
    yield from ()
    rate = quantities.arrivals_per_s(waiting=int(STORM["waiting"]), oldest_s=STORM["oldest_s"])
    lifetime_s = 1_600 * quantities.step_ms(kv_tokens=112_000) / 1e3
    sustained = 40 / lifetime_s
    return Reveal(
        answer=rate,
        shown=f"{rate:.1f}",
        beside=f"the engine can finish {sustained:.2f}",
        method="waiting ÷ age of the oldest: all of them came since it did",
        facts={
            "rate": f"{rate:.1f}",
            "sustained": f"{sustained:.2f}",
            "lifetime": f"{lifetime_s:.0f}",
            "times": f"{rate / sustained:.0f}",
        },
    )


def _pool(bytes_per_token: int, other: str) -> Steps[Reveal]:
    yield from ()
    tokens = quantities.live_tokens(pool_bytes=POOL_GIB * GIB, bytes_per_token=bytes_per_token)
    decimal = quantities.live_tokens(pool_bytes=POOL_GIB * 1e9, bytes_per_token=bytes_per_token)
    blocks = tokens // 16
    return Reveal(
        answer=tokens,
        shown=f"{tokens:,}",
        beside=f"{blocks:,} blocks of 16",
        method=f"{POOL_GIB:.0f} GiB ÷ {bytes_per_token // 1024} KiB, in whole blocks",
        facts={
            "tokens": f"{tokens:,}",
            "blocks": f"{blocks:,}",
            "decimal": f"{decimal:,}",
            "decimal_off": f"{1 - decimal / tokens:.0%}",
            "sequences": f"{tokens // 2_800}",
            "other": other,
        },
    )


def _pool_atlas() -> Steps[Reveal]:
    return _pool(ATLAS.kv_bytes_per_token, f"{LLAMA.kv_bytes_per_token // 1024}")


def _pool_llama() -> Steps[Reveal]:
    return _pool(LLAMA.kv_bytes_per_token, f"{ATLAS.kv_bytes_per_token // 1024}")


# --------------------------------------------------------------------------- answers of the simulator

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


def _double() -> Steps[Reveal]:
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


def _cap() -> Steps[Reveal]:
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
    facts["wanted_share"] = f"{median(wanted) / (ATLAS.usable_blocks * ATLAS.block_size):.0%}"
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


def _drain() -> Steps[Reveal]:
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


_CAP_FACTS = {
    f"{name}_{cap}"
    for name in ("p95", "p95_least", "p95_most", "gap", "preemptions", "kv", "waiting", "rate")
    for cap in (28, 40)
}

QUESTIONS: Mapping[str, Question] = MappingProxyType(
    {
        question.key: question
        for question in (
            Question(
                "arrivals-implied", "requests a second", _little,
                frozenset({"rate", "sustained", "lifetime", "times"}),
            ),
            Question(
                "clamped-tokens", "tokens", _clamp,
                frozenset({"status", "room", "asked", "short"}), whole=True,
            ),
            Question(
                "pool-atlas", "tokens", _pool_atlas,
                frozenset({"tokens", "blocks", "decimal", "decimal_off", "sequences", "other"}), whole=True,
            ),
            Question(
                "pool-llama", "tokens", _pool_llama,
                frozenset({"tokens", "blocks", "decimal", "decimal_off", "sequences", "other"}), whole=True,
            ),
            Question(
                "double-arrivals", "times", _double,
                frozenset({"ratio", "low", "high", "low_running", "high_running", "running_ratio"}),
                is_charted=True, highest=1000,
            ),
            Question(
                "cap-28", "seconds", _cap,
                frozenset({*_CAP_FACTS, "wanted", "wanted_share", "worse", "seeds"}),
                is_long=True, is_charted=True, highest=100_000,
            ),
            Question(
                "drain-30", "per cent", _drain,
                frozenset({"streams", "done", "cut", "last", "share"}),
                is_charted=True, highest=100,
            ),
        )
    }
)  # fmt: skip


@cache
def code_version() -> str:
    """Return a digest of everything that an answer follows from: these modules, simulator, profiles."""
    here = Path(__file__).parent
    rooms = Path(simulator.__file__).parent
    files = [
        *(
            here / name
            for name in ("predictions.py", "figures.py", "simulations.py", "quantities.py")
        ),
        *sorted(rooms.rglob("*.py")),
        *sorted(rooms.rglob("*.toml")),
    ]
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def all_computations() -> dict[str, Callable[[], Steps[Any]]]:
    """Return everything that can be computed, by the name under which its answer is kept."""
    found: dict[str, Callable[[], Steps[Any]]] = {
        f"prediction:{key}": question.compute for key, question in QUESTIONS.items()
    }
    for key, figure in figures.FIGURES.items():
        if figure.compute is not None:
            found[f"figure:{key}"] = figure.compute
    return found


def result_of(steps: Steps[Any]) -> Any:
    """Run a computation to its end and return what it computed."""
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            return stop.value


# ------------------------------------------------------------------------------------- how far off


@dataclass(frozen=True)
class Distance:
    """How far a guess lies from the answer."""

    value: str
    unit: str
    words: str = ""


_FACTOR = 2.0
_EXACT = 0.005


def distance(said: float, computed: float) -> Distance:
    """Return the distance: in per cent while close, as a factor beyond twice."""
    if said == computed or (computed and abs(said - computed) / abs(computed) < _EXACT):
        return Distance("0", "%", "exact, or nearly")
    side = "too low" if said < computed else "too high"
    if said > 0 and computed > 0:
        factor = max(said / computed, computed / said)
        if factor >= _FACTOR:
            return Distance(f"{factor:.2g}" if factor < 10 else f"{factor:,.0f}", "times", side)  # noqa: PLR2004
        return Distance(f"{abs(said - computed) / computed * 100:.0f}", "%", side)
    return Distance(f"{abs(said - computed):,.3g}", "", side)
