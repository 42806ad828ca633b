"""The numbers that instruments show of what is special within the engines: gaps between tokens, pauses, who sends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.instruments import host_stacks, prefixes, request_classes
from labs.instruments.profile_trace import PROFILERS, totals
from labs.instruments.profile_window import steps_ahead
from labs.instruments.signals import histogram_quantile, sample_at
from labs.simulator.telemetry import ITL_BUCKETS_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from labs.instruments.signals import View


def itl_quantile(view: View, share: float) -> float | None:
    """Return a quantile of the gaps between tokens over five minutes and all engines, as PromQL gives it, seconds."""
    counts = [0] * (len(ITL_BUCKETS_S) + 1)
    for engine in view.cluster.engines:
        first, last = (
            sample_at(engine, view.now_s - view.windows.panel_s),
            sample_at(engine, view.now_s),
        )
        if last is None:
            continue
        before = (0,) * len(counts) if first is None else first.itl_counts
        counts = [sum_ + b - a for sum_, a, b in zip(counts, before, last.itl_counts, strict=True)]
    return histogram_quantile(share, ITL_BUCKETS_S, counts)


def itl_mean_s(view: View) -> float | None:
    """Return the mean gap between tokens over five minutes and all engines, seconds; None without any."""
    total_s, count = 0.0, 0
    for engine in view.cluster.engines:
        first, last = (
            sample_at(engine, view.now_s - view.windows.panel_s),
            sample_at(engine, view.now_s),
        )
        if last is not None:
            total_s += last.itl_sum_s - (0.0 if first is None else first.itl_sum_s)
            count += sum(last.itl_counts) - (0 if first is None else sum(first.itl_counts))
    return total_s / count if count else None


def attention_backend(view: View) -> str | None:
    """Return the attention backend that the replica's server chose; None where its log does not tell."""
    kernels = view.cluster.kernels.get(view.replica)
    return None if kernels is None else kernels.attention_backend


def linear_kernel(view: View) -> str | None:
    """Return the kernel of the FP8 layers that the replica's server chose; None where its log does not tell."""
    kernels = view.cluster.kernels.get(view.replica)
    return None if kernels is None else kernels.linear_kernel


PROFILE_S = 10.0
"""How long a profile looks."""


def class_share(view: View, name: str) -> float | None:
    """Return the share of a class of kernels in torch.profiler's next ten seconds of rank 0; None if no step runs."""
    slowdown = PROFILERS["torch"].slowdown
    records, ranks = steps_ahead(view, PROFILE_S, replica=view.replica, slowdown=slowdown)
    if not records:
        return None
    found = totals(records, ranks[0])
    return found[name] / sum(found.values())


def _share_of(name: str) -> Callable[[View], float | None]:
    return lambda view: class_share(view, name)


INSIDE_SIGNALS: dict[str, Callable[[View], float | str | None]] = {
    "itl_p99_s": lambda view: itl_quantile(view, 0.99),
    "itl_mean_s": itl_mean_s,
    "attention_backend": attention_backend,
    "linear_kernel": linear_kernel,
    "itl_p50_s": lambda view: itl_quantile(view, 0.5),
    "other_class_share_5m": request_classes.other_share,
    "prefix_hit_share_5m": prefixes.hit_share,
    "first_diff_token": prefixes.first_difference,
    "tenants_5m": prefixes.distinct,
    "gemm_share": _share_of("gemm"),
    "attention_share": _share_of("attention"),
    "gaps_share": _share_of("gaps"),
    "host_lost_share": host_stacks.lost_share,
    "host_holder": host_stacks.holder,
}
