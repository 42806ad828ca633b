"""What the host's threads of an engine do, as a sampler of stacks sees it: whether the GPU waits for them, and on what."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labs.instruments.signals import View
    from labs.simulator.cluster import Cluster

SAMPLED_S = 20.0
SAMPLES_PER_S = 100
"""py-spy's default rate."""
COLLECTOR, EXPORTER, NOTHING = "gc.collect", "generate_latest", "nothing"
_FRAMES = {
    COLLECTOR: "step (v1/engine/core.py) > schedule > gc: collecting generation 2",
    EXPORTER: "step (v1/engine/core.py) > record > generate_latest (prometheus_client/exposition.py)",
}


def lost(view: View) -> tuple[float, float]:
    """Return the (seconds lost between steps, seconds busy in steps) of the next ``SAMPLED_S``, by a copy of the world."""
    cluster: Cluster = pickle.loads(pickle.dumps(view.cluster))  # noqa: S301  (our own bytes)
    engine = cluster.engines[view.replica]
    paused_s, busy_s = engine.paused_s, engine.busy_s
    cluster.advance(view.now_s + SAMPLED_S)
    return engine.paused_s - paused_s, engine.busy_s - busy_s


def lost_share(view: View) -> float:
    """Return the share of time in which the engine had work and its host did something else."""
    return min(1.0, lost(view)[0] / SAMPLED_S)


def holder(view: View) -> str:
    """Return what holds the engine's loop between its steps: the collector, the exporter, or nothing."""
    kinds = [EXPORTER if rule.every_s is not None else COLLECTOR for rule in view.engine.pauses]
    return kinds[0] if kinds else NOTHING


def stacks(view: View) -> str:
    """Return py-spy's share of samples by stack of the engine core's main thread, largest first."""
    paused_s, busy_s = lost(view)
    cost = view.engine.cost
    launch = max(0, cost.base_ps - cost.weight_read_ps) / max(1, cost.base_ps)
    # Of a step, the host schedules and launches; the rest it waits for the GPU.
    hosted_s = busy_s * launch / 2
    rows = [
        ("step (v1/engine/core.py) > execute_model > synchronize", busy_s - hosted_s),
        ("step (v1/engine/core.py) > schedule, prepare_inputs, sample", hosted_s),
        ("run_busy_loop > input_queue.get", max(0.0, SAMPLED_S - busy_s - paused_s)),
    ]
    if paused_s:
        rows.append((_FRAMES[holder(view)], paused_s))
    samples = round(SAMPLED_S * SAMPLES_PER_S)
    lines = [f"EngineCore MainThread, {samples} samples at {SAMPLES_PER_S} Hz"]
    for frame, took_s in sorted(rows, key=lambda row: -row[1]):
        lines.append(f"{100 * took_s / SAMPLED_S:5.1f} %  {frame}")
    held = holder(view)
    said = f"{100 * paused_s / SAMPLED_S:.1f} % of the time, mostly in {held}"
    lines.append(f"between steps, work waiting: {said if paused_s else 'never'}")
    return "\n".join(lines)
