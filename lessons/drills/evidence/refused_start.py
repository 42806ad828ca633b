"""Drill 3.1: two GPUs of 80 GB, 141 GB of weights, and no server. What the start-up of the simulator says, phase by phase.

Every start runs in ``labs.simulator.memory.startup``: sums, refusals and messages are those of the labs. The calm world
is a 70B in BF16 at TP2 with a context of 8,192, which starts. Scenario constants: the sizes that a world draws, and a disk
that reads 0.165 to 0.19 GB/s in the slow one (5 GB/s elsewhere).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from labs.simulator.memory.ledger import GIB, H100_SXM, LLAMA_70B, MemoryFlags, mib
from labs.simulator.memory.messages import gib
from labs.simulator.memory.phases import Other, StartUp
from labs.simulator.memory.startup import start_up
from lessons.drills.evidence import Observed
from lessons.exact.draws import generator

if TYPE_CHECKING:
    from labs.marking.table import Value

WINDOW_S = 900
"""A fix is judged over the quarter of an hour after it."""
FIRST_BACKOFF_S, LONGEST_BACKOFF_S = 10.0, 300.0
"""Between starts that fail: doubled each time. Source: Kubernetes, Pod lifecycle, CrashLoopBackOff."""
CALM = MemoryFlags(tensor_parallel_size=2, max_model_len=8192)
_CONTEXTS = (16_384, 24_576, 32_768)
_SEATS = (2048, 3072)


@dataclass(frozen=True)
class Case:
    """One world: how the engine is started, and on what."""

    flags: MemoryFlags
    neighbour_bytes: int
    """Held by another process on the first GPU."""
    read_gb_per_s: float | None
    """What the weights come with; None: at the simulator's pace."""
    since_s: float
    """Since the deploy."""
    util: float

    @property
    def start(self) -> StartUp:
        return _start(self.flags, self.neighbour_bytes)

    @property
    def ready_after_s(self) -> float | None:
        """Seconds that a start takes; None if it fails."""
        ready_s = self.start.ready_after_s
        if ready_s is None or self.read_gb_per_s is None:
            return ready_s
        load = next(each for each in self.start.phases if each.name == "weight load")
        return ready_s - (load.to_s - load.from_s) + self.weights_gb / self.read_gb_per_s

    @property
    def weights_gb(self) -> float:
        """Of all ranks."""
        return self.flags.tensor_parallel_size * self.start.ledger.weights / 1e9

    @property
    def restarts(self) -> int:
        """Starts that have failed since the deploy."""
        if self.ready_after_s is not None:
            return 0
        count, now_s, backoff_s = 0, self.start.took_s, FIRST_BACKOFF_S
        while now_s <= self.since_s:
            count += 1
            now_s += backoff_s + self.start.took_s
            backoff_s = min(LONGEST_BACKOFF_S, 2 * backoff_s)
        return count

    @property
    def said(self) -> str:
        """Which phase the log ends in."""
        failure = self.start.failure
        if failure is None:
            return "weight load, under way"
        if failure.phase != "kv sizing":
            return failure.phase
        return "kv sizing: none" if self.start.ledger.available_kv <= 0 else "kv sizing: too few"


@lru_cache(maxsize=512)
def _start(flags: MemoryFlags, neighbour_bytes: int) -> StartUp:
    others = ((Other(4711, neighbour_bytes),),) if neighbour_bytes else ()
    return start_up(LLAMA_70B, flags, others=others)


def _case(world: str, seed: int) -> Case:
    rng = generator("drill-3.1", seed)
    since = float(rng.uniform(600, 720))
    rate = float(rng.uniform(0.165, 0.19))
    context = _CONTEXTS[int(rng.integers(len(_CONTEXTS)))]
    seats = _SEATS[int(rng.integers(len(_SEATS)))]
    neighbour = int(rng.uniform(8, 20) * GIB)
    fraction = round(float(rng.uniform(0.98, 0.99)), 3)
    calm = Case(CALM, 0, None, since, float(rng.uniform(0, 3)))
    match world:
        case "context":
            return replace(calm, flags=replace(CALM, max_model_len=context))
        case "neighbour":
            return replace(calm, neighbour_bytes=neighbour)
        case "seats":
            return replace(calm, flags=replace(CALM, max_num_seqs=seats))
        case "ranks":
            return replace(calm, flags=replace(CALM, tensor_parallel_size=1))
        case "graphs":
            unplanned = replace(CALM, gpu_memory_utilization=fraction, estimate_cudagraphs=False)
            return replace(calm, flags=unplanned)
        case "loading":
            return replace(calm, read_gb_per_s=rate)
    raise KeyError(world)


def _changed(case: Case, fix: str) -> Case:
    match fix:
        case "shorter":
            return replace(case, flags=replace(case.flags, max_model_len=CALM.max_model_len))
        case "move":
            return replace(case, neighbour_bytes=0)
        case "fewer":
            return replace(case, flags=replace(case.flags, max_num_seqs=CALM.max_num_seqs))
        case "two":
            return replace(case, flags=replace(case.flags, tensor_parallel_size=2))
        case "room":
            kept = replace(case.flags, gpu_memory_utilization=0.92, estimate_cudagraphs=True)
            return replace(case, flags=kept)
        case "leave":
            return case
    raise KeyError(fix)


def _not_ready_s(before: Case, fix: str | None) -> float:
    """Return the seconds without a server: since the deploy, or of the quarter of an hour after a fix."""
    if fix is None:
        return before.since_s
    after = _changed(before, fix)
    if after.ready_after_s is None:
        return float(WINDOW_S)
    # Whatever is changed starts the engine again; only who leaves it keeps what is loaded.
    done_s = before.since_s if fix == "leave" else 0.0
    return min(float(WINDOW_S), after.ready_after_s - done_s)


def _log(case: Case) -> tuple[str, ...]:
    if case.start.failure is None:
        return (
            "(Worker_TP0) INFO Starting to load model llama-70b...",
            f"({case.since_s - 8:.0f} s ago; nothing since)",
        )
    error = next(line for line in case.start.lines if line.level == "ERROR")
    return (f"({error.who}) ERROR {error.text.split('. Try', 1)[0].split('. If', 1)[0]}",)


def observe(world: str, seed: int, fix: str | None = None) -> Observed:
    """Return what a world reads. A fix changes one flag, or what shares the GPU, and starts again. Takes under 1 ms."""
    before = _case(world, seed)
    case = before if fix is None else _changed(before, fix)
    sums = case.start.ledger
    not_ready_s = _not_ready_s(before, fix)
    sized = case.start.failure is None or "kv" in case.said or "graph" in case.said
    shown = sized and case.read_gb_per_s is None
    others_gib = case.neighbour_bytes / GIB
    shorter = replace(case.flags, max_model_len=2048)
    trial = replace(case, flags=shorter)
    starts = trial.ready_after_s is not None and trial.ready_after_s <= WINDOW_S / 3
    ranks = case.flags.tensor_parallel_size
    values: dict[str, Value] = {
        "not_ready_s": not_ready_s,
        "last_phase": case.said,
        "restarts": float(case.restarts),
        "others_gib": others_gib,
        "available_kv_gib": sums.available_kv / GIB if shown else None,
        "short_context": "ready" if starts else "not ready",
        "gpu_util": case.util,
    }
    prints = {
        "log": _log(case),
        "pods": (f"READY 0/1   RESTARTS {case.restarts}   AGE {case.since_s / 60:.0f}m",),
        "processes": (
            f"GPU 0, not of this container: {mib(case.neighbour_bytes):,} MiB",
            "GPU 1, not of this container: 0 MiB",
        ),
        "ledger": (
            f"{'requested':<30}{gib(sums.requested):>8} GiB a GPU, on {ranks}",
            f"{'weights':<30}{gib(sums.weights):>8} GiB",
            f"Available KV cache memory: {gib(sums.available_kv)} GiB"
            if shown
            else "Available KV cache memory: (not reached)",
        ),
        "total": (
            f"torch sees {gib(H100_SXM.usable_bytes)} GiB of each GPU, {2 * H100_SXM.usable_bytes / GIB:.1f} GiB in all",
            f"weights      {2 * LLAMA_70B.parameters / GIB:.1f} GiB",
        ),
        "trial": (
            f"--max-model-len 2048: {'ready' if starts else 'not ready'} after five minutes",
        ),
        "utilisation": (f"GPU utilisation: {case.util:.0f} %",),
    }
    return Observed(values, prints)
