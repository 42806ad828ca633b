"""Two loads that anyone can make again, and how fast the simulator runs them.

Azure: the first 2,000 requests of the conversation trace of 2023. Poisson: 5 requests a second, prompts lognormal (mean
of the logarithm 6.6, sd 0.8, at most 3,500 tokens), outputs lognormal (5.0, sd 0.7, at most 590). Both on one replica of
``llama-70b``: a 70B model, TP4, chunk 2,048, 128 sequences.

``python -m benchmarks.public_loads LOAD COUNT SEED`` runs one load in a process of its own, whose peak memory is
then that of the load, and prints a line of JSON.
"""

import hashlib
import json
import math
import random
import resource
import sys
import time
import tomllib
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from labs.simulator import public_traces
from labs.simulator.cost_model import profile
from labs.simulator.engine import Engine
from labs.simulator.metrics import percentile
from labs.simulator.request import Request
from labs.simulator.scheduler import EngineConfig

POISSON_RATE_RPS = 5.0
MAX_NUM_BATCHED_TOKENS, MAX_NUM_SEQS = 2048, 128


def poisson(count: int, seed: int) -> list[Request]:
    """Return ``count`` requests of the Poisson load."""
    draws = random.Random(f"poisson:{seed}")
    requests, at_s = [], 0.0
    for i in range(count):
        at_s += draws.expovariate(POISSON_RATE_RPS)
        prompt = min(3500, max(1, round(math.exp(draws.gauss(6.6, 0.8)))))
        output = min(590, max(1, round(math.exp(draws.gauss(5.0, 0.7)))))
        requests.append(Request(f"poisson-{i}", at_s, prompt, output))
    return requests


def azure(count: int, seed: int) -> list[Request]:
    """Return the first ``count`` requests of the Azure trace; nothing in it is random."""
    del seed
    trace = public_traces.load("azure-2023-conversation")
    columns = zip(trace.arrivals_s, trace.input_tokens, trace.output_tokens, strict=True)
    return [
        Request(f"azure-{i}", at_s, prompt, output)
        for i, (at_s, prompt, output) in enumerate(islice(columns, count))
    ]


LOADS = {"azure": azure, "poisson": poisson}


def served(requests: Sequence[Request]) -> Engine:
    """Serve all ``requests`` to their ends on one replica."""
    model = profile("llama-70b")
    config = EngineConfig(
        num_gpu_blocks=model.num_gpu_blocks(),
        max_num_batched_tokens=MAX_NUM_BATCHED_TOKENS,
        max_num_seqs=MAX_NUM_SEQS,
    )
    engine = Engine(config, model.cost_model())
    for request in requests:
        engine.submit(request)
    until_s = requests[-1].arrival_s
    while any(request.finish_ps is None for request in requests[-MAX_NUM_SEQS:]):
        until_s += 10.0
        engine.advance(until_s)
    return engine


def rows(requests: Sequence[Request]) -> list[tuple[float, ...]]:
    """Return what each request felt: time to first token, per output token, longest gap, whole time, in seconds."""
    found: list[tuple[float, ...]] = []
    for request in requests:
        first_s, finish_s = request.first_token_s or 0.0, request.finish_s or 0.0
        after_first = max(1, request.num_output_tokens - 1)
        found.append(
            (
                first_s - request.arrival_s,
                (finish_s - first_s) / after_first,
                request.longest_gap_s,
                finish_s - request.arrival_s,
            )
        )
    return found


def measure(load: str, count: int, seed: int) -> dict[str, object]:
    """Return how long a load took and what came of it; traffic, serving and each request's measures are timed."""
    started = time.perf_counter()
    requests = LOADS[load](count, seed)
    engine = served(requests)
    found = rows(requests)
    took_s = time.perf_counter() - started
    lasted_s = max(request.finish_s or 0.0 for request in requests) - requests[0].arrival_s
    last = engine.samples[-1]
    digest = hashlib.sha256(repr([request.state() for request in requests]).encode()).hexdigest()
    ttfts, tpots = [row[0] for row in found], [row[1] for row in found]
    return {
        "load": load,
        "requests": count,
        "seed": seed,
        "simulated_s": round(lasted_s, 3),
        "took_s": round(took_s, 3),
        "simulated_s_per_s": round(lasted_s / took_s),
        "peak_mib": peak_mib(),
        "steps": last.steps,
        "preemptions": last.preemptions,
        "ttft_p50_s": round(percentile(ttfts, 50), 6),
        "ttft_p95_s": round(percentile(ttfts, 95), 6),
        "tpot_p50_s": round(percentile(tpots, 50), 6),
        "sha256": digest,
        "version": simulator_version(),
        "python": sys.version.split()[0],
    }


def peak_mib() -> int:
    """Return the most memory that this process has held, MiB.

    The kernel's own mark where it has one: ``ru_maxrss`` also holds what the parent had at the fork.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return round(int(line.split()[1]) / 1024)
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def simulator_version() -> str:
    """Return the version of this project."""
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    return str(tomllib.loads(text)["project"]["version"])


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))) + "\n")
