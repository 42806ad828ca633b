"""The lessons' figures: four ledgers as SVG numbers, and charts drawn from the simulator.

Pure: a figure is data, axes and colour *tokens*; static/js/charts.js owns the looks, and the table
beside a chart holds the same numbers.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from lessons import quantities, simulations
from lessons.simulations import Traffic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lessons.simulations import Run, Steps

_MOST_TICKS = 7
_LABEL_ROOM = 0.24
COLOURS = {"c0": "2px,3px", "c1": "solid", "c2": "8px,3px"}
"""Colour token and its dash; c0 is what was left untouched."""


@dataclass(frozen=True)
class Line:
    """One series of a chart."""

    name: str
    token: str
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True)
class Plot:
    """One quantity over time."""

    title: str
    unit: str
    spoken: str
    """What a screen reader hears instead."""
    figure: Mapping[str, Any]
    size: str = ""


@dataclass(frozen=True)
class Table:
    """The same numbers, readable by anyone."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Drawing:
    """What a computed figure is made of; JSON-ready by :func:`dataclasses.asdict`."""

    plots: Sequence[Plot]
    table: Table
    method: str
    facts: Mapping[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def plot(
    title: str,
    unit: str,
    spoken: str,
    lines: Sequence[Line],
    *,
    x_range: tuple[float, float],
    x_title: str = "",
    mark_x: float | None = None,
    size: str = "",
) -> Plot:
    """Return a chart of ``lines``, its axis from zero, each line labelled at its end.

    ``mark_x`` draws the accent line of a change in force. Only the last of stacked charts has an
    ``x_title``.
    """
    top = max((max(line.y, default=0.0) for line in lines), default=0.0) * 1.2 or 1.0
    data = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": [round(x, 2) for x in line.x],
            "y": [round(y, 3) for y in line.y],
            "line": {"color": f"--{line.token}", "width": 2, "dash": COLOURS[line.token]},
            "hovertemplate": f"{line.name}: %{{y}} {unit}<extra></extra>",
        }
        for line in lines
    ]
    ends = sorted(line.y[-1] for line in lines if line.y)
    apart = not ends or ends[-1] - ends[0] > top * 0.2
    span = x_range[1] - x_range[0]
    tick = next(step for step in (2, 4, 5, 10, 20, 30, 60) if span / step <= _MOST_TICKS)
    ticks = [n * tick for n in range(-_MOST_TICKS, 2 * _MOST_TICKS)]
    labels = [
        {
            "x": line.x[-1],
            "y": round(line.y[-1], 3),
            "text": line.name,
            "showarrow": False,
            "xanchor": "left",
            "xshift": 4,
            # Labels of lines that end close together are pushed apart.
            "yshift": 0 if apart else 7 if line.y[-1] == ends[-1] else -7,
            "font": {"color": f"--{line.token}", "size": 12},
        }
        for line in lines
        if line.y
    ]
    # Room at the right for the labels of the lines.
    xaxis: dict[str, Any] = {
        "range": [x_range[0], x_range[1] + span * _LABEL_ROOM],
        "tickvals": [value for value in ticks if x_range[0] <= value <= x_range[1]],
    }
    if x_title:
        xaxis["title"] = {"text": x_title}
    else:
        xaxis["showticklabels"] = False
    layout: dict[str, Any] = {
        "xaxis": xaxis,
        "yaxis": {"range": [0, round(top, 3)], "nticks": 4},
        "annotations": labels,
    }
    if mark_x is not None:
        layout["shapes"] = [
            {
                "type": "line",
                "x0": mark_x,
                "x1": mark_x,
                "yref": "paper",
                "y0": 0,
                "y1": 1,
                "line": {"color": "--accent", "width": 1.5},
            }
        ]
    return Plot(title, unit, spoken, {"data": data, "layout": layout}, size)


# ----------------------------------------------------------------------------------- the four ledgers


@dataclass(frozen=True)
class Segment:
    """A stretch of memory; start and width are per cent of the drawing's width."""

    kind: str
    """fixed, used, free or wanted: the template knows their fill."""
    start: str
    width: str


@dataclass(frozen=True)
class Ledger:
    """Memory at the moment of one kind of OOM."""

    title: str
    when: str
    scale: str
    segments: tuple[Segment, ...]
    limit: str
    """Where the memory ends, per cent of the drawing's width."""
    spoken: str


_OVERHANG = 1.14
"""The drawing is so much wider than the memory: what does not fit has a place to stand."""
_SHARD_FILES = 30
_LEAST_DRAWN = 0.012


def _drawn(scale_gib: float, pieces: Sequence[tuple[str, float, float]]) -> tuple[Segment, ...]:
    """Turn (kind, start, length) in GiB into segments."""
    width = scale_gib * _OVERHANG
    return tuple(
        Segment(
            kind, f"{start / width * 100:.2f}%", f"{max(length / width, _LEAST_DRAWN) * 100:.2f}%"
        )
        for kind, start, length in pieces
    )


def four_ledgers() -> tuple[Ledger, ...]:
    """Return the four ledgers, to scale, from the memory budget of one Atlas rank.

    Workspace and fragmentation happen in the small rest beside weights and pool, so that rest is
    drawn enlarged. Its spike and its holes are scenario constants.
    """
    total = quantities.allowed_gib()
    gib = {line.name: line.gib for line in quantities.ledger()}
    rest = gib["activations"] + gib["graphs"] + gib["context"]
    whole = 4 * gib["weights"]
    shard = whole / _SHARD_FILES
    loaded = int(total // shard)
    steady, spike = 3.4, 2.6
    hole, wanted = 0.30, 0.75
    starts = (0.6, 1.7, 2.9, 4.3)
    limit = f"{100 / _OVERHANG:.2f}%"
    block_mib = quantities.ATLAS.kv_bytes_per_token * quantities.ATLAS.block_size / 1024**2
    whole_scale = f"{total:.1f} GiB, all that the engine may take"
    rest_scale = f"{rest:.1f} GiB beside weights and pool, enlarged"
    return (
        Ledger(
            "Weights", "while loading", whole_scale,
            _drawn(total, [("fixed", 0, loaded * shard), ("wanted", loaded * shard, shard)]),
            limit,
            f"All {whole:.0f} GiB on one GPU, in {_SHARD_FILES} files: {loaded} are loaded, "
            f"{loaded * shard:.1f} GiB; the next needs {shard:.1f} and {total - loaded * shard:.1f} are free.",
        ),
        Ledger(
            "KV", "under load", whole_scale,
            _drawn(
                total,
                [("fixed", 0, total - gib["pool"]), ("used", total - gib["pool"], gib["pool"]),
                 ("wanted", total, block_mib / 1024)],
            ),
            limit,
            f"All {gib['pool']:.0f} GiB of the pool are in use; the next block, {block_mib:.0f} MiB, has no place.",
        ),
        Ledger(
            "Workspace", "for a moment", rest_scale,
            _drawn(rest, [("fixed", 0, steady), ("wanted", steady, spike)]),
            limit,
            f"{steady} GiB steady; one step asks for {spike} GiB of scratch, and {rest - steady:.1f} are free.",
        ),
        Ledger(
            "Fragmentation", "on one large request", rest_scale,
            _drawn(
                rest,
                [("fixed", 0, rest), *(("free", start, hole) for start in starts), ("wanted", rest, wanted)],
            ),
            limit,
            f"{len(starts)} holes of {hole:.2f} GiB are free, {len(starts) * hole:.1f} GiB in all; "
            f"the request needs {wanted} GiB in one piece.",
        ),
    )  # fmt: skip


# ------------------------------------------------------------------------------- charts, by simulation

_BEFORE_S, _AFTER_S = 600, 1200
_EVERY_S = 60
REGIMES_SEED = 1
_BEFORE_RPS, _MORE_RPS = 0.36, 0.60
_CAP = 26
_SLOWER_MS = 20.0


def _minutes(times_s: Sequence[float], zero_s: float) -> list[float]:
    return [(t - zero_s) / 60 for t in times_s]


def _series(run: Run, times_s: Sequence[int]) -> dict[str, list[float]]:
    """Return waiting, TTFT p95 over two minutes, and mean step time over one, at ``times_s``."""
    found: dict[str, list[float]] = {"waiting": [], "ttft": [], "step": [], "kv": []}
    for t in times_s:
        samples = simulations.window(run, t - _EVERY_S, t)
        waits = simulations.ttfts_s(run, t - 2 * _EVERY_S, t)
        found["waiting"].append(float(samples[-1].waiting))
        found["kv"].append(samples[-1].kv_cache_usage_perc)
        found["ttft"].append(simulations.percentile(waits, 0.95) if waits else 0.0)
        found["step"].append(simulations.mean_step_ms(samples))
    return found


def two_regimes() -> Steps[Drawing]:
    """Two engines: at minute 0 one gets more arrivals, the other's steps slow down."""
    total_s = _BEFORE_S + _AFTER_S
    zero = float(_BEFORE_S)
    more = simulations.start(
        Traffic(((0.0, _BEFORE_RPS), (zero, _MORE_RPS)), REGIMES_SEED),
        max_num_seqs=_CAP,
        until_s=total_s,
    )
    yield from simulations.advance(more, 0, total_s, before_s=0, total_s=2 * total_s)
    slow = simulations.start(
        Traffic(((0.0, _BEFORE_RPS),), REGIMES_SEED), max_num_seqs=_CAP, until_s=total_s
    )
    yield from simulations.advance(slow, 0, _BEFORE_S, before_s=total_s, total_s=2 * total_s)
    slow.engine.set_cost(quantities.ATLAS.cost_model().plus(base_ms=_SLOWER_MS))
    yield from simulations.advance(slow, _BEFORE_S, total_s, before_s=total_s, total_s=2 * total_s)
    times = list(range(_BEFORE_S - 480, total_s + 1, _EVERY_S))
    x = _minutes(times, zero)
    first, second = _series(more, times), _series(slow, times)
    span = (x[0], x[-1])

    def pair(key: str) -> list[Line]:
        return [
            Line("more arrivals", "c1", x, first[key]),
            Line("slower step", "c2", x, second[key]),
        ]

    plots = (
        plot("Waiting", "requests", _spoken("Requests waiting", first["waiting"], second["waiting"], "{:.0f}"),
             pair("waiting"), x_range=span, mark_x=0.0),
        plot("TTFT p95", "s", _spoken("TTFT p95", first["ttft"], second["ttft"], "{:.1f} s"),
             pair("ttft"), x_range=span, mark_x=0.0),
        plot("TPOT", "ms per token", _spoken("TPOT", first["step"], second["step"], "{:.0f} ms"),
             pair("step"), x_range=span, mark_x=0.0, x_title="minutes", size="last"),
    )  # fmt: skip
    rows = [
        (
            f"{minute:.0f}",
            f"{first['waiting'][i]:.0f}", f"{second['waiting'][i]:.0f}",
            f"{first['ttft'][i]:.1f}", f"{second['ttft'][i]:.1f}",
            f"{first['step'][i]:.1f}", f"{second['step'][i]:.1f}",
        )
        for i, minute in enumerate(x)
        if minute % 4 == 0
    ]  # fmt: skip
    head = (
        "Minute", "Waiting, arrivals", "Waiting, step", "TTFT s, arrivals", "TTFT s, step",
        "TPOT ms, arrivals", "TPOT ms, step",
    )  # fmt: skip
    table = Table("Two incidents over the same twenty-eight minutes", head, rows)
    method = (
        f"labs.simulator, atlas-70b twice, max_num_seqs {_CAP}, seed {REGIMES_SEED}. At minute 0 arrivals "
        f"rise from {_BEFORE_RPS:.2f} to {_MORE_RPS:.2f} a second in one; in the other every step takes "
        f"{_SLOWER_MS:.0f} ms longer."
    )
    return Drawing(plots, table, method)


def _spoken(name: str, first: Sequence[float], second: Sequence[float], form: str) -> str:
    def say(value: float) -> str:
        return form.format(value)

    return (
        f"{name}, from eight minutes before to twenty after the change. With more arrivals from "
        f"{say(first[8])} to {say(first[-1])}; with a slower step from {say(second[8])} to {say(second[-1])}."
    )


# ------------------------------------------------------------------------------------------- registry


@dataclass(frozen=True)
class Figure:
    """A figure that a station may show."""

    title: str
    compute: Callable[[], Steps[Drawing]] | None = None
    """None: drawn by the template from arithmetic alone."""

    @property
    def is_plot(self) -> bool:
        return self.compute is not None


FIGURES: Mapping[str, Figure] = MappingProxyType(
    {
        "four-ooms": Figure("One rank's memory at the moment it fails"),
        "tool-reach": Figure("How short and how long each tool can see"),
        "two-regimes": Figure("Two incidents, one queue", two_regimes),
    }
)
