"""Changes of a box with GPUs, by real means: replicas started otherwise, power limits, processes ended.

What is done is in the lease's ledger, or ends with the replicas. Nothing of it was ever run on a GPU.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

from labs.incident import changes
from labs.incident.changes import NotDone, with_flags
from labs.live.faults import burner, means
from labs.live.faults.performing import ActError
from labs.live.guard import MARK
from labs.live.placing import Unplaceable, moved
from labs.simulator.hardware.boxes import box as hardware_named
from labs.simulator.scheduler import EngineConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from labs.incident import Incident, Operation
    from labs.incident.changes.kinds import Kind
    from labs.live.clusters import LiveCluster
    from labs.live.faults.acts import Start
    from labs.live.machines import Machine
    from labs.live.placing import Seat
    from labs.worlds import Fleet

type Check = Callable[[Incident, Operation], str]

_OUR_OWN = "no vLLM has this flag: the lab's engine was one of our own"
_NO_FLAG = {"--allow-whole-prefill": _OUR_OWN, "--no-allow-whole-prefill": _OUR_OWN}
_BLOCKS = "--num-gpu-blocks-override"
_NUMA = "--numa-bind"
_FAR = "--numa-bind-nodes"
_BACKEND = "--attention-backend"


# --------------------------------------------------------------------------- of any live world


def all_of(*checks: Check) -> Check:
    """Return the check that says what the first of these says."""
    return lambda incident, operation: next(
        (said for check in checks if (said := check(incident, operation))), ""
    )


def starting(incident: Incident, operation: Operation) -> str:
    """Refuse to start what is being started: a second start would have to wait for the first."""
    cluster = _live(incident)
    busy = next((i for i, each in enumerate(cluster.replicas) if each.is_starting), None)
    if busy is None and not (cluster.machine is not None and cluster.machine.is_rolling):
        return ""
    which = "the replicas are being started one after another"
    if busy is not None:
        which = f"replica {busy} is still starting"
    return f"{operation['verb']}: {which}; wait until it is over. Nothing was charged."


def starting_one(incident: Incident, operation: Operation) -> str:
    """Refuse to start a replica that is being started; where none is named, every one that may be."""
    replicas = _live(incident).replicas
    named = [int(operation["replica"])] if "replica" in operation else range(len(replicas))
    busy = next((i for i in named if i < len(replicas) and replicas[i].is_starting), None)
    if busy is None:
        return ""
    return f"{operation['verb']}: replica {busy} is still starting; wait until it is over. Nothing was charged."


def no_such_flag(incident: Incident, operation: Operation) -> str:
    """Refuse flags that the simulator has and vLLM has not."""
    del incident
    flag = next((each for each in operation if each in _NO_FLAG), None)
    return "" if flag is None else f"vllm: {flag}: {_NO_FLAG[flag]}. The engine was not stopped."


def undone(kind: Kind) -> Callable[[Incident, Operation, Sequence[Operation]], str]:
    """Return why a change that starts replicas is not taken back now."""

    def why_not(incident: Incident, operation: Operation, left: Sequence[Operation]) -> str:
        said = kind.why_not_undone
        return starting(incident, operation) or (
            "" if said is None else said(incident, operation, left)
        )

    return why_not


def _live(incident: Incident) -> LiveCluster:
    cluster: LiveCluster = incident.world.cluster  # type: ignore[assignment]  # These kinds are a live world's.
    return cluster


# ------------------------------------------------------------------------------------- on GPUs


def _machine(incident: Incident) -> Machine:
    machine = _live(incident).machine
    if machine is None:
        raise ValueError("this world is on no box with GPUs")
    return machine


def _seats(machine: Machine) -> list[Seat]:
    return [start.seat for start in machine.starts]


def _roll(incident: Incident, change: Callable[[Start], Start]) -> None:
    """Start every replica with a change, one after another."""
    machine = _machine(incident)
    machine.roll([change(start) for start in machine.starts], _live(incident))


def _start_all(incident: Incident, change: Callable[[Start], Start]) -> None:
    """Start every replica with a change, all at once."""
    machine = _machine(incident)
    for start in tuple(machine.starts):
        machine.start(change(start), _live(incident))


def _restart(incident: Incident, operation: Operation) -> None:
    before = incident.fleet
    incident.fleet = with_flags(before, operation)
    _start_all(incident, lambda start: restarted(start, before, operation))


def _restart_undone(incident: Incident, operation: Operation, left: Sequence[Operation]) -> None:
    before, fleet = incident.fleet, incident.world.fleet
    for each in left:
        fleet = with_flags(fleet, each)
    incident.fleet = fleet
    blocks = [each[_BLOCKS] for each in left if _BLOCKS in each]

    def back(start: Start) -> Start:
        start = changed(start, before, fleet)
        if _BLOCKS not in operation:
            return start
        start = without(start, _BLOCKS, 1)
        return _sized(start, {_BLOCKS: blocks[-1]}) if blocks else start

    _start_all(incident, back)


def _meant(operation: Operation) -> tuple[int, list[int]]:
    return int(operation["replica"]), [int(gpu) for gpu in operation["gpus"].split(",")]


def _place(incident: Incident, operation: Operation) -> None:
    machine = _machine(incident)
    replica, gpus = _meant(operation)
    seat = moved(_seats(machine), replica, gpus, machine.box, operation["node"])[replica]
    machine.start(replace(machine.starts[replica], seat=seat), _live(incident))


def _no_place(incident: Incident, operation: Operation) -> str:
    machine = _machine(incident)
    try:
        moved(_seats(machine), *_meant(operation), machine.box, operation["node"])
    except Unplaceable as exc:
        return f"{exc}. Nothing was charged."
    return ""


def _no_such_watts(incident: Incident, operation: Operation) -> str:
    most = hardware_named(_machine(incident).box.hardware).power_cap_w
    watts = int(operation["watts"])
    if most / 2 <= watts <= most:
        return ""
    return f"Provided power limit {watts}.00 W is not a valid power limit which should be between {most / 2:.2f} W and {most:.2f} W"


def _limit_power(incident: Incident, operation: Operation) -> None:
    machine = _machine(incident)
    for gpu in machine.box.devices:
        act = means.power_cap(gpu, int(operation["watts"]), incident.clock_s)
        try:
            # Exactly what was asked for: what the device does not take, it refuses by itself.
            machine.hands.perform(replace(act, at_least=()))
        except ActError as exc:
            raise NotDone(
                f"power-limit: {exc} What was set until then is set back when the engine is given back. Nothing was charged."
            ) from exc


def _evict(incident: Incident, operation: Operation) -> None:
    """End the processes of this lease that are no engine, and start what they kept from starting."""
    del operation
    machine = _machine(incident)
    if burner.stop(machine.hands.marks[MARK]):
        raise NotDone("evict: a process on these GPUs cannot be ended. Nothing was charged.")
    for start in tuple(machine.starts):
        if _live(incident).replicas[start.seat.replica].is_dead:
            machine.start(start, _live(incident))


def _no_room(incident: Incident, operation: Operation) -> str:
    del operation
    machine = _machine(incident)
    used, there = sum(len(seat.devices) for seat in _seats(machine)), len(machine.box.devices)
    return f"add-replica: {used} of the {there} GPUs of this box serve, and no more replicas are started on it. Nothing was charged."


def _kind(
    verb: str, apply: Callable[[Incident, Operation], None], *checks: Check
) -> dict[str, Kind]:
    return {verb: replace(changes.KINDS[verb], apply=apply, why_not=all_of(*checks))}


_RESTART = changes.KINDS["restart"]
KINDS: dict[str, Kind] = {
    "restart": replace(
        _RESTART,
        apply=_restart,
        why_not=all_of(starting, no_such_flag, _RESTART.why_not),
        undo=_restart_undone,
        why_not_undone=undone(_RESTART),
    ),
    **_kind("place", _place, starting, _no_place),
    **_kind(
        "unset-env",
        lambda incident, operation: _roll(
            incident, lambda start: start.without_env(operation["name"])
        ),
        starting,
    ),
    **_kind("bind-numa", lambda incident, _: _roll(incident, near_numa), starting),
    **_kind("rollback-image", lambda incident, _: _roll(incident, default_attention), starting),
    **_kind("power-limit", _limit_power, _no_such_watts),
    **_kind("evict", _evict, starting),
    **_kind("add-replica", changes.KINDS["add-replica"].apply, _no_room),
}
"""What is done to the box, or its replicas; everything else is as on a box without GPUs."""


# -------------------------------------------------------------------------------------- starts


def restarted(start: Start, fleet: Fleet, operation: Operation) -> Start:
    """Return a start with the flags of a restart; what a fault changed of it stays, unless a flag says otherwise."""
    own = with_flags(replace(fleet, config=start.config, fp8_kv=start.fp8_kv), operation)
    return _sized(replace(start, config=own.config, fp8_kv=own.fp8_kv), operation)


def _sized(start: Start, operation: Operation) -> Start:
    """Return it with the pool in blocks, where the engine would size its pool by itself."""
    if start.box.kv_bytes_per_token or _BLOCKS not in operation:
        return start
    return without(start, _BLOCKS, 1).with_flags(_BLOCKS, str(operation[_BLOCKS]))


def changed(start: Start, before: Fleet, after: Fleet) -> Start:
    """Return a start with those knobs changed in which two fleets differ."""
    knobs = {
        each.name: getattr(after.config, each.name)
        for each in fields(EngineConfig)
        if getattr(after.config, each.name) != getattr(before.config, each.name)
    }
    return replace(start, config=replace(start.config, **knobs), fp8_kv=after.fp8_kv)


def near_numa(start: Start) -> Start:
    """Return a start whose workers vLLM binds to the CPUs near their GPUs, wherever they were bound before."""
    left = without(without(start, _FAR, len(start.seat.devices)), _NUMA, 0)
    return left.with_flags(_NUMA)


def default_attention(start: Start) -> Start:
    """Return a start with the attention backend that vLLM chooses by itself."""
    return without(start, _BACKEND, 1)


def without(start: Start, flag: str, values: int) -> Start:
    """Return a start without a flag and its values."""
    if flag not in start.flags:
        return start
    at = start.flags.index(flag)
    return replace(start, flags=(*start.flags[:at], *start.flags[at + 1 + values :]))
