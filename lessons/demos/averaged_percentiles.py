"""The p99 of a fleet with one slow replica, and the mean of its replicas' p99s: two numbers with one name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lessons.demos.demo import Demo, Number, Readout, Shown
from lessons.demos.numbers import number, plain, share
from lessons.demos.plots import Series, lines
from lessons.exact.percentiles import Fleet
from lessons.figures import Table

if TYPE_CHECKING:
    from lessons.figures import Plot

_P99 = 0.99
_SPREAD = 0.25
_FACTORS = (1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0)


def averaged(fleet: Fleet) -> float:
    """Return the mean of the replicas' p99s, in units of a healthy replica's median."""
    healthy, slow = fleet.healthy_quantile(_P99), fleet.slow_quantile(_P99)
    return (slow + (fleet.replicas - 1) * healthy) / fleet.replicas


def computed(*, replicas: int, slow_factor: float, median_ms: int) -> Shown:
    """Return both numbers."""
    fleet = Fleet(replicas, _SPREAD, slow_factor)
    mean_ms, true_ms = median_ms * averaged(fleet), median_ms * fleet.quantile(_P99)
    off = mean_ms / true_ms - 1
    if abs(off) < 0.005:  # noqa: PLR2004  (what rounds to 0 %)
        verdict = "the same within half a per cent"
    else:
        verdict = f"{abs(off):.0%}".replace("%", " %") + (" too low" if off < 0 else " too high")
    from_slow = fleet.tail_from_slow(_P99)
    says = (
        f"The mean of the {replicas} p99s is {number(mean_ms, 0)} ms, the p99 of all requests {number(true_ms, 0)} ms: "
        f"{verdict}. One replica of {replicas} answers {share(from_slow)} of the slowest hundredth."
    )
    return Shown(
        says=says,
        readouts=(
            Readout("Mean of p99s", number(mean_ms, 0), "ms", "what a dashboard averages"),
            Readout(
                "p99 of all", number(true_ms, 0), "ms", "what one request in 100 exceeds", "truth"
            ),
            Readout(
                "Slow replica's p99",
                number(median_ms * fleet.slow_quantile(_P99), 0),
                "ms",
                f"{plain(slow_factor)} times the others'",
            ),
        ),
        plots=(_plot(replicas, median_ms),),
        table=Table(
            f"{replicas} replicas, one of them slow",
            ("Slow by", "Mean of p99s, ms", "p99 of all, ms"),
            [
                (
                    f"{plain(factor)} times",
                    number(median_ms * averaged(each), 0),
                    number(median_ms * each.quantile(_P99), 0),
                )
                for factor in sorted({*_FACTORS, slow_factor})
                for each in (Fleet(replicas, _SPREAD, factor),)
            ],
        ),
        method=(
            f"Lognormal latencies (σ {_SPREAD}), the same number of requests to each replica; the p99 of all by bisection of "
            "their mixture, no simulation."
        ),
    )


def _plot(replicas: int, median_ms: int) -> Plot:
    factors = [1 + 3 * n / 30 for n in range(31)]
    fleets = [Fleet(replicas, _SPREAD, factor) for factor in factors]
    true_ms = [median_ms * fleet.quantile(_P99) for fleet in fleets]
    mean_ms = [median_ms * averaged(fleet) for fleet in fleets]
    return lines(
        "p99 latency",
        "ms",
        f"With one replica four times as slow, the p99 of all is {true_ms[-1]:,.0f} ms and the mean of p99s {mean_ms[-1]:,.0f} ms; "
        f"with none, both are {true_ms[0]:,.0f} ms.",
        (
            Series("p99 of all", "c1", factors, true_ms),
            Series("mean of p99s", "c2", factors, mean_ms),
        ),
        x_title="slow replica's latency over the others'",
    )


DEMO = Demo(
    id="averaged-percentiles",
    title="The mean of p99s and the p99 of all",
    controls=(
        Number("replicas", "Replicas", "", 2, 64, 1, 8),
        Number("slow_factor", "One is slower by", "times", 1, 4, 0.1, 2.5),
        Number("median_ms", "Median of the others", "ms", 50, 2_000, 50, 400),
    ),
    compute=computed,
)
