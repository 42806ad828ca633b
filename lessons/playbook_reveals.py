"""What the playbook's predictions reveal: base rates, a panel that lags, a profile left on, a pool, a gate. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lessons import playbook_quantities as playbook
from lessons import simulations
from lessons.exact.comparisons import false_alarms, runs_needed_by_t
from lessons.exact.evidence import after
from lessons.figures import Line, Table, plot
from lessons.reveals import Reveal
from lessons.simulations import Traffic

if TYPE_CHECKING:
    from lessons.simulations import Run, Steps

_LIMIT_S = 1.0
_CAP = 40
_USUAL_RPS, _BURST_RPS, _BURST_S = playbook.USUAL_RPS, playbook.BURST_RPS, playbook.BURST_S
_WARM_S, _AFTER_S = 600, 1800
RECOVERY_SEED = 4
_PANEL_S = 300
PROFILED_SEED = 4
_PROFILED_S = 600


def base_rate() -> Steps[Reveal]:
    """Compute how often a check that flags a GPU has found a bad one, per cent."""
    yield from ()
    check = playbook.STRAGGLER
    prior = {"bad": check.bad_share, "good": 1 - check.bad_share}
    found = after(prior, {"bad": check.finds, "good": check.false_alarms})["bad"]
    again = after(
        {"bad": found, "good": 1 - found}, {"bad": check.finds, "good": check.false_alarms}
    )
    flagged = 1000 * (prior["bad"] * check.finds + prior["good"] * check.false_alarms)
    return Reveal(
        answer=100 * found,
        shown=f"{100 * found:.0f}",
        beside=f"{1000 * prior['bad'] * check.finds:.0f} of {flagged:.0f} flags in 1,000 checks",
        method="Bayes' rule, lessons.exact.evidence",
        facts={
            "right": f"{1000 * prior['bad'] * check.finds:.1f}",
            "wrong": f"{1000 * prior['good'] * check.false_alarms:.0f}",
            "flagged": f"{flagged:.0f}",
            "share": f"{100 * found:.0f}",
            "twice": f"{100 * again['bad']:.0f}",
        },
    )


def _panel(run: Run, to_s: int) -> float | None:
    waits = simulations.ttfts_s(run, to_s - _PANEL_S, to_s)
    return simulations.percentile(waits, 0.95) if waits else None


def panel_recovers() -> Steps[Reveal]:
    """Compute how long a five-minute p95 stays above a second after the cause of a queue is gone, minutes."""
    gone_s = _WARM_S + _BURST_S
    end_s = gone_s + _AFTER_S
    rates = ((0.0, _USUAL_RPS), (float(_WARM_S), _BURST_RPS), (float(gone_s), _USUAL_RPS))
    run = simulations.start(Traffic(rates, RECOVERY_SEED), max_num_seqs=_CAP, until_s=end_s)
    yield from simulations.advance(run, 0, end_s, before_s=0, total_s=end_s)
    times = list(range(_WARM_S, end_s + 1, 30))
    read = [_panel(run, t) or 0.0 for t in times]
    waiting = [float(simulations.window(run, t - 5, t)[-1].waiting) for t in times]
    late = [t for t, value in zip(times, read, strict=True) if t > gone_s and value > _LIMIT_S]
    queued = [t for t, count in zip(times, waiting, strict=True) if t > gone_s and count > 0]
    recovered_s = _first_after(late, times) - gone_s
    empty_s = _first_after(_unbroken(queued), times) - gone_s
    x = [(t - gone_s) / 60 for t in times]
    span = (x[0], x[-1])
    at_gone = times.index(gone_s)
    ended = [
        r
        for r in run.requests
        if r.finish_s is not None and gone_s <= r.finish_s < gone_s + empty_s
    ]
    charts = (
        plot("Waiting", "requests",
             f"Waiting: {waiting[at_gone]:.0f} requests when the burst ends; none {empty_s / 60:.1f} minutes later.",
             [Line("waiting", "c1", x, waiting)], x_range=span, mark_x=0.0),
        plot("TTFT p95", "s, over the last five minutes",
             f"The panel reads {read[at_gone]:.0f} seconds when the burst ends, {max(read):.0f} at most, and less than "
             f"one second from {recovered_s / 60:.1f} minutes on.",
             [Line("p95", "c2", x, read)], x_range=span, mark_x=0.0, x_title="minutes after the cause is gone",
             size="last"),
    )  # fmt: skip
    shown = [i for i, minute in enumerate(x) if minute >= 0 and minute % 3 == 0]
    table = Table(
        "Queue and panel after the cause is gone",
        ("Minute", "Waiting", "TTFT p95, s"),
        [(f"{x[i]:.0f}", f"{waiting[i]:.0f}", f"{read[i]:.1f}") for i in shown],
    )
    minutes = recovered_s / 60
    return Reveal(
        answer=minutes,
        shown=f"{minutes:.1f}",
        beside=f"the queue was empty after {empty_s / 60:.1f}",
        method=(
            f"labs.simulator, atlas-70b, max_num_seqs {_CAP}, seed {RECOVERY_SEED}: {_BURST_RPS} requests a second for "
            f"{_BURST_S // 60} minutes, {_USUAL_RPS} before and after"
        ),
        facts={
            "waiting": f"{waiting[at_gone]:.0f}",
            "empty": f"{empty_s / 60:.1f}",
            "recovered": f"{minutes:.1f}",
            "now": f"{read[at_gone]:.0f}",
            "served": f"{len(ended) / empty_s:.2f}",
            "five": f"{read[times.index(gone_s + 300)]:.0f}",
        },
        plots=charts,
        table=table,
    )


def _first_after(late: list[int], times: list[int]) -> int:
    """Return the first of ``times`` after the last of ``late``."""
    last = max(late, default=times[0])
    return next((t for t in times if t > last), times[-1])


def _unbroken(times: list[int]) -> list[int]:
    """Return the first stretch of ``times`` without a gap of more than a minute."""
    found = times[:1]
    for t in times[1:]:
        if t - found[-1] > 60:  # noqa: PLR2004  (two samples of the chart)
            break
        found.append(t)
    return found


def profile_left_on() -> Steps[Reveal]:
    """Compute by which factor TPOT grows while every step takes 30 % longer for ten minutes."""
    slowdown = playbook.TORCH.slowdown
    end_s = _WARM_S + _PROFILED_S
    total_s = 2 * end_s
    runs: list[Run] = []
    for place, factor in enumerate((1.0, slowdown)):
        traffic = Traffic(((0.0, _USUAL_RPS),), PROFILED_SEED)
        run = simulations.start(traffic, max_num_seqs=256, until_s=end_s)
        before_s = place * end_s
        yield from simulations.advance(run, 0, _WARM_S, before_s=before_s, total_s=total_s)
        run.engine.slowdown = factor
        yield from simulations.advance(run, _WARM_S, end_s, before_s=before_s, total_s=total_s)
        runs.append(run)
    times = list(range(_WARM_S - 120, end_s + 1, 30))
    x = [(t - _WARM_S) / 60 for t in times]
    steps = [
        [simulations.mean_step_ms(simulations.window(run, t - 30, t)) for t in times]
        for run in runs
    ]
    first = times.index(_WARM_S + 30)
    # The last five minutes: by then whoever ran at the start has left.
    late = [simulations.mean_step_ms(simulations.window(run, end_s - 300, end_s)) for run in runs]
    running = [
        sum(s.running for s in found) / len(found)
        for found in (simulations.window(run, end_s - 300, end_s) for run in runs)
    ]
    factor = late[1] / late[0]
    chart = plot(
        "Step", "ms, mean of 30 s",
        f"A step takes {steps[1][first]:.0f} ms in the first half minute with the profiler and {late[1]:.0f} ms in the "
        f"last five minutes; without it {late[0]:.0f} ms.",
        [Line("profiled", "c2", x, steps[1]), Line("left alone", "c0", x, steps[0])],
        x_range=(x[0], x[-1]), mark_x=0.0, x_title="minutes", size="tall",
    )  # fmt: skip
    table = Table(
        "Mean step in milliseconds, the same traffic twice",
        ("Minute", "Profiled", "Left alone"),
        [
            (f"{x[i]:.0f}", f"{steps[1][i]:.1f}", f"{steps[0][i]:.1f}")
            for i in range(len(x))
            if x[i] >= 0 and x[i] % 2 == 0
        ],
    )
    return Reveal(
        answer=factor,
        shown=f"{factor:.2f}",
        beside=f"{late[0]:.1f} to {late[1]:.1f} ms",
        method=(
            f"labs.simulator, atlas-70b at {_USUAL_RPS} requests a second, seed {PROFILED_SEED}; "
            f"the cost of torch.profiler is the labs' scenario constant"
        ),
        facts={
            "at_once": f"{steps[1][first] / steps[0][first]:.2f}",
            "factor": f"{factor:.2f}",
            "before": f"{late[0]:.1f}",
            "after": f"{late[1]:.1f}",
            "few": f"{running[0]:.0f}",
            "many": f"{running[1]:.0f}",
        },
        plots=(chart,),
        table=table,
    )


def pool_tp2() -> Steps[Reveal]:
    """Compute the live tokens that fit a rank of the Llama on two GPUs instead of four."""
    yield from ()
    two, four = playbook.llama_budget(2), playbook.llama_budget(4)
    pool = two.lines[-1].gib
    return Reveal(
        answer=two.kv_tokens,
        shown=f"{two.kv_tokens:,}",
        beside=f"{four.kv_tokens:,} on four",
        method="the ledger that the labs run on, lessons.exact.ledger",
        facts={
            "tokens": f"{two.kv_tokens:,}",
            "four": f"{four.kv_tokens:,}",
            "times": f"{four.kv_tokens / two.kv_tokens:.0f}",
            "weights": f"{two.lines[0].gib:.1f}",
            "pool": f"{pool:.2f}",
            "kib": f"{two.kv_bytes_per_token / 1024:.0f}",
            "other": f"{two.requested / 2**30 - two.lines[0].gib - pool:.2f}",
            "allowed": f"{two.requested / 2**30:.1f}",
            "sequences": f"{two.sequences_of(2_800)}",
        },
    )


def gate_false_alarm() -> Steps[Reveal]:
    """Compute how often a gate of one run each stops a release that changed nothing, per cent."""
    yield from ()
    gate = playbook.GATE
    once = 100 * false_alarms(gate.threshold, gate.run_cv) / 2
    paired = 100 * false_alarms(gate.threshold, gate.run_cv, runs=5) / 2
    return Reveal(
        answer=once,
        shown=f"{once:.0f}",
        beside=f"{paired:.1f} with five runs each",
        method="two normal runs of the same version, lessons.exact.comparisons",
        facts={
            "once": f"{once:.0f}",
            "one_in": f"{100 / once:.0f}",
            "five": f"{paired:.1f}",
            "spread": f"{100 * gate.run_cv * 2**0.5:.1f}",
            "needed": f"{runs_needed_by_t(gate.threshold, gate.run_cv)}",
        },
    )
