"""Small worlds that several tests run."""

import random

from labs.simulator.cluster import Cluster
from labs.simulator.cost_model import CostModel, profile
from labs.simulator.engine import Engine
from labs.simulator.faults import Leak, RateChange, RouterDelayChange
from labs.simulator.request import Request
from labs.simulator.router import RouterDelay
from labs.simulator.scheduler import EngineConfig
from labs.simulator.workload import LengthDistribution, RequestClass, Workload, WorkloadSpec

MS = 1_000_000_000
COST = CostModel(
    base_ps=10 * MS,
    weight_read_ps=9 * MS,
    per_kv_token_ps=1_000_000,
    per_prefill_token_ps=MS // 10,
)
CHAT = RequestClass("chat", 1.0, LengthDistribution(2000, 0.5), LengthDistribution(1600, 0.5))


def engine(num_gpu_blocks=65, *, closed_form=True, sample_every_s=5.0, **config):
    config = {"max_num_seqs": 8, "max_num_batched_tokens": 64, "max_model_len": 4096} | config
    return Engine(
        EngineConfig(num_gpu_blocks=num_gpu_blocks, **config),
        COST,
        closed_form=closed_form,
        sample_every_s=sample_every_s,
    )


def submit(served, *lengths, at_s=0.0, **fields):
    """Submit one request for each (prompt, outputs), all at once."""
    requests = [
        Request(f"q{len(served.requests) + i}", at_s, prompt, outputs, **fields)
        for i, (prompt, outputs) in enumerate(lengths)
    ]
    for request in requests:
        served.submit(request)
    return requests


def random_config(rng):
    return EngineConfig(
        num_gpu_blocks=rng.choice([12, 30, 80, 300]),
        max_num_seqs=rng.choice([1, 3, 8, 20]),
        max_num_batched_tokens=rng.choice([20, 32, 64, 512]),
        block_size=rng.choice([1, 4, 16]),
        max_model_len=rng.choice([40, 100, 1000]),
        enable_chunked_prefill=rng.random() < 0.7,
        scheduler_reserve_full_isl=rng.random() < 0.5,
        watermark=rng.choice([0.0, 0.0, 0.05, 0.2]),
    )


def random_cost(rng):
    return CostModel(
        base_ps=rng.choice([10 * MS, 3 * MS]),
        weight_read_ps=MS,
        per_kv_token_ps=rng.choice([0, 10**5, 10**7, 10**8]),
        per_prefill_token_ps=rng.choice([0, 3 * 10**7]),
        per_sequence_ps=rng.choice([0, 10**7]),
        per_token_ps=rng.choice([0, 10**6]),
        collectives=rng.choice([(), ((1, 10**9), (4, 3 * 10**9), (5, 10**10), (64, 2 * 10**10))]),
        collectives_included=rng.choice([(), ((1, 5 * 10**8), (64, 10**9 + 7))]),
    )


def random_requests(rng, count):
    rate, longest = rng.choice([2, 20, 60]), rng.choice([10, 60, 200])
    t_s, requests = 0.0, []
    for i in range(count):
        t_s += rng.expovariate(rate)
        if rng.random() < 0.2:  # on a round time, where ties with samples and steps happen
            t_s = max(round(t_s, 1), requests[-1].arrival_s if requests else 0.0)
        outputs = rng.randint(1, rng.choice([5, 60]))
        requests.append(Request(f"r{i}", t_s, rng.randint(1, longest), outputs))
    return requests


def fuzzed_engine(seed, *, closed_form=True, pieces=False, listener=None, after_each=None):
    """Run a small random life: traffic, and four things done to the engine at random times."""
    rng = random.Random(f"fuzz:{seed}")
    cut = random.Random(f"pieces:{seed}")
    served = Engine(
        random_config(rng),
        random_cost(rng),
        sample_every_s=rng.choice([0.01, 0.1, 1.0]),
        closed_form=closed_form,
    )
    served.on_step = listener
    requests = random_requests(rng, 50)
    for request in requests:
        served.submit(request)
    end_s = requests[-1].arrival_s
    last_s = 0.0
    for stop_s in [*sorted(rng.uniform(0, end_s * 1.5) for _ in range(4)), end_s * 3 + 20]:
        if pieces:
            for piece_s in sorted(cut.uniform(last_s, stop_s) for _ in range(8)):
                served.advance(piece_s)
        served.advance(stop_s)
        last_s = stop_s
        if stop_s <= end_s * 2:
            interfere(served, requests, rng)
            if after_each is not None:
                after_each(served)
    return served


def interfere(served, requests, rng):
    """Do one of the things that can be done to an engine; draw the same numbers whichever it is."""
    what, size = rng.choice(["leak", "abort", "restart", "slow", "cost"]), rng.random()
    config, cost = random_config(rng), random_cost(rng)
    if what == "leak":
        served.leak(int(size * 20))
    elif what == "abort":
        served.abort(requests[int(size * len(requests))])
    elif what == "restart":
        served.restart(config, cost, down_s=size)
    elif what == "slow":
        served.slowdown = 1 + size
    else:
        served.set_cost(cost)


def cluster():
    """Two replicas of Atlas with a history of ten minutes, and faults to come."""
    atlas = profile("atlas-70b")
    short = RequestClass("short", 0.4, LengthDistribution(500, 0.5), LengthDistribution(200, 0.5))
    spec = WorkloadSpec(((-600.0, 0.9),), (CHAT, short))
    return Cluster(
        EngineConfig(num_gpu_blocks=atlas.num_gpu_blocks()),
        atlas.cost_model(),
        Workload(spec, 7, start_s=-600.0),
        seed=7,
        router_delay=RouterDelay(0.02, 0.08),
        replicas=2,
        start_s=-600.0,
        faults=(
            (-300.0, Leak(0, 50, every_s=10.0, until_s=0.0)),
            (100.0, RateChange(1.2)),
            (150.0, RouterDelayChange(RouterDelay(0.2, 0.5))),
        ),
    )


def handle(world, *, advance=None):
    """Do to a cluster all that can be done to it; return it as it is at 600 s."""
    advance = advance or world.advance
    advance(0.0)
    world.inject_burst(2.5, 10.0, 60.0)
    advance(50.0)
    world.shed(0.2)
    advance(200.0)
    world.limit_max_tokens(300)
    world.add_replica(260.0)
    advance(300.0)
    world.restart_engine(0, world.config, world.cost, 30.0)
    advance(600.0)
    return world
