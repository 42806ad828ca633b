"""A small fleet whose memory is followed."""

from labs.simulator.cluster import Cluster
from labs.simulator.config import EngineConfig
from labs.simulator.cost_model import profile
from labs.simulator.memory.faults import Watch
from labs.simulator.memory.ledger import LLAMA_70B, MemoryFlags
from labs.simulator.memory.state import Memory
from labs.simulator.router import RouterDelay
from labs.simulator.workload import LengthDistribution, RequestClass, Workload, WorkloadSpec

CHAT = RequestClass("chat", 0.98, LengthDistribution(900, 0.6), LengthDistribution(150, 0.5))
SCORING = RequestClass("scoring", 0.02, LengthDistribution(9000, 0.1), LengthDistribution(1, 0.0))
FLAGS = MemoryFlags(max_num_seqs=128)


def fleet(*faults, flags=FLAGS, classes=(CHAT,), growths=(), rate=1.0, seed=3, **memory):
    llama = profile("llama-70b")
    config = EngineConfig(
        num_gpu_blocks=llama.num_gpu_blocks(),
        max_num_seqs=flags.max_num_seqs,
        max_num_batched_tokens=flags.max_num_batched_tokens,
    )
    cluster = Cluster(
        config,
        llama.cost_model(),
        Workload(WorkloadSpec(((0.0, rate),), classes), seed),
        seed=seed,
        router_delay=RouterDelay(0.02, 0.08),
        replicas=1,
    )
    cluster.memory[0] = Memory(LLAMA_70B, flags, start_s=-3600.0, growths=growths, **memory)
    for at_s, fault in ((0.0, Watch(0)), *faults):
        cluster.schedule(at_s, fault)
    return cluster
