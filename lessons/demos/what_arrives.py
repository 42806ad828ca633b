"""What is left of a kernel's gain on its way to the fleet: Amdahl's law once for each whole that it is a part of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lessons.demos.demo import Demo, Number, Readout, Shown
from lessons.demos.numbers import number, plain
from lessons.demos.plots import Bar, Rule, Series, bars, lines
from lessons.exact.comparisons import amdahl
from lessons.figures import Table

if TYPE_CHECKING:
    from lessons.figures import Plot

_MOST = 10
_NEARLY_NONE = 1e9
"""A factor at which a part takes no time."""


def stages(factor: float, *shares: float) -> tuple[float, ...]:
    """Return the speed-up of the part, and of each whole around it; each of ``shares`` is of the time of the next whole."""
    found = [factor]
    for share in shares:
        found.append(amdahl(share, found[-1]))
    return tuple(found)


def computed(
    *, factor: float, kernel_percent: int, step_percent: int, traffic_percent: int
) -> Shown:
    """Return the speed-up after each stage."""
    shares = (kernel_percent / 100, step_percent / 100, traffic_percent / 100)
    kernel, step, request, fleet = stages(factor, *shares)
    ceiling = stages(_NEARLY_NONE, *shares)[-1]
    touched = shares[0] * shares[1] * shares[2]
    says = (
        f"The kernel runs {plain(factor)} times as fast, the step {number(step)} times, the request {number(request)} times, "
        f"and the fleet {number(fleet)} times: the kernel was {number(100 * touched, 1)} % of the fleet's time. "
        f"Had it taken no time at all, the fleet would gain {_percent(ceiling)} %."
    )
    names = ("kernel", "step", "request", "fleet")
    speedups = (kernel, step, request, fleet)
    return Shown(
        says=says,
        readouts=(
            Readout("Benchmark", number(kernel), "times", "the kernel alone"),
            Readout(
                "What arrives", number(fleet), "times", f"a gain of {_percent(fleet)} %", "truth"
            ),
            Readout("Ceiling", number(ceiling), "times", "for a kernel of no time"),
        ),
        plots=(
            bars(
                "Speed-up of each whole",
                "times",
                ", ".join(
                    f"{name} {speedup:.2f} times"
                    for name, speedup in zip(names, speedups, strict=True)
                ).capitalize()
                + ".",
                [
                    Bar(name, speedup, f"{number(speedup)}", "c1" if name == "fleet" else "c0")
                    for name, speedup in zip(names, speedups, strict=True)
                ],
            ),
            _plot(factor, shares, ceiling),
        ),
        table=Table(
            "Speed-up of the fleet by speed-up of the kernel",
            ("Kernel, times", "Step, times", "Request, times", "Fleet, times"),
            [
                (plain(each), *(number(value, 3) for value in stages(each, *shares)[1:]))
                for each in sorted({1.25, 1.5, 2.0, 3.0, 5.0, 10.0, factor})
            ],
        ),
        method=(
            "1 ÷ (1 − f + f ÷ s) three times, each with the speed-up of the one before. Shares are of the time before the change; "
            "queues are left out."
        ),
    )


def _percent(speedup: float) -> str:
    return number(100 * (speedup - 1), 1)


def _plot(factor: float, shares: tuple[float, ...], ceiling: float) -> Plot:
    factors = [1 + (_MOST - 1) * n / 45 for n in range(46)]
    fleet = [stages(each, *shares)[-1] for each in factors]
    top = max(1.2, 1 + 1.25 * (ceiling - 1))
    return lines(
        "Speed-up of the fleet",
        "times",
        f"The fleet gains from 1 to {fleet[-1]:.2f} times as the kernel gains from 1 to {_MOST} times; the ceiling is {ceiling:.2f}.",
        [Series("fleet", "c1", factors, fleet)],
        x_title="speed-up of the kernel",
        y_range=(1, top),
        rules=(Rule(ceiling, "ceiling", colour="edge"), Rule(factor, "yours", is_vertical=True)),
    )


DEMO = Demo(
    id="what-arrives",
    title="From the kernel to the fleet",
    controls=(
        Number("factor", "The kernel runs", "times as fast", 1, 10, 0.1, 2),
        Number("kernel_percent", "It was", "% of a step", 0, 100, 1, 30),
        Number("step_percent", "Such steps are", "% of a request's time", 0, 100, 1, 70),
        Number("traffic_percent", "Such requests take", "% of the fleet's time", 0, 100, 1, 60),
    ),
    compute=computed,
)
