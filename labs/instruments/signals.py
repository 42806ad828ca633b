"""Every number that an instrument of a lab can show, computed from the world as it stands.

One function a signal, each with its window and unit. The information table, the readings and the notebook all
take their values from here, so that they can never disagree.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import accumulate
from math import inf
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from labs.instruments.experience import longest_gap_s
from labs.simulator.request import Status, to_ps
from labs.simulator.telemetry import TTFT_BUCKETS_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from labs.simulator.cluster import Cluster
    from labs.simulator.engine import Engine
    from labs.simulator.request import Request
    from labs.simulator.telemetry import Sample
    from labs.worlds import Fleet, Real

SHORT_S, PANEL_S, LONG_S = 60.0, 300.0, 720.0


@dataclass(frozen=True)
class Windows:
    """How far back the instruments of a lab look, seconds. Names such as ``preemptions_5m`` are those of the usual ones."""

    short_s: float = SHORT_S
    panel_s: float = PANEL_S
    long_s: float = LONG_S
    young_s: float = 100.0
    """For so long after it is ready a replica counts as young. Scenario constant, as the next."""
    silent_s: float = 30.0
    """A call without a token for so long stands still."""


def window_words(seconds: float) -> str:
    """Return a window as instruments print it: "5 min", "30 s"."""
    return (
        f"{seconds / 60:.0f} min"
        if seconds >= 2 * SHORT_S and seconds % 60 == 0
        else f"{seconds:.0f} s"
    )


@dataclass(frozen=True)
class View:
    """A world at a moment: what instruments look at. ``now_s`` is incident seconds."""

    cluster: Cluster
    fleet: Fleet
    now_s: float
    step_s: float
    """A step with a full pool, for Little's law, seconds."""
    healthy_from_s: float = -1800.0
    """Where the history that people may see begins."""
    replica: int = 0
    """Whose engine is looked at."""
    windows: Windows = Windows()
    real: Real | None = None
    """What a real engine answers, where there is one."""

    @property
    def engine(self) -> Engine:
        """The engine behind port 8000 of the replica."""
        return self.cluster.engines[self.replica]


def quantile(values: Sequence[float], share: float) -> float | None:
    """Return the smallest value that ``share`` of all values do not exceed (nearest rank), or None if none."""
    if not values:
        return None
    ordered = sorted(values)
    rank = max(0, min(len(ordered) - 1, -int(-share * len(ordered) // 1) - 1))
    return ordered[rank]


def histogram_quantile(
    share: float, bounds: Sequence[float], counts: Sequence[int]
) -> float | None:
    """Return what PromQL's ``histogram_quantile`` gives: linear within a bucket, the last bound beyond it.

    ``counts`` are per bucket, one more than ``bounds`` for +Inf.
    """
    total = sum(counts)
    if not total:
        return None
    rank, seen, low = share * total, 0, 0.0
    for bound, count in zip(bounds, counts, strict=False):
        if count and seen + count >= rank:
            return low + (bound - low) * (rank - seen) / count
        seen, low = seen + count, bound
    return bounds[-1]


def sample_at(engine: Engine, t_s: float) -> Sample | None:
    """Return the engine's last sample at or before ``t_s``, or None before the first."""
    index = bisect_right(engine.samples, t_s, key=lambda sample: sample.t_s) - 1
    return engine.samples[index] if index >= 0 else None


def sent_between(cluster: Cluster, from_s: float, to_s: float) -> Sequence[Request]:
    """Return the requests that clients sent after ``from_s`` and by ``to_s``."""
    requests = cluster.requests
    first = bisect_right(requests, from_s, key=lambda request: request.sent_s)
    last = bisect_right(requests, to_s, key=lambda request: request.sent_s)
    return requests[first:last]


def recent(cluster: Cluster, from_s: float, to_s: float) -> Iterator[Request]:
    """Return the requests sent by ``to_s`` that were alive at some time in the window, newest first.

    The walk goes back an hour: nothing that an incident can hold is older.
    """
    requests, from_ps = cluster.requests, to_ps(from_s)
    ended = _ended_by(cluster)
    first = max(
        bisect_right(requests, from_s - 3600.0, key=lambda request: request.sent_s),
        bisect_left(ended, from_ps),
    )
    last = bisect_right(requests, to_s, key=lambda request: request.sent_s)
    for index in range(last - 1, first - 1, -1):
        finish_ps = requests[index].finish_ps
        if finish_ps is None or finish_ps >= from_ps:
            yield requests[index]


def _ended_by(cluster: Cluster) -> list[float]:
    """Return when each request and all that were sent before it had ended, picoseconds; infinite while one lives.

    It only rises, so that a window's first living request is found by bisection. Kept while the clock stands.
    """
    known = _ENDED.get(cluster)
    key = (cluster.now_s, len(cluster.requests))
    if known is None or known[0] != key:
        ends = (inf if each.finish_ps is None else each.finish_ps for each in cluster.requests)
        known = (key, list(accumulate(ends, max)))
        _ENDED[cluster] = known
    return known[1]


_ENDED: WeakKeyDictionary[Cluster, tuple[tuple[float, int], list[float]]] = WeakKeyDictionary()


ERRORS_FROM = 400
"""HTTP statuses from here on are no answers."""


def turned_away(request: Request, now_s: float) -> bool:
    """Whether a call had been answered with an error, and not with a first token, at a time."""
    if request.status is Status.SHED:
        return True
    finish_ps = request.finish_ps
    return (
        request.http_status >= ERRORS_FROM
        and request.first_token_ps is None
        and finish_ps is not None
        and finish_ps <= to_ps(now_s)
    )


def ttft_p95_at(cluster: Cluster, now_s: float, window_s: float) -> float | None:
    """Return p95 TTFT as clients see it, seconds.

    It counts those served in the window, and those still waiting with the time they have waited so far. Whoever was
    turned away waits for nothing: that is an error's to count.
    """
    values: list[float] = []
    for request in recent(cluster, now_s - window_s, now_s):
        if turned_away(request, now_s):
            continue
        first_s = request.first_token_s
        if first_s is None or first_s > now_s:
            values.append(now_s - request.sent_s)
        elif first_s > now_s - window_s:
            values.append(first_s - request.sent_s)
    return quantile(values, 0.95)


def gap_p95_at(cluster: Cluster, now_s: float, window_s: float) -> float | None:
    """Return p95, over streams that were open in the window, of each stream's longest gap, seconds.

    A stream that stands still now counts with its silence so far.
    """
    values: list[float] = []
    for request in recent(cluster, now_s - window_s, now_s):
        gap_s = longest_gap_s(request, now_s)
        if gap_s is not None:
            values.append(gap_s)
    return quantile(values, 0.95)


def _gauge(read: Callable[[Sample], float]) -> Callable[[View], float | None]:
    def value(view: View) -> float | None:
        sample = sample_at(view.engine, view.now_s)
        return None if sample is None else read(sample)

    return value


def window(view: View, seconds: float) -> tuple[Sample, Sample] | None:
    """Return the samples at the start and the end of the window that ends now, or None if it has none."""
    first, last = sample_at(view.engine, view.now_s - seconds), sample_at(view.engine, view.now_s)
    return None if first is None or last is None or first is last else (first, last)


def _preemptions_5m(view: View) -> float | None:
    pair = window(view, view.windows.panel_s)
    return (
        None if pair is None else float(pair[1].preemptions_reported - pair[0].preemptions_reported)
    )


def _router_p95_s(view: View) -> float | None:
    sent = sent_between(view.cluster, view.now_s - view.windows.panel_s, view.now_s)
    return quantile([request.router_delay_s for request in sent], 0.95)


def offered_load(view: View, window_s: float) -> float | None:
    """Return tokens wanted over tokens held (Little's law) for the requests that the router let through."""
    everybody = sent_between(view.cluster, view.now_s - window_s, view.now_s)
    sent = [request for request in everybody if request.status is not Status.SHED]
    if not everybody:
        return None
    wanted = sum(r.max_tokens * view.step_s * (r.prompt_tokens + r.max_tokens / 2) for r in sent)
    engines = len(view.cluster.engines)
    return wanted / window_s / (view.fleet.pool_tokens * engines)


def _arrival_rate_12m(view: View) -> float | None:
    sent = sent_between(view.cluster, view.now_s - view.windows.long_s, view.now_s)
    return len(sent) / view.windows.long_s if sent else None


def _prompt_p95_tokens(view: View) -> float | None:
    sent = sent_between(view.cluster, view.now_s - view.windows.long_s, view.now_s)
    return quantile([float(request.prompt_tokens) for request in sent], 0.95)


def _ttft_engine_p95_s(view: View) -> float | None:
    pair = window(view, view.windows.panel_s)
    if pair is None:
        return None
    counts = [b - a for a, b in zip(pair[0].ttft_counts, pair[1].ttft_counts, strict=True)]
    return histogram_quantile(0.95, TTFT_BUCKETS_S, counts)


def _largest_prefill_tokens(view: View) -> float | None:
    samples = view.engine.samples
    last = bisect_right(samples, view.now_s, key=lambda sample: sample.t_s)
    first = bisect_right(samples, view.now_s - view.windows.short_s, key=lambda sample: sample.t_s)
    values = [sample.max_prefill_tokens_in_step for sample in samples[first:last]]
    largest = max(values, default=0)
    return float(largest) if largest else None


def _recompute_share(view: View) -> float | None:
    pair = window(view, view.windows.short_s)
    if pair is None:
        return None
    busy_s = pair[1].busy_s - pair[0].busy_s
    return (pair[1].recompute_s - pair[0].recompute_s) / busy_s if busy_s else 0.0


def _tensor_active(view: View) -> float | None:
    pair = window(view, view.windows.short_s)
    if pair is None:
        return None
    # A token's matrix work is the same in prefill and decode; the profile's prefill cost is its roofline.
    token_s = view.engine.cost.per_prefill_token_ps / 1e12
    computed = pair[1].computed_tokens - pair[0].computed_tokens
    return min(1.0, computed * token_s / (pair[1].t_s - pair[0].t_s))


def _gpu_util(view: View) -> float | None:
    pair = window(view, view.windows.short_s)
    if pair is None:
        return None
    return min(1.0, (pair[1].busy_s - pair[0].busy_s) / (pair[1].t_s - pair[0].t_s))


SIGNALS: dict[str, Callable[[View], float | None]] = {
    "ttft_p95_s": lambda view: ttft_p95_at(view.cluster, view.now_s, view.windows.panel_s),
    "ttft_engine_p95_s": _ttft_engine_p95_s,
    "queue_depth": _gauge(lambda sample: float(sample.waiting)),
    "queue_age_s": _gauge(lambda sample: sample.oldest_waiting_s),
    "kv_usage": _gauge(lambda sample: sample.kv_cache_usage_perc),
    "preemptions_5m": _preemptions_5m,
    "router_p95_s": _router_p95_s,
    "offered_load_12m": lambda view: offered_load(view, view.windows.long_s),
    "offered_load_5m": lambda view: offered_load(view, view.windows.panel_s),
    "arrival_rate_12m": _arrival_rate_12m,
    "prompt_p95_tokens": _prompt_p95_tokens,
    "gap_p95_s": lambda view: gap_p95_at(view.cluster, view.now_s, view.windows.panel_s),
    "largest_prefill_tokens": _largest_prefill_tokens,
    "recompute_share": _recompute_share,
    "unaccounted_share": lambda view: (
        view.engine.num_leaked_blocks / view.engine.config.usable_blocks
    ),
    "tensor_active": _tensor_active,
    "gpu_util": _gpu_util,
}
