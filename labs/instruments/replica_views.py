"""Replicas side by side, and the ranks of each: what a fleet's own tools print of them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from labs.instruments.gpu_readings import readings
from labs.instruments.gpu_tables import by_node
from labs.instruments.hardware_signals import SPREAD_WINDOW_S
from labs.instruments.replica_signals import (
    mean_step_s,
    prefill_tokens_per_s,
    prompt_tokens_per_s,
    replica_ttfts,
)
from labs.instruments.signals import PANEL_S, SHORT_S, quantile, sample_at, sent_between
from labs.simulator.hardware.topology import path

if TYPE_CHECKING:
    from labs.instruments.signals import View
    from labs.simulator.hardware.placement import Placement
    from labs.simulator.hardware.state import Hardware


def _hardware(view: View) -> Hardware:
    if view.cluster.hardware is None:
        raise ValueError("topo: this cluster's placement is not recorded.")
    return view.cluster.hardware


def replicas(view: View) -> str:
    """Return a line for each replica: its queue and pool now, and its TTFT over five minutes."""
    lines = ["replica  running  waiting  kv_usage  served_5m  ttft_p50_s  ttft_p95_s"]
    for replica, engine in enumerate(view.cluster.engines):
        sample, values = sample_at(engine, view.now_s), replica_ttfts(view, replica)
        running, waiting = (sample.running, sample.waiting) if sample else (0, 0)
        usage = sample.kv_cache_usage_perc if sample else 0.0
        p50, p95 = quantile(values, 0.5) or 0.0, quantile(values, 0.95) or 0.0
        lines.append(
            f"{replica:7d}  {running:7d}  {waiting:7d}  {usage:8.3f}  {len(values):9d}  {p50:10.2f}  {p95:10.2f}"
        )
    return "\n".join(lines)


def demand(view: View) -> str:
    """Return what people asked for in five minutes, against what the replicas prefill by their load test."""
    sent = sent_between(view.cluster, view.now_s - PANEL_S, view.now_s)
    if not sent:
        return "no request arrived in this window"
    prompts = [float(request.prompt_tokens) for request in sent]
    asked, each = prompt_tokens_per_s(view) or 0.0, prefill_tokens_per_s(view)
    serving = len(view.cluster.engines) - len(view.cluster.front.drained)
    rows = [
        ("arrivals", f"{len(sent) / PANEL_S:.2f} /s", f"{len(sent)} in 5 min"),
        (
            "prompt tokens",
            f"mean {sum(prompts) / len(prompts):,.0f}",
            f"p95 {quantile(prompts, 0.95):,.0f}",
        ),
        ("prefill asked for", f"{asked:,.0f} /s", "tokens"),
        (
            "prefill, load test",
            f"{each:,.0f} /s",
            f"tokens, one replica with nothing to decode; {serving} in rotation",
        ),
        ("asked over load test", f"{asked / (max(1, serving) * each):.2f}", "of all in rotation"),
    ]
    return "\n".join(f"{name:22}{value:>14}  {note}" for name, value, note in rows)


def step_times(view: View) -> str:
    """Return the steps of each replica over a minute, and how their five-second means spread over two."""
    lines = ["replica  steps  mean_ms  tokens_per_step  p50_ms_of_5s  p95_ms_of_5s"]
    for replica, engine in enumerate(view.cluster.engines):
        first, last = sample_at(engine, view.now_s - SHORT_S), sample_at(engine, view.now_s)
        mean_s = mean_step_s(view, replica)
        if first is None or last is None or mean_s is None:
            lines.append(
                f"{replica:7d}      0        -                -             -             -"
            )
            continue
        steps = last.steps - first.steps
        window = [s for s in engine.samples[-200:] if s.t_s >= view.now_s - SPREAD_WINDOW_S]
        means = [
            1000 * (b.busy_s - a.busy_s) / (b.steps - a.steps)
            for a, b in pairwise(window)
            if b.steps > a.steps
        ]
        tokens = (last.computed_tokens - first.computed_tokens) / steps
        lines.append(
            f"{replica:7d}  {steps:5d}  {1000 * mean_s:7.1f}  {tokens:15.0f}  "
            f"{quantile(means, 0.5) or 0.0:12.1f}  {quantile(means, 0.95) or 0.0:12.1f}"
        )
    return "\n".join(lines)


def rank_times(view: View) -> str:
    """Return where each rank's minute went: own kernels, collectives and the wait within them, idle."""
    lines = ["replica  rank  node    gpu  own_kernels_%  in_all_reduce_%  idle_%"]
    for row in readings(view):
        if row.replica is None or row.rank is None:
            continue
        own, waits = 100 * row.compute, 100 * row.waiting
        lines.append(
            f"{row.replica:7d}  {row.rank:4d}  {row.node}  {row.gpu:3d}  {own:13.1f}  {waits:15.1f}  {max(0.0, 100 - own - waits):6.1f}"
        )
    return "\n".join(lines)


def pod_topology(view: View) -> str:
    """Return what ``nvidia-smi topo -m`` prints inside each replica's container: its own GPUs, renumbered from 0."""
    hardware = _hardware(view)
    texts = [
        (f"replica-{replica} on {place.node}", _matrix(hardware, place))
        for replica, place in enumerate(hardware.placement)
        if place is not None
    ]
    return by_node(texts)


def _matrix(hardware: Hardware, place: Placement) -> str:
    box, down = hardware.nodes[place.node], hardware.links_down[place.node]
    lines = [f"NVIDIA_VISIBLE_DEVICES={','.join(map(str, place.gpus))}"]
    lines.append("\t" + "\t".join([*(f"GPU{i}" for i in range(len(place.gpus))), "NUMA Affinity"]))
    for rank, gpu in enumerate(place.gpus):
        cells = [" X " if gpu == other else path(box, gpu, other, down) for other in place.gpus]
        lines.append("\t".join([f"GPU{rank}", *cells, str(box.gpus[gpu].numa_node)]))
    return "\n".join(lines).expandtabs(8)
