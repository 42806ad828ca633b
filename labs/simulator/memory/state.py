"""The memory of one replica's GPUs over time: the processes that it has been, what has grown, who else is there."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

from labs.simulator.memory.allocator import CachingAllocator
from labs.simulator.memory.growth import ALL, Counts, Growth, LazyCapture, Spike
from labs.simulator.memory.ledger import (
    H100_SXM,
    LLAMA_70B,
    MIB,
    Device,
    Ledger,
    MemoryFlags,
    ModelShape,
)
from labs.simulator.memory.lives import Life, Tenant, Transient
from labs.simulator.memory.phases import Other, Others, StartUp
from labs.simulator.memory.startup import start_up
from labs.simulator.memory.workspaces import MixedSizes, Moment, Workspaces

HOST_BASE_MIB = (("APIServer", 1_240), ("EngineCore", 2_310), ("Worker", 4_950))
"""Resident memory of the host processes at start (a worker for each rank). Scenario constants."""
FIRST_PID = 12_000


@dataclass(slots=True)
class Memory:
    """The memory of one replica's GPUs. Picklable at any point; deterministic.

    Ranks of a group run the same shapes, so all that the engine holds is the same on each; only other
    processes differ from GPU to GPU.
    """

    shape: ModelShape = LLAMA_70B
    flags: MemoryFlags = field(default_factory=MemoryFlags)
    device: Device = H100_SXM
    gpus: tuple[int, ...] = ()
    """Indices of the GPUs on their node, by rank; empty for 0, 1, ..."""
    start_s: float = 0.0
    """When the first process started, seconds; it has had its start-up behind it since before if it is served at once."""
    growths: tuple[Growth, ...] = ()
    """What grows in the code that the next process runs; each process keeps what it was started with."""
    spikes: tuple[Spike, ...] = ()
    mixed_sizes: MixedSizes | None = None
    sizes_pool: bool = False
    """True if a restart gives the engine the pool that its ledger has room for (``supervise.configured`` does so at the
    start); else its config stands, and ``flags.num_gpu_blocks_override`` says how large its pool is."""
    supervised: bool = True
    """Whether somebody starts an engine again whose start failed; else it stays down until it is asked for."""
    seen: int = 0
    """Requests of the engine that have been counted."""
    failed_starts: int = 0
    """Starts in a row that failed."""
    lives: list[Life] = field(default_factory=list)
    tenants: list[Tenant] = field(default_factory=list)
    transients: list[Transient] = field(default_factory=list)
    pending: list[int] = field(default_factory=list)
    """Engine indices of requests whose workspace is still to come."""

    def __post_init__(self) -> None:
        """Start the first process."""
        if not self.gpus:
            self.gpus = tuple(range(self.flags.tensor_parallel_size))
        if not self.lives:
            self.begin(self.start_s)

    @property
    def life(self) -> Life:
        """The latest process."""
        return self.lives[-1]

    @property
    def ranks(self) -> range:
        """The ranks of the group."""
        return range(self.flags.tensor_parallel_size)

    def begin(self, at_s: float) -> StartUp:
        """Start a new process at ``at_s`` with the flags as they are; return how its start goes."""
        startup = start_up(
            self.shape,
            self.flags,
            self.device,
            others=self.others_at(at_s),
            gpus=self.gpus if len(self.gpus) == self.flags.tensor_parallel_size else None,
            compiled=bool(self.lives),
        )
        points = [(at_s, {ALL: 0.0})]
        life = Life(len(self.lives), at_s, self.flags, startup, points, self.growths)
        self.lives.append(life)
        if startup.failure is not None:
            self.end(at_s + startup.took_s, startup.failure.message)
        return startup

    def end(self, at_s: float, error: str = "") -> None:
        """End the latest process; those who wanted more of its GPUs take it."""
        self.life.ended_s, self.life.ended_by = at_s, error
        for tenant in self.tenants_at(at_s):
            if tenant.n_bytes < tenant.wanted_bytes:
                self.admit(at_s, tenant.rank, tenant.pid, tenant.name, tenant.wanted_bytes)

    def admit(self, at_s: float, rank: int, pid: int, name: str, n_bytes: int) -> int:
        """Let another process take up to ``n_bytes`` of a GPU (0: it leaves); return how much it gets."""
        mine = sum(t.n_bytes for t in self.tenants_at(at_s) if t.rank == rank and t.pid != pid)
        room = self.device.usable_bytes - mine - self.process_bytes(at_s)
        gets = max(0, min(n_bytes, room))
        self.tenants.append(Tenant(at_s, rank, pid, name, gets, n_bytes))
        return gets

    def tenants_at(self, at_s: float) -> tuple[Tenant, ...]:
        """Return the other processes at ``at_s``, in order of rank and pid."""
        latest: dict[tuple[int, int], Tenant] = {}
        for tenant in self.tenants:
            if tenant.from_s <= at_s:
                latest[tenant.rank, tenant.pid] = tenant
        return tuple(tenant for _, tenant in sorted(latest.items()) if tenant.n_bytes)

    def others_at(self, at_s: float) -> Others:
        """Return the other processes as a start-up needs them."""
        held = self.tenants_at(at_s)
        return tuple(
            tuple(Other(t.pid, t.n_bytes) for t in held if t.rank == rank) for rank in self.ranks
        )

    def life_at(self, at_s: float) -> Life | None:
        """Return the process that ran, or was starting, at ``at_s``; None if none was."""
        place = bisect_right(self.lives, at_s, key=lambda life: life.start_s)
        if place == 0:
            return None
        life = self.lives[place - 1]
        return life if life.ended_s is None or at_s < life.ended_s else None

    def grow(self, growth: Growth) -> None:
        """Let something grow in the latest process, and in those to come."""
        self.growths = (*self.growths, growth)
        self.life.growths = (*self.life.growths, growth)

    def count(self, at_s: float, added: Counts) -> None:
        """Count requests that the latest process has had since it was counted last."""
        points = self.life.points
        last = points[-1][1]
        counts = {
            name: last.get(name, 0.0) + added.get(name, 0.0) for name in sorted({*last, *added})
        }
        if len(points) > 1 and points[-2][1] == last == counts:
            points.pop()
        points.append((at_s, counts))

    def growth_at(self, at_s: float) -> dict[str, int]:
        """Return GPU bytes by owner beyond the ledger of the process at ``at_s``, on each rank."""
        return self._grown(at_s, "gpu")

    def host_growth_at(self, at_s: float) -> dict[str, int]:
        """Return host bytes by owner that the process at ``at_s`` has gathered."""
        return self._grown(at_s, "host")

    def _grown(self, at_s: float, where: str) -> dict[str, int]:
        life = self.life_at(at_s)
        if life is None:
            return {}
        counts = life.counts_at(at_s)
        grown: dict[str, int] = {}
        for growth in self.growths_of(life):
            if growth.where == where:
                grown[growth.owner] = grown.get(growth.owner, 0) + growth.held(counts, life.index)
        return grown

    def growths_of(self, life: Life) -> tuple[Growth, ...]:
        """Return the growths of a process that its flags let be.

        An engine that pads or runs eagerly captures nothing late; one that captures lazily leaves batches with more decode
        tokens than ``max_cudagraph_capture_size`` without a graph.
        """
        flags, left = life.flags, []
        for growth in life.growths:
            if not isinstance(growth, LazyCapture):
                left.append(growth)
            elif flags.lazy_capture and not flags.enforce_eager:
                left.append(growth.up_to(flags.max_cudagraph_capture_size))
        return tuple(left)

    def workspaces_of(self, life: Life) -> Workspaces | None:
        """Return the workspaces of a process, made when first asked for; None if requests leave none."""
        if life.workspaces is None and self.mixed_sizes is not None:
            allocator = CachingAllocator(
                life.startup.ledger.free, expandable_segments=life.flags.expandable_segments
            )
            life.workspaces = Workspaces(self.mixed_sizes, allocator)
        return life.workspaces

    def moment_at(self, at_s: float) -> Moment:
        """Return what requests of mixed sizes have made of the allocator at ``at_s``, beside the ledger."""
        life = self.life_at(at_s)
        if life is None or life.workspaces is None:
            return Moment(at_s, 0, 0, 0, 0)
        return life.workspaces.at(at_s)

    def ledger_at(self, at_s: float) -> Ledger | None:
        """Return the ledger of the process that is ready at ``at_s``; None while there is none."""
        life = self.life_at(at_s)
        if life is None or life.ready_s is None or at_s < life.ready_s:
            return None
        return life.startup.ledger

    def allocated_bytes(self, at_s: float) -> int:
        """Return what torch counts as allocated on each rank at ``at_s``, between steps."""
        growth = self._torch_growth(at_s, allocated=True) + self.moment_at(at_s).allocated
        return self._loaded(at_s) + growth

    def reserved_bytes(self, at_s: float) -> int:
        """Return what torch has reserved on each rank at ``at_s``."""
        ledger = self.ledger_at(at_s)
        loaded = self._loaded(at_s) if ledger is None else ledger.reserved
        return loaded + self._torch_growth(at_s, allocated=False) + self.moment_at(at_s).reserved

    def _loaded(self, at_s: float) -> int:
        """What a process has allocated so far: nothing, the weights, or all of its ledger."""
        life = self.life_at(at_s)
        if life is None:
            return 0
        sums = life.startup.ledger
        if self.ledger_at(at_s) is not None:
            return sums.allocated
        done = {phase.name for phase in life.startup.phases if life.start_s + phase.to_s <= at_s}
        loaded = sums.weights if "weight load" in done else 0
        return loaded + (sums.kv_cache if "kv sizing" in done else 0)

    def _torch_growth(self, at_s: float, *, allocated: bool) -> int:
        life = self.life_at(at_s)
        if life is None:
            return 0
        counts = life.counts_at(at_s)
        return sum(
            round(growth.held(counts, life.index) * (growth.allocated_share if allocated else 1.0))
            for growth in self.growths_of(life)
            if growth.where == "gpu"
        )

    def process_bytes(self, at_s: float) -> int:
        """Return what nvidia-smi shows for the engine's process on each rank at ``at_s``."""
        life = self.life_at(at_s)
        if life is None:
            return 0
        sums = life.startup.ledger
        outside = sums.cuda_context + sums.nccl
        if self.ledger_at(at_s) is not None:
            outside = sums.non_torch
        return self.reserved_bytes(at_s) + outside

    def free_bytes(self, rank: int, at_s: float) -> int:
        """Return what nobody holds on the GPU of a rank at ``at_s``; below 0 where something cannot have succeeded."""
        held = sum(t.n_bytes for t in self.tenants_at(at_s) if t.rank == rank)
        return self.device.usable_bytes - held - self.process_bytes(at_s)

    def largest_free_bytes(self, rank: int, at_s: float) -> int:
        """Return the largest block that a request could get on a rank at ``at_s``: from the driver, or cached by requests."""
        return max(self.free_bytes(rank, at_s), self.moment_at(at_s).largest_free)

    def worst_rank(self, at_s: float) -> int:
        """Return the rank whose GPU has the least free; the first of equals."""
        held: dict[int, int] = {}
        for tenant in self.tenants_at(at_s):
            held[tenant.rank] = held.get(tenant.rank, 0) + tenant.n_bytes
        # What the engine holds is the same on each.
        return max(self.ranks, key=lambda rank: (held.get(rank, 0), -rank))

    def used_mib(self, rank: int, at_s: float) -> int:
        """Return what nvidia-smi shows as used on the GPU of a rank at ``at_s``, MiB: never more than there is."""
        free = max(0, self.free_bytes(rank, at_s))
        return round((self.device.usable_bytes - free) / MIB)

    def pid_of(self, rank: int, at_s: float) -> int | None:
        """Return the pid of the worker of a rank at ``at_s``; None if there is none."""
        life = self.life_at(at_s)
        return None if life is None else FIRST_PID + 137 * life.index + 7 * rank

    def host_rss_mib(self, at_s: float) -> dict[str, int]:
        """Return the resident memory of the host processes by name at ``at_s``, MiB; growth is the engine core's."""
        if self.life_at(at_s) is None:
            return {}
        rss = {
            name if name != "Worker" else f"Worker_TP{rank}": mib
            for name, mib in HOST_BASE_MIB
            for rank in (self.ranks if name == "Worker" else range(1))
        }
        rss["EngineCore"] += round(sum(self.host_growth_at(at_s).values()) / MIB)
        return rss

    def crashes_between(self, from_s: float, to_s: float) -> list[Life]:
        """Return the processes that an error ended after ``from_s`` and by ``to_s``, in order."""
        return [
            life
            for life in self.lives
            if life.ended_by and life.ended_s is not None and from_s < life.ended_s <= to_s
        ]

    def starts_between(self, from_s: float, to_s: float) -> int:
        """Return how many processes started after ``from_s`` and by ``to_s``."""
        return sum(from_s < life.start_s <= to_s for life in self.lives)

    def state(self) -> tuple[object, ...]:
        """Return what it is, in plain values: equal states have the same past and the same future."""
        return (
            self.shape, self.flags, self.device, self.gpus, self.growths, self.spikes, self.sizes_pool, self.seen,
            self.failed_starts, [life.state() for life in self.lives], self.tenants, self.transients,
            self.pending, self.mixed_sizes,
        )  # fmt: skip
