"""The means: one function makes one act, with its undo and the reading that proves both.

Sources: the help of ``vllm serve`` and the source of vLLM 0.32.0; nvidia-smi(1); NCCL's documentation of its variables.
Nothing of it was run on a GPU by us; see docs/gpu-boxes.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from labs.live.boxes import ROOT, program
from labs.live.faults.acts import STANDS_FOR, Act
from labs.simulator.hardware.boxes import box as hardware_named
from labs.worlds.inside import FORCED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from labs.live.boxes import Box
    from labs.live.faults.acts import Start
    from labs.live.placing import Seat
    from labs.simulator.config import EngineConfig
    from labs.simulator.memory.ledger import MemoryFlags

BURNER = Path(__file__).with_name("burner.py")
LEASE = "{lease}"
"""Stands for the lease's id in a command until it is known."""
LOWEST_CLOCK_MHZ = 210
"""An idle H100 may go on down to it while its highest clock is capped."""
FP8_KERNELS_BEFORE_MARLIN = (
    "FlashInferFP8ScaledMMLinearKernel",
    "CutlassFP8ScaledMMLinearKernel",
    "B12xTensorFP8ScaledMMLinearKernel",
    "PerTensorTorchFP8ScaledMMLinearKernel",
    "ChannelWiseTorchFP8ScaledMMLinearKernel",
)
"""vLLM 0.32 tries FP8 kernels in this order, then Marlin's weights-only one (model_executor/kernels/linear/__init__.py)."""


@dataclass(frozen=True)
class Differently:
    """A replica is started in another way; several of them on one replica are one start."""

    replica: int
    change: Callable[[Start], Start]
    says: str
    """What follows “Replica N is started”."""
    note: str = ""
    proves: tuple[str, ...] = ()


def restarts(healthy: Sequence[Start], wanted: Sequence[Differently], at_s: int) -> list[Act]:
    """Return one act for each replica that is started differently, in the order in which they were first wanted."""
    acts: list[Act] = []
    for replica in dict.fromkeys(each.replica for each in wanted):
        mine = [each for each in wanted if each.replica == replica]
        start = healthy[replica]
        for each in mine:
            start = each.change(start)
        acts.append(
            Act(
                f"Replica {replica} is started {', and '.join(each.says for each in mine)}",
                at_s,
                replica=replica,
                starts=(start,),
                note="; ".join(each.note for each in mine if each.note),
                proves=next((each.proves for each in mine if each.proves), ()),
            )
        )
    return acts


def p2p_off(replica: int) -> Differently:
    """Return the start that turns NCCL's P2P off: large messages are staged in the host's memory.

    vLLM's custom all-reduce does not ask NCCL: messages up to its limit keep to NVLink, as in the simulator.
    """
    return Differently(
        replica,
        lambda start: start.with_env(NCCL_P2P_DISABLE="1"),
        "with NCCL_P2P_DISABLE=1",
        note="its log then has “via SHM” where it had “via P2P”",
    )


def other_gpus(seat: Seat) -> Differently:
    """Return the start on other GPUs."""
    return Differently(
        seat.replica,
        lambda start: replace(start, seat=seat),
        f"on GPUs {seat.cuda_visible_devices}, one of each pair",
        note="`place` moves it back",
        proves=("nvidia-smi", "topo", "-m"),
    )


def far_numa(replica: int, box: Box) -> Differently:
    """Return the start that binds a replica's workers to the CPUs of the other socket."""
    slots = hardware_named(box.hardware).gpus
    nodes = sorted({slot.numa_node for slot in slots})

    def far(start: Start) -> Start:
        near = [slots[gpu].numa_node for gpu in start.seat.devices]
        words = [str(next(each for each in nodes if each != node)) for node in near]
        return start.with_flags("--numa-bind", "--numa-bind-nodes", *words)

    return Differently(
        replica,
        far,
        "with its workers bound to the other socket",
        note="vLLM binds with numactl, which must be installed; the numbers of the nodes are the profile's: `nvidia-smi topo -m` says the box's",
    )


def no_custom_all_reduce(replica: int) -> Differently:
    """Return the start that leaves every all-reduce to NCCL."""
    return Differently(
        replica,
        lambda start: start.with_flags("--disable-custom-all-reduce"),
        "with --disable-custom-all-reduce",
    )


def slow_attention(replica: int, backend: str) -> Differently:
    """Return the start that reads keys and values with a slower backend, without full CUDA graphs."""
    return Differently(
        replica,
        lambda start: start.with_flags("--attention-backend", backend),
        f"with --attention-backend {backend}",
        note="its log names the backend, and not that a faster one is missing: the image has it; how much slower it is depends on the engine and was not measured",
    )


def weights_only_fp8(replica: int) -> Differently:
    """Return the start that leaves only the weights-only FP8 kernel, under the name by which the lab knows it."""
    kernels = ",".join(FP8_KERNELS_BEFORE_MARLIN)
    return Differently(
        replica,
        lambda start: start.with_env(**{FORCED: "1", STANDS_FOR[FORCED]: kernels}),
        f"with {FORCED}=1, so that Marlin's kernel is left",
        note=f"vLLM 0.32 does not read that variable any more and warns that it is unknown; {STANDS_FOR[FORCED]} does what it did, and `unset-env {FORCED}` takes both away",
    )


def priority(replica: int, name: str) -> Differently:
    """Return the start that lets a class of requests go before the others: the load client sends its priority."""
    return Differently(
        replica,
        lambda start: replace(start, config=replace(start.config, policy="priority")),
        f"with --scheduling-policy priority: requests of “{name}” carry priority -1",
    )


def other_config(replica: int, config: EngineConfig, says: str) -> Differently:
    """Return the start with other knobs."""
    return Differently(replica, lambda start: replace(start, config=config), says)


def redeployed(replica: int, flags: MemoryFlags) -> Differently:
    """Return the start with a deploy's parallelism, context, share of the memory and estimate."""

    def deployed(start: Start) -> Start:
        ranks = flags.tensor_parallel_size
        changed = replace(
            start,
            box=replace(
                start.box,
                tensor_parallel_size=ranks,
                gpu_memory_utilization=flags.gpu_memory_utilization,
            ),
            config=replace(start.config, max_model_len=flags.max_model_len),
            seat=replace(start.seat, devices=start.seat.devices[:ranks]),
        )
        if flags.estimate_cudagraphs:
            return changed
        return changed.with_env(VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS="0")

    words = [
        f"--tensor-parallel-size {flags.tensor_parallel_size}",
        f"--max-model-len {flags.max_model_len}",
        f"--gpu-memory-utilization {flags.gpu_memory_utilization:g}",
    ]
    if not flags.estimate_cudagraphs:
        words.append("VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0")
    return Differently(replica, deployed, f"with {', '.join(words)}")


def clock_cap(gpu: int, highest_mhz: int, at_s: int) -> Act:
    """Return the act that caps the SM clock of a GPU.

    The driver tells nobody what a lock was before: its undo gives the GPU its default back, not an operator's own lock.
    """
    return Act(
        f"GPU {gpu}: the SM clock is capped at {highest_mhz} MHz",
        at_s,
        do=(("nvidia-smi", "-i", str(gpu), "-lgc", f"{LOWEST_CLOCK_MHZ},{highest_mhz}"),),
        undo=(("nvidia-smi", "-i", str(gpu), "-rgc"),),
        needs_root=True,
        note="it reads as a low clock, and not as heat; its undo gives the default back, not a lock that was there before",
        proves=_query(gpu, "clocks.sm", "clocks_event_reasons.active"),
    )


def power_cap(gpu: int, watts: int, at_s: int) -> Act:
    """Return the act that caps the power of a GPU; its undo sets the limit that was read before."""
    return Act(
        f"GPU {gpu}: the power limit is set to {watts} W, or to the lowest that it takes",
        at_s,
        reads=(*_query(gpu, "power.limit", "power.min_limit")[:-1], "--format=csv,noheader,nounits"),
        do=(("nvidia-smi", "-i", str(gpu), "-pl", "{v0}"),),
        undo=(("nvidia-smi", "-i", str(gpu), "-pl", "{0}"),),
        values=(watts,),
        at_least=((0, 1),),
        needs_root=True,
        note="the clock that follows is the driver's, by what the GPU does; the simulator draws one",
        proves=_query(gpu, "power.limit", "clocks.sm", "clocks_event_reasons.active"),
    )  # fmt: skip


def burner(
    box: Box,
    gpu: int,
    at_s: int,
    *,
    memory_mib: int,
    busy_s: float,
    idle_s: float,
    seed: str,
    limit_s: int,
    as_written: bool = False,
) -> Act:
    """Return the act that puts our own process on a GPU, busy in bursts; ``busy_s`` 0: it only holds memory."""
    python = box.python if as_written else program(box.python)
    file = str(BURNER.relative_to(ROOT)) if as_written else str(BURNER)
    what = f"busy {busy_s:.0f} s, idle {idle_s:.0f} s by turns" if busy_s else "idle"
    options = [
        "--memory-mib",
        str(memory_mib),
        "--busy-s",
        f"{busy_s:.2f}",
        "--idle-s",
        f"{idle_s:.2f}",
    ]
    return Act(
        f"GPU {gpu}: another process holds {memory_mib} MiB, {what}",
        at_s,
        do=((python, file, *options, "--seed", seed, "--limit-s", str(limit_s)),),
        undo=((python, file, "--stop", LEASE),),
        env=(("CUDA_DEVICE_ORDER", "PCI_BUS_ID"), ("CUDA_VISIBLE_DEVICES", str(gpu))),
        stays=True,
        note="it ends with its worker, at its limit, by its undo, and by the sweep",
        proves=("nvidia-smi", "--query-compute-apps=gpu_uuid,pid,process_name,used_memory", "--format=csv"),
    )  # fmt: skip


def _query(gpu: int, *fields: str) -> tuple[str, ...]:
    return ("nvidia-smi", "-i", str(gpu), f"--query-gpu={','.join(fields)}", "--format=csv")
