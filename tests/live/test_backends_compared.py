"""The simulator's scheduler against the engine's own, step by step: counts are equal, whatever the machine's speed."""

from labs.live import comparison, driving, iterations
from labs.live.comparison import Run, Scenario
from labs.simulator.config import EngineConfig
from labs.simulator.cost_model import CostModel
from labs.simulator.request import Request

POOL = EngineConfig(
    num_gpu_blocks=40,
    max_num_seqs=16,
    max_num_batched_tokens=2048,
    block_size=32,
    max_model_len=512,
)
COST = CostModel(
    base_ps=10**10, weight_read_ps=0, per_kv_token_ps=2 * 10**6, per_prefill_token_ps=5 * 10**8
)


def test_a_storm_takes_as_many_steps_and_preemptions_as_the_simulator_says(start_engine):
    scenario = Scenario(
        "small-storm",
        "16 streams at once in a pool for a few",
        tuple(Request(f"r{i:02}", i * 1e-6, 64, 192) for i in range(16)),
        (Run("A", "storm", POOL),),
    )
    server = start_engine("small-llama", POOL, iterations.FLAG)
    seen = server.launch.log_path.stat().st_size
    drive = driving.drive(server.base_url, scenario.fresh(), model="small-llama", limit_s=300)
    steps = list(iterations.iterations(server.launch.log_path.read_bytes()[seen:].decode()))
    live = comparison.measured(drive, steps)
    met = comparison.met_by(steps, scenario.runs[0], 16)
    simulated = comparison.simulate(scenario, scenario.runs[0], COST, met)
    assert live.answered == simulated.answered == 16
    assert simulated.preemptions > 0
    assert (live.steps, live.preemptions) == (simulated.steps, simulated.preemptions)
    assert live.peak_kv_usage == simulated.peak_kv_usage
