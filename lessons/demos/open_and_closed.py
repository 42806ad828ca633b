"""One server under two loops: users who send when they please, and a tool whose clients wait for their answers.

Source: the open loop's mean E[S] / (1 - ρ) is Pollaczek and Khinchine's for exponential service; the closed loop's is mean
value analysis (``lessons.exact.loops``). The curves are simulated with one seed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lessons.demos.demo import Demo, Number, Readout, Shown
from lessons.demos.numbers import number, plain, share, split_time, time
from lessons.demos.plots import Series, lines
from lessons.exact.loops import Answers, Server, closed_loop, closed_loop_rps, open_loop
from lessons.exact.queueing import Service, pollaczek_khinchine_s
from lessons.figures import Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lessons.figures import Plot

TEST_S = 300
_EVERY_S = 15
_SEED = 1
_STEADY = 1.0


def computed(*, rate_rps: float, service_ms: int, clients: int, think_s: float) -> Shown:
    """Return what each loop records in a test of five minutes."""
    served = Service(service_ms / 1e3, 1, "exponential")
    server = Server(served)
    users = open_loop(server, rate_rps=rate_rps, duration_s=TEST_S, seed=_SEED)
    tool = closed_loop(server, clients=clients, think_s=think_s, duration_s=TEST_S, seed=_SEED)
    tool_rps = closed_loop_rps(clients=clients, think_s=think_s, service_s=served.mean_s)
    # Little's law over the whole loop: thinking and waiting together.
    tool_s = clients / tool_rps - think_s
    load = rate_rps * served.mean_s
    first, last = _mean_s(users, 0, 60), _mean_s(users, TEST_S - 60, TEST_S)
    reports = f"The tool reports {time(tool_s)} at {number(tool_rps, 1)} requests a second, from the first minute to the fifth."
    if load < _STEADY:
        steady_s = pollaczek_khinchine_s(rate_rps, served) + served.mean_s
        says = (
            f"{reports} Users who send {plain(rate_rps)} a second load the server to {share(load)} "
            f"and wait {time(steady_s)} on average."
        )
        open_readout = Readout(
            "Users, mean", *split_time(steady_s), "the formula, in the long run", "truth"
        )
    else:
        growth = (rate_rps - 1 / served.mean_s) * 60
        says = (
            f"{reports} Users who send {plain(rate_rps)} a second wait {time(first)} in the first minute "
            f"and {time(last)} in the fifth: they ask for {share(load)} of what the server can do, "
            f"and {number(growth, 0)} more wait after every minute."
        )
        open_readout = Readout("Users, fifth minute", *split_time(last), "and it grows", "truth")
    return Shown(
        says=says,
        readouts=(
            Readout("The tool, mean", *split_time(tool_s), f"at {number(tool_rps, 1)} a second"),
            open_readout,
            Readout(
                "Load by users", share(load).removesuffix(" %"), "%", "of what the server can do"
            ),
        ),
        plots=(_plot(users, tool),),
        table=Table(
            "Mean latency of the requests sent in each minute",
            ("Minute", "Tool, s", "Tool, requests", "Users, s", "Users, requests"),
            [
                (
                    f"{minute + 1}",
                    *(
                        cell
                        for loop in (tool, users)
                        for cell in (
                            number(_mean_s(loop, 60 * minute, 60 * minute + 60)),
                            f"{int(_sent(loop, 60 * minute, 60 * minute + 60).sum()):,}",
                        )
                    ),
                )
                for minute in range(TEST_S // 60)
            ],
        ),
        method=(
            "One server, exponential service times, first come, first served; simulated for five minutes with one seed. "
            "The tool's mean follows exactly from mean value analysis."
        ),
    )


def _sent(answers: Answers, from_s: float, to_s: float) -> NDArray[np.bool_]:
    return (answers.sent_s >= from_s) & (answers.sent_s < to_s)


def _mean_s(answers: Answers, from_s: float, to_s: float) -> float:
    """Return the mean latency of what was sent in a window, seconds; 0 if nothing was."""
    chosen = answers.recorded_s[_sent(answers, from_s, to_s)]
    return float(chosen.mean()) if len(chosen) else 0.0


def _plot(users: Answers, tool: Answers) -> Plot:
    starts = range(0, TEST_S, _EVERY_S)

    def series(name: str, token: str, answers: Answers) -> Series:
        x = [
            start + _EVERY_S / 2
            for start in starts
            if _sent(answers, start, start + _EVERY_S).any()
        ]
        y = [_mean_s(answers, at - _EVERY_S / 2, at + _EVERY_S / 2) for at in x]
        return Series(name, token, x, y)

    both = (series("users", "c1", users), series("the tool", "c2", tool))
    ends = [f"{each.name} from {time(each.y[0])} to {time(each.y[-1])}" for each in both]
    return lines(
        "Mean latency",
        "s",
        f"Mean latency over five minutes: {ends[0]}, {ends[1]}.",
        both,
        x_title="seconds of the test",
        x_range=(0, TEST_S),
    )


DEMO = Demo(
    id="open-and-closed",
    title="One server, two ways to ask it",
    controls=(
        Number("rate_rps", "Users send", "requests a second", 0.5, 20, 0.5, 11),
        Number("service_ms", "Service takes", "ms on average", 20, 500, 10, 100),
        Number("clients", "Clients of the tool", "", 1, 64, 1, 8),
        Number("think_s", "Each pauses between", "s on average", 0, 5, 0.1, 0),
    ),
    compute=computed,
)
