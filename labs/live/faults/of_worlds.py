"""From a world to acts: what the simulator would do to its cluster, done to a box; or why that cannot be done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from labs.live.faults import means
from labs.live.faults.acts import Cannot
from labs.live.faults.means import Differently
from labs.live.placing import Unplaceable, misplaced
from labs.simulator.hardware.boxes import box as hardware_named
from labs.simulator.hardware.faults import (
    DECODE_POWER,
    EnvironmentChange,
    Misplacement,
    Neighbour,
    Throttle,
)
from labs.simulator.kernels import KernelsChosen
from labs.simulator.memory.faults import OtherProcess, Redeploy
from labs.simulator.memory.ledger import MIB
from labs.worlds import front as front_world
from labs.worlds import hardware as hardware_world
from labs.worlds import inside as inside_world
from labs.worlds import memory as memory_world
from labs.worlds.draws import Draws
from labs.worlds.inside import Redeployed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labs.live.boxes import Box
    from labs.live.faults.acts import Act, Start
    from labs.specs import LabSpec, World
    from labs.worlds.fleet import Fleet

PRIORITY = "priority"
"""A caller of this name sends its requests with a priority."""
_HEAT = "no command makes a GPU hot and cools it again; a capped clock would read as a lock, and not as heat"
_SHOWS_HEAT = {"throttle_reason", "temperature_c_max"}
"""Signals by which a lab could tell a lock from heat."""
BY_LOAD = {
    "AbortsIgnored", "ClientsChange", "LongerPrompts", "MixChange", "MoreTexts", "NewCaller", "QuestionsChange", "RateChange",
    "RouterDelayChange", "Shedding", "UsersChange", "VolatileTemplate",
}  # fmt: skip
"""The simulator's faults that the load client makes: what is sent, when, and what its router and its gateway do."""
_CANNOT = {
    "AbortsLoseBlocks": "vLLM gives the blocks of what is cancelled back; an engine that loses them would have to be patched",
    "Fragmentation": "the allocations are of an engine of our own, and vLLM makes none of them",
    "GatewayChange": "there is no gateway before a real engine",
    "Leak": "vLLM gives every block back; an engine that leaks them would have to be patched",
    "LinkDown": "no command takes an NVLink down and brings it up again",
    "LivenessKills": "a probe that kills the engine is not built",
    "MemoryGrowth": "what grows is in an engine of our own; vLLM would have to be patched",
    "Pauses": "the pauses are of an engine of our own; vLLM would have to be patched",
    "Rollout": "a 70B takes minutes to start, so replicas cannot be replaced in turn within the lab's clock",
    "SlowSteps": "no command makes every step of a replica longer by a factor",
    "Turnover": "a 70B takes minutes to start, so replicas cannot be replaced in turn within the lab's clock",
    "WorkspaceSpikes": "the spike is of an attention that vLLM does not have",
}


@dataclass(frozen=True)
class Where:
    """What acts are made for: a lab's healthy starts on a box."""

    spec: LabSpec
    box: Box
    starts: tuple[Start, ...]
    seed: int
    fleet: Fleet
    as_written: bool = False
    hypothesis: str = ""

    @property
    def at_s(self) -> int:
        return self.spec.timeline.fault_at_s

    @property
    def limit_s(self) -> int:
        """How long a process beside the engine may live: the lab's clock, and half an hour of grace."""
        return self.spec.timeline.budget_s - self.at_s + 1800


def acts_of(where: Where) -> tuple[Act, ...]:
    """Return what a world does to the box, in order. What the load client does is not among it. Raises Cannot."""
    fault = where.spec.hypotheses[where.hypothesis].world
    if fault.leaked_share is not None:
        raise Cannot(_CANNOT["Leak"])
    wanted: list[Differently] = []
    others: list[Act] = []
    for each in simulated(where, fault):
        for found in _means(where, each):
            (wanted if isinstance(found, Differently) else others).append(found)  # type: ignore[arg-type]
    caller = None if fault.inside is None else fault.inside.caller
    if caller is not None and caller.whole_prefill:
        raise Cannot(
            "vLLM cuts every prefill to its step budget; none is prefilled whole beside it"
        )
    if caller is not None and caller.name == PRIORITY:
        wanted += [means.priority(start.seat.replica, caller.name) for start in where.starts]
    # Others come first: a deploy finds a process that is there already.
    return (*others, *means.restarts(where.starts, wanted, where.at_s))


def simulated(where: Where, fault: World) -> list[object]:
    """Return what the simulator would do at the world's fault, drawn by the seed; the load's part is among it."""
    draws = Draws(where.spec.slug, where.seed)
    found: list[object] = []
    if fault.hardware is not None:
        found += hardware_world.faults(where.spec, fault.hardware, draws)
    if fault.memory is not None:
        found += memory_world.faults(where.spec, fault.memory, draws, where.fleet)
    if fault.front is not None:
        found += front_world.faults(where.spec, fault.front, draws)
    if fault.inside is not None:
        found += inside_world.faults(where.spec, fault.inside, draws, where.fleet)
    return found


def _means(where: Where, fault: object) -> Sequence[Act | Differently]:
    name = type(fault).__name__
    if name in BY_LOAD:
        return ()
    if name in _CANNOT:
        raise Cannot(_CANNOT[name])
    made = _of_hardware(where, fault) or _of_a_deploy(where, fault)
    if made is None:
        raise Cannot(f"no real means is known for {name}")
    return made


def _of_hardware(where: Where, fault: object) -> Sequence[Act | Differently] | None:
    match fault:
        case EnvironmentChange():
            return _environment(where, fault)
        case Misplacement():
            return _misplacement(where, fault)
        case Throttle():
            return _throttle(where, fault)
        case Neighbour():
            return _neighbour(where, fault)
        case OtherProcess():
            return _other_process(where, fault)
    return None


def _of_a_deploy(where: Where, fault: object) -> Sequence[Differently] | None:
    match fault:
        case KernelsChosen():
            return _kernels(fault)
        case Redeployed():
            said = f"with --max-num-batched-tokens {fault.config.max_num_batched_tokens}"
            replicas = range(len(where.starts))
            return [means.other_config(each, fault.config, said) for each in replicas]
        case Redeploy(flags=None):
            return [Differently(fault.replica, lambda start: start, "again")]
        case Redeploy(flags=flags) if flags is not None:
            return [means.redeployed(fault.replica, flags)]
    return None


def _environment(where: Where, fault: EnvironmentChange) -> list[Differently]:
    said = fault.environment
    found: list[Differently] = []
    if said.nccl_p2p_disable:
        found.append(means.p2p_off(fault.replica))
    if said.disable_custom_all_reduce:
        found.append(means.no_custom_all_reduce(fault.replica))
    if said.far_ranks:
        found.append(means.far_numa(fault.replica, where.box))
    return found


def _misplacement(where: Where, fault: Misplacement) -> list[Differently]:
    seats = [start.seat for start in where.starts]
    try:
        seats = [*misplaced(seats, fault.replica, fault.placement.gpus, where.box)]
    except Unplaceable as exc:
        raise Cannot(str(exc)) from exc
    return [means.other_gpus(seats[fault.replica])]


def _gpu_of(where: Where, node: str, gpu: int) -> int:
    """Return which GPU of this box is meant by one of a lab's nodes: the same rank of the same replica."""
    said = where.spec.fleet.hardware
    if said is None:
        raise Cannot("the lab names no GPUs")
    for replica, (index, gpus) in enumerate(said.placement):
        if hardware_world.node_name(index) == node and gpu in gpus:
            return where.starts[replica].seat.devices[gpus.index(gpu)]
    raise Cannot(f"no replica runs on GPU {gpu} of {node}")


def _throttle(where: Where, fault: Throttle) -> list[Act]:
    gpu = _gpu_of(where, fault.node, fault.gpu)
    if fault.reason != "sw_power_cap":
        if where.hypothesis in where.spec.served or _SHOWS_HEAT & set(where.spec.signals):
            raise Cannot(_HEAT)
        return [means.clock_cap(gpu, fault.sm_clock_mhz, where.at_s)]
    hardware = hardware_named(where.box.hardware)
    room_w = hardware.power_cap_w - hardware.idle_power_w
    clock = fault.sm_clock_mhz / hardware.max_sm_clock_mhz
    watts = fault.power_limit_w or hardware.idle_power_w + DECODE_POWER * room_w * clock
    return [means.power_cap(gpu, round(watts), where.at_s)]


def _neighbour(where: Where, fault: Neighbour) -> list[Act]:
    return [
        means.burner(
            where.box,
            _gpu_of(where, fault.tenant.node, fault.tenant.gpu),
            where.at_s,
            memory_mib=fault.tenant.memory_mib,
            busy_s=fault.busy_mean_s,
            idle_s=fault.idle_mean_s,
            seed=str(fault.seed),
            limit_s=where.limit_s,
            as_written=where.as_written,
        )
    ]


def _other_process(where: Where, fault: OtherProcess) -> list[Act]:
    return [
        means.burner(
            where.box,
            where.starts[fault.replica].seat.devices[fault.rank],
            where.at_s,
            memory_mib=round(fault.n_bytes / MIB),
            busy_s=0.0,
            idle_s=1.0,
            seed="0",
            limit_s=where.limit_s,
            as_written=where.as_written,
        )
    ]


def _kernels(fault: KernelsChosen) -> list[Differently]:
    if fault.kernels.attention_unsupported:
        return [means.slow_attention(fault.replica, fault.kernels.attention_backend)]
    return [means.weights_only_fp8(fault.replica)]
