"""Memory as people look at it: a ledger by owner, torch's summary, processes, and how it went over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from labs.instruments.experience import is_lost
from labs.instruments.logs.entries import stamp
from labs.instruments.memory_growth import gap_bytes, slope_mib_per_h
from labs.instruments.prometheus.scrapes import process_at
from labs.instruments.signals import PANEL_S, sent_between
from labs.simulator.memory.ledger import mib

if TYPE_CHECKING:
    from labs.instruments.signals import View
    from labs.simulator.memory.state import Memory

NOT_FOLLOWED = "memory: this world does not follow the memory of that replica"
NO_PROCESS = "memory: no process of the engine is up; its start-up log says why"


class App(NamedTuple):
    """One row of nvidia-smi's compute apps."""

    gpu: int
    pid: int
    name: str
    used_mib: int


def memory_ledger(view: View, replica: int = 0) -> str:
    """Return one rank's memory by owner, MiB, each with what shows it; then what the totals leave out."""
    memory = view.cluster.memory.get(replica)
    if memory is None:
        return NOT_FOLLOWED
    rank = memory.worst_rank(view.now_s)
    rows = _rows(memory, rank, view.now_s)
    if not rows:
        return NO_PROCESS
    free = memory.free_bytes(rank, view.now_s)
    reserved, allocated = memory.reserved_bytes(view.now_s), memory.allocated_bytes(view.now_s)
    others = sum(t.n_bytes for t in memory.tenants_at(view.now_s) if t.rank == rank)
    head = (
        f"replica {replica}, rank {rank} (GPU {gpu_of(memory, rank)}): the one with the least free"
    )
    totals = [
        ("torch allocated", allocated, "torch.cuda.memory_allocated"),
        ("torch reserved", reserved, "torch.cuda.memory_reserved"),
        ("process", memory.process_bytes(view.now_s), "nvidia-smi, this process"),
        ("other processes", others, "nvidia-smi, other pids"),
        ("free", free, "nvidia-smi: total less used and the driver's own"),
    ]
    lines = [head, f"{'owner':28}{'MiB':>9}  shown by"]
    lines += [f"{name:28}{mib(size):>9,}  {shown}" for name, size, shown in rows]
    lines.append("-" * 60)
    lines += [f"{name:28}{mib(size):>9,}  {shown}" for name, size, shown in totals]
    return "\n".join(lines)


def gpu_of(memory: Memory, rank: int) -> int:
    """Return the index of a rank's GPU on its node."""
    return memory.gpus[rank] if rank < len(memory.gpus) else rank


def _rows(memory: Memory, rank: int, at_s: float) -> list[tuple[str, int, str]]:
    sums = memory.ledger_at(at_s)
    if sums is None:
        return []
    moment = memory.moment_at(at_s)
    rows = [
        ("weights", sums.weights, "torch allocated"),
        ("KV cache", sums.kv_cache, "torch allocated; kv_cache_usage_perc says how much is in use"),
        ("workspace", sums.workspace, "torch allocated"),
        ("CUDA graphs, at start", sums.cuda_graphs, "torch reserved, private pool"),
        (
            "activation peak, cached",
            sums.activation_peak,
            "torch reserved, allocated within a step only",
        ),
    ]
    rows += [
        (owner, held, "torch reserved, private pools" if owner == "cuda_graph_pools" else "torch allocated")
        for owner, held in sorted(memory.growth_at(at_s).items())
    ]  # fmt: skip
    if moment.reserved:
        rows += [
            ("caches of requests", moment.allocated, "torch allocated"),
            ("split, free", moment.inactive_split, "torch reserved, inactive"),
            (
                "cached, whole segments",
                moment.reserved - moment.allocated - moment.inactive_split,
                "torch reserved, inactive",
            ),
        ]
    rows += [
        ("CUDA context, modules", sums.cuda_context + sums.late, "nvidia-smi only"),
        ("NCCL", sums.nccl, "nvidia-smi only"),
    ]
    rows += [
        (f"pid {tenant.pid} ({tenant.name})", tenant.n_bytes, "nvidia-smi, another process")
        for tenant in memory.tenants_at(at_s)
        if tenant.rank == rank
    ]
    return rows


def memory_summary(view: View, replica: int = 0) -> str:
    """Return what ``torch.cuda.memory_summary`` prints of a rank: present and peak, in MiB."""
    memory = view.cluster.memory.get(replica)
    if memory is None:
        return NOT_FOLLOWED
    at_s = view.now_s
    life, sums = memory.life_at(at_s), memory.ledger_at(at_s)
    if life is None or sums is None:
        return NO_PROCESS
    moment = memory.moment_at(at_s)
    allocated, reserved = memory.allocated_bytes(at_s), memory.reserved_bytes(at_s)
    spike = max(
        (t.n_bytes for t in memory.transients if life.start_s <= t.at_s <= at_s and not t.failed),
        default=0,
    )
    history = [] if life.workspaces is None else life.workspaces.history
    peak_moment = max((m.reserved for m in history if m.at_s <= at_s), default=0)
    rows = [
        ("Allocated memory", allocated, allocated + sums.activation_peak + spike),
        ("Active memory", allocated, allocated + sums.activation_peak + spike),
        ("GPU reserved memory", reserved, max(reserved - moment.reserved + peak_moment, allocated + sums.activation_peak + spike)),
        ("Non-releasable memory", moment.inactive_split, max((m.inactive_split for m in history if m.at_s <= at_s), default=0)),
    ]  # fmt: skip
    bar, thin = "|" + "=" * 59 + "|", "|" + "-" * 59 + "|"
    lines = [
        bar,
        f"|{f'PyTorch CUDA memory summary, device ID {gpu_of(memory, 0)}':^59}|",
        thin,
        f"|{'CUDA OOMs: 0':^29}|{f'cudaMalloc retries: {int(spike > memory.free_bytes(0, at_s))}':^29}|",
        bar,
        f"|{'Metric':^25}|{'Cur Usage':^16}|{'Peak Usage':^16}|",
        thin,
    ]
    lines += [f"| {name:24}|{mib(now):>11} MiB |{mib(peak):>11} MiB |" for name, now, peak in rows]
    return "\n".join([*lines, bar])


def compute_apps(view: View) -> tuple[App, ...]:
    """Return the processes on the GPUs of all replicas that are followed, in order of GPU and pid."""
    apps = []
    for _, memory in sorted(view.cluster.memory.items()):
        used = memory.process_bytes(view.now_s)
        for rank in memory.ranks:
            pid = memory.pid_of(rank, view.now_s)
            if pid is not None and used:
                apps.append(App(gpu_of(memory, rank), pid, f"VLLM::Worker_TP{rank}", mib(used)))
        apps += [
            App(gpu_of(memory, tenant.rank), tenant.pid, tenant.name, mib(tenant.n_bytes))
            for tenant in memory.tenants_at(view.now_s)
        ]
    return tuple(sorted(apps))


def compute_apps_csv(view: View) -> str:
    """Return the lines of ``nvidia-smi --query-compute-apps=pid,process_name,used_memory --format=csv``, the GPU first."""
    rows = [f"{app.gpu}, {app.pid}, {app.name}, {app.used_mib} MiB" for app in compute_apps(view)]
    return "\n".join(["gpu, pid, process_name, used_gpu_memory [MiB]", *rows])


def host_memory(view: View, replica: int = 0) -> str:
    """Return the resident memory of a replica's host processes, as ``ps`` would list it."""
    memory = view.cluster.memory.get(replica)
    if memory is None:
        return NOT_FOLLOWED
    rss = memory.host_rss_mib(view.now_s)
    if not rss:
        return NO_PROCESS
    return "\n".join(
        ["   RSS MiB  COMMAND", *(f"{size:>10,}  VLLM::{name}" for name, size in rss.items())]
    )


def memory_history(
    view: View, replica: int = 0, *, hours: float = 48.0, every_s: float = 7200.0
) -> str:
    """Return used, reserved and allocated of a replica's fullest rank over time, and each end of a process between."""
    memory = view.cluster.memory.get(replica)
    if memory is None:
        return NOT_FOLLOWED
    first_s = memory.lives[0].start_s
    count = int(min(hours * 3600.0, view.now_s - first_s) // every_s)
    times = [view.now_s - every_s * step for step in range(count, -1, -1)]
    lines = [f"{'time':16}{'used MiB':>10}{'reserved':>10}{'allocated':>11}"]
    for place, at_s in enumerate(times):
        before_s = times[place - 1] if place else at_s
        lines += [
            f"{stamp(life.ended_s or at_s):16}  process ended: {life.ended_by[:44]}..."
            for life in memory.crashes_between(before_s, at_s)
        ]
        used = memory.used_mib(memory.worst_rank(at_s), at_s)
        lines.append(
            f"{stamp(at_s):16}{used:>10,}{mib(memory.reserved_bytes(at_s)):>10,}{mib(memory.allocated_bytes(at_s)):>11,}"
        )
    return "\n".join([*lines, *_growth(memory, view.now_s)])


def _growth(memory: Memory, now_s: float) -> list[str]:
    """Return how fast the present process grows, and how many ended for want of memory."""
    measures = (
        ("used", lambda each, at_s: float(each.process_bytes(at_s))),
        ("reserved, not allocated", lambda each, at_s: float(gap_bytes(each, at_s))),
        ("allocated", lambda each, at_s: float(each.allocated_bytes(at_s))),
    )
    lines = []
    for name, measure in measures:
        slope = slope_mib_per_h(memory, now_s, measure)
        said = "too young to tell" if slope is None else f"{slope:,.1f} MiB/h"
        lines.append(f"growth {name}: {said}")
    ended = memory.crashes_between(now_s - 48 * 3600.0, now_s)
    out = sum(life.ended_by.startswith("CUDA out of memory") for life in ended)
    return [*lines, f"processes ended in 48 h: {len(ended)}, for want of memory {out}"]


def starts(view: View) -> str:
    """Return for each replica whether its server answers, since when, and how often it was started in an hour."""
    lines = []
    for replica, engine in enumerate(view.cluster.engines):
        process = process_at(engine, view.now_s)
        memory = view.cluster.memory.get(replica)
        lives = [] if memory is None else memory.lives[1:]
        count = sum(view.now_s - 3600.0 < life.start_s <= view.now_s for life in lives)
        failed = sum(
            view.now_s - 3600.0 < life.start_s + life.startup.took_s <= view.now_s
            for life in lives
            if life.startup.failure is not None
        )
        state = "not ready" if process is None else "ready"
        lines.append(
            f"replica {replica}  {state:10}  started {count} times in the last hour, {failed} of them failed"
        )
    return "\n".join(lines)


def failures(view: View, window_s: float = PANEL_S) -> str:
    """Return the requests of the last ``window_s`` by what became of them: still open, answered, failed."""
    sent = sent_between(view.cluster, view.now_s - window_s, view.now_s)
    over = [each for each in sent if each.finish_s is not None and each.finish_s <= view.now_s]
    lost = sum(is_lost(each) for each in over)
    rows = [
        ("sent", len(sent)),
        ("answered", len(over) - lost),
        ("still open", len(sent) - len(over)),
        ("failed", lost),
    ]
    lines = [f"{name:12}{count:>6}" for name, count in rows]
    lines[-1] += f"   {100 * lost / max(1, len(sent)):.1f} % of those sent"
    return "\n".join(lines)


def used_share(view: View) -> str:
    """Return how full each followed GPU is, and the most of five minutes, as the alarm counts it."""
    lines = []
    for replica, memory in sorted(view.cluster.memory.items()):
        total = memory.device.total_mib
        lines += [
            f"replica {replica}  GPU {gpu_of(memory, rank)}  {memory.used_mib(rank, view.now_s):>7,} of {total:,} MiB"
            f"  {100 * memory.used_mib(rank, view.now_s) / total:5.1f} %"
            for rank in memory.ranks
        ]
    times = [view.now_s - back_s for back_s in range(0, round(PANEL_S) + 1, 15)]
    most = max(
        (
            memory.used_mib(memory.worst_rank(at_s), at_s) / memory.device.total_mib
            for memory in view.cluster.memory.values()
            for at_s in times
        ),
        default=0.0,
    )
    return "\n".join([*lines, f"most in 5 min: {100 * most:.1f} %"])
