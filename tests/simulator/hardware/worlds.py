"""Small clusters on known hardware."""

from labs.simulator.cluster import Cluster
from labs.simulator.cost_model import profile
from labs.simulator.hardware.boxes import box
from labs.simulator.hardware.placement import Placement
from labs.simulator.hardware.state import Hardware
from labs.simulator.router import RouterDelay
from labs.simulator.scheduler import EngineConfig
from labs.simulator.workload import LengthDistribution, RequestClass, Workload, WorkloadSpec

MS = 1_000_000_000
CHAT = RequestClass("chat", 1.0, LengthDistribution(600, 0.5), LengthDistribution(150, 0.5))


def cluster(hardware, model, *, replicas, rate=1.0, faults=(), seed=1):
    its = profile(model)
    config = EngineConfig(
        num_gpu_blocks=its.num_gpu_blocks(),
        max_num_batched_tokens=its.max_num_batched_tokens,
        max_num_seqs=64,
    )
    return Cluster(
        config,
        its.cost_model(),
        Workload(WorkloadSpec(((0.0, rate),), (CHAT,)), seed),
        seed=seed,
        router_delay=RouterDelay(0.02, 0.08),
        replicas=replicas,
        faults=faults,
        hardware=hardware,
    )


def sxm(**fields):
    """One replica of llama-70b on four SXM GPUs."""
    hardware = Hardware(
        profile("llama-70b"), {"node-0": box("h100-sxm-4")}, [Placement("node-0", (0, 1, 2, 3))]
    )
    return cluster(hardware, "llama-70b", replicas=1, **fields)


def nvl(**fields):
    """Two replicas at TP2, each on the first pair of a box of two bridged pairs."""
    nodes = {name: box("h100-nvl-4") for name in ("node-0", "node-1")}
    places = [Placement("node-0", (0, 1)), Placement("node-1", (0, 1))]
    hardware = Hardware(profile("llama-70b-nvl"), nodes, places)
    return cluster(hardware, "llama-70b-nvl", replicas=2, **fields)


def decode_ms(cost, batch, context=1100):
    took = cost.step_ps(kv_tokens=context * batch, prefill_tokens=0, sequences=batch, tokens=batch)
    return took / MS
