"""Two versions compared over and over: how far equal ones lie apart, and how often a true difference shows.

Source: ``lessons.exact.comparisons``; results of runs are normal, without drift or warm-up.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from lessons.demos.demo import Demo, Number, Readout, Shown
from lessons.demos.numbers import number, plain, share
from lessons.demos.plots import Rule, Series, lines
from lessons.exact.comparisons import (
    bootstrap,
    false_alarms,
    run_results,
    runs_needed,
    runs_needed_by_t,
    t_power,
    welch,
)
from lessons.exact.draws import generator
from lessons.figures import Table

if TYPE_CHECKING:
    from lessons.figures import Plot

_REPEATS = 40
"""Comparisons in the picture."""
_RUNS = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40)
_POWER = 0.80
_MANY = 1_000
_ENOUGH = 10
"""Values from which a bootstrap's interval is wide enough to be trusted."""


def computed(*, true_percent: float, cv_percent: float, runs: int, seed: int) -> Shown:
    """Return one comparison with its interval, forty more, and how many runs a difference needs."""
    true, cv = true_percent / 100, cv_percent / 100
    a = run_results(1.0, cv, runs, seed, version="A")
    b = run_results(1.0 + true, cv, runs, seed, version="B")
    seen = float(np.mean(b) - np.mean(a))
    chance = false_alarms(seen, cv, runs)
    times = "once each" if runs == 1 else f"{runs} times each"
    says = (
        f"Run {times}, B measures {_signed(seen)} % against A. Two equal versions differ by as much in {share(chance)} of "
        f"such comparisons. {_needed(true, cv, runs)}"
    )
    low, high = _interval(a, b, seed)
    return Shown(
        says=says,
        readouts=(
            Readout("Measured", _signed(seen), "%", f"the truth is {plain(true_percent)} %"),
            Readout(
                "95 % interval",
                f"{low} to {high}" if low else "none",
                "%" if low else "",
                _method(runs),
                "truth",
            ),
            Readout(
                "Equal ones differ so", share(chance).removesuffix(" %"), "%", "of comparisons"
            ),
        ),
        plots=(_clouds(true, cv, runs), _power_plot(true, cv, runs)),
        table=Table(
            f"How often a t-test sees a true difference of {plain(true_percent)} %",
            ("Runs of each", "Spread of a difference, %", "Seen, %"),
            [
                (f"{n}", number(100 * cv * np.sqrt(2 / n)), share(power).removesuffix(" %"))
                for n, power in zip(_RUNS, _powers(true, cv), strict=True)
            ],
        ),
        method=(
            f"Normal runs around 100 and {plain(100 + true_percent)}, seed {seed}; the interval by Welch's t, from {_ENOUGH} runs on "
            "also by bootstrap; the power of a two-sided t-test at 5 %."
        ),
    )


def _signed(part: float) -> str:
    return f"{100 * part:+.1f}".replace("-", "−")


def _needed(true: float, cv: float, runs: int) -> str:
    if true == 0:
        return "Here every difference is noise: the two are equal."
    # From a thousand runs on the spread is as good as known.
    many = runs_needed(true, cv, power=_POWER)
    needed = many if many > _MANY else runs_needed_by_t(true, cv, power=_POWER)
    wanted = f"{needed:,} runs each make it {share(_POWER)}."
    if runs == 1:
        return f"One run each has no spread to test with; {wanted}"
    return f"A t-test of {runs} runs each sees the true difference in {share(t_power(true, cv, runs))}; {wanted}"


def _interval(a: tuple[float, ...], b: tuple[float, ...], seed: int) -> tuple[str, str]:
    """Return the ends of the interval in per cent, as text; empty for one run each, whose spread nobody knows."""
    if len(a) < 2:  # noqa: PLR2004
        return "", ""
    found = bootstrap(a, b, seed) if len(a) >= _ENOUGH else welch(a, b)
    return _signed(found.low), _signed(found.high)


def _method(runs: int) -> str:
    if runs == 1:
        return "one run has no spread"
    return "by bootstrap" if runs >= _ENOUGH else "by Welch's t"


def _clouds(true: float, cv: float, runs: int) -> Plot:
    """Return forty comparisons of equal versions, and forty of the true difference."""
    spread = 100 * cv * np.sqrt(2 / runs)
    drawn = generator("comparisons", 1).standard_normal((2, _REPEATS)) * spread
    equal, different = drawn[0].tolist(), (100 * true + drawn[1]).tolist()
    places = list(range(1, _REPEATS + 1))
    top = 1.15 * max(abs(each) for each in (*equal, *different))
    return lines(
        "Measured difference, forty comparisons",
        "% of A",
        f"Forty comparisons of equal versions lie between {min(equal):+.1f} and {max(equal):+.1f} %; forty with a true difference "
        f"of {100 * true:.1f} % between {min(different):+.1f} and {max(different):+.1f} %.".replace(
            "-", "−"
        ),
        (
            Series("A and A", "c0", places, equal, has_dots=True),
            Series("A and B", "c1", places, different, has_dots=True),
        ),
        x_title="comparison",
        size="tall",
        y_range=(-top, top),
        rules=(Rule(0, "", colour="edge"), Rule(100 * true, "truth", colour="accent"))
        if true
        else (Rule(0, "", colour="edge"),),
    )


@lru_cache(maxsize=64)
def _powers(true: float, cv: float) -> tuple[float, ...]:
    """Return the power of the t-test at each of ``_RUNS``; it depends on no seed."""
    return tuple(t_power(true, cv, runs) for runs in _RUNS)


def _power_plot(true: float, cv: float, runs: int) -> Plot:
    seen = [100 * each for each in _powers(true, cv)]
    rules = [Rule(100 * _POWER, "80 %", colour="edge")]
    if runs > 1:
        rules.append(Rule(runs, "yours", is_vertical=True))
    return lines(
        "Comparisons that see it",
        "% of t-tests",
        f"The share of t-tests that see the difference: {seen[0]:.0f} % with {_RUNS[0]} runs each, {seen[-1]:.0f} % with {_RUNS[-1]}.",
        [Series("seen", "c1", _RUNS, seen)],
        x_title="runs of each version",
        x_range=(0, _RUNS[-1]),
        y_range=(0, 110),
        rules=rules,
    )


DEMO = Demo(
    id="same-against-same",
    title="A difference, and what nothing at all would show",
    controls=(
        Number("true_percent", "B is better by", "%", 0, 10, 0.1, 0),
        Number("cv_percent", "Spread of one run", "% of its mean", 0.5, 10, 0.1, 2.5),
        Number("runs", "Runs of each", "", 1, 40, 1, 1),
        Number("seed", "Seed of this comparison", "", 1, 999, 1, 24, has_slider=False),
    ),
    compute=computed,
)
