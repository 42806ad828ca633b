"""How fast the simulator runs: simulated seconds per second of wall time.

Run from the repository root: ``python -m benchmarks.simulator_speed``. Each load is run three
times; the best is shown, since noise only slows. "Twice as long" shows that the cost of a
simulated second does not grow.
"""

import pickle
import sys
import time
from collections.abc import Iterator

from labs.simulator.cost_model import ModelProfile, profile
from labs.simulator.engine import Engine
from labs.simulator.scheduler import EngineConfig
from labs.simulator.workload import LengthDistribution, RequestClass, Workload, WorkloadSpec

HEALTHY = RequestClass(
    "chat",
    1.0,
    LengthDistribution(1000, 0.7, maximum=3500),
    LengthDistribution(190, 0.7, maximum=590),
)
LONG = RequestClass("long", 1.0, LengthDistribution(2000, 0.5), LengthDistribution(1600, 0.5))


def loads() -> Iterator[tuple[str, ModelProfile, EngineConfig, RequestClass, float, float]]:
    """Yield (name, profile, config, traffic, requests per second, seconds)."""
    llama, atlas = profile("llama-70b"), profile("atlas-70b")
    config = EngineConfig(
        num_gpu_blocks=llama.num_gpu_blocks(), max_num_batched_tokens=llama.max_num_batched_tokens
    )
    yield "llama-70b, healthy, 5 requests/s", llama, config, HEALTHY, 5.0, 4000.0
    yield "same, twice as long", llama, config, HEALTHY, 5.0, 8000.0
    config = EngineConfig(num_gpu_blocks=atlas.num_gpu_blocks(), max_num_seqs=40)
    yield "atlas-70b, healthy, 0.36 requests/s", atlas, config, LONG, 0.36, 4000.0
    config = EngineConfig(num_gpu_blocks=atlas.num_gpu_blocks(), scheduler_reserve_full_isl=False)
    yield "atlas-70b, storm, gate off", atlas, config, LONG, 0.55, 4000.0
    yield "same, twice as long", atlas, config, LONG, 0.55, 8000.0
    config = EngineConfig(
        num_gpu_blocks=atlas.num_gpu_blocks(), scheduler_reserve_full_isl=False, policy="priority"
    )
    yield "same under priority, one step at a time", atlas, config, LONG, 0.55, 1000.0


def main() -> None:
    """Print the table."""
    say = sys.stdout.write
    for name, model, config, traffic, rate, duration_s in loads():
        best_s = made_s = float("inf")
        for _ in range(3):
            started = time.perf_counter()
            requests = list(Workload(WorkloadSpec(((0.0, rate),), (traffic,)), 1).until(duration_s))
            made_s = min(made_s, time.perf_counter() - started)
            engine = Engine(config, model.cost_model())
            started = time.perf_counter()
            for request in requests:
                engine.submit(request)
            engine.advance(duration_s)
            best_s = min(best_s, time.perf_counter() - started)
        last = engine.samples[-1]
        started = time.perf_counter()
        size = len(pickle.dumps(engine))
        dump_s = time.perf_counter() - started
        say(
            f"{name}: {duration_s / best_s:,.0f} simulated s/s "
            f"({duration_s / (best_s + made_s):,.0f} with the traffic), "
            f"{len(requests):,} requests, {last.steps:,} steps, {last.preemptions:,} preemptions, "
            f"checkpoint {size / 1e6:.1f} MB in {dump_s:.2f} s\n"
        )


if __name__ == "__main__":
    main()
