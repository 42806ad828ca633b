"""Changes to a world: what each flag and verb does, what it costs, why one is refused, how it is taken back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from labs.incident.state import Change
from labs.simulator.router import RouterDelay

if TYPE_CHECKING:
    from labs.incident.state import Incident, Operation
    from labs.specs import LabSpec
    from labs.worlds import Fleet

CHANGE_VERBS = {"restart", "shed", "limit-max-tokens", "add-replica", "restart-router", "undo"}
COST_KEY = {
    "shed": "shed",
    "limit-max-tokens": "shorter",
    "add-replica": "replica",
    "restart-router": "router",
}


def operation_cost_s(spec: LabSpec, operation: Operation) -> int:
    inner = operation["operation"] if operation["verb"] == "undo" else operation
    if inner["verb"] == "restart":
        return spec.fleet.restart_s
    return spec.changes[COST_KEY[inner["verb"]]].cost_s


def why_not(incident: Incident, operation: Operation) -> str:
    """Return why the world refuses a change, or ''."""
    verb = operation["verb"]
    if verb == "undo":
        return _why_not_undone(incident, operation)
    if verb == "add-replica" and len(incident.world.cluster.engines) > 1:
        return "add-replica: there is one standby box, and it is in use."
    if verb == "restart":
        return _refused_flags(with_flags(incident.fleet, operation))
    return ""


def _why_not_undone(incident: Incident, operation: Operation) -> str:
    inner = operation["operation"]
    if inner["verb"] == "add-replica":
        return "undo: the replica serves people by now; this lab does not take it away again."
    if inner["verb"] == "restart-router" or inner == {"verb": "restart"}:
        return "undo: a restart with the same settings leaves nothing to take back."
    if inner["verb"] == "restart":
        return _refused_flags(_fleet_without(incident, operation["of"]))
    return ""


def _refused_flags(fleet: Fleet) -> str:
    config = fleet.config
    budget, longest = config.max_num_batched_tokens, config.max_model_len
    if config.enable_chunked_prefill or budget >= longest:
        return ""
    return (
        f"vllm: max_num_batched_tokens ({budget}) is smaller than max_model_len ({longest}). "
        "Without chunked prefill the engine would refuse longer prompts; raise the one or enable the other. The engine was not stopped."
    )


def carry_out(incident: Incident, operation: Operation, number: int) -> None:
    """Do a change to the world at its present time, and note it among the changes in force."""
    apply(incident, operation)
    if operation["verb"] == "undo":
        undone = operation["of"]
        incident.changes = [
            replace(c, taken_back=True) if c.number == undone else c for c in incident.changes
        ]
    else:
        incident.changes.append(Change(number, incident.clock_s, operation))


def apply(incident: Incident, operation: Operation) -> None:
    """Do an operation to the world at its present time. Takes no time itself; a restart's engine is down for its own."""
    cluster, spec = incident.world.cluster, incident.spec
    match operation["verb"]:
        case "slowdown":
            cluster.engines[0].slowdown = operation["factor"]
        case "restart":
            incident.fleet = with_flags(incident.fleet, operation)
            _restart(incident)
        case "shed":
            cluster.shed(int(operation["percent"]) / 100)
        case "limit-max-tokens":
            cluster.limit_max_tokens(int(operation["tokens"]))
        case "add-replica":
            cost = incident.fleet.profile.cost_model(fp8_kv=incident.fleet.fp8_kv)
            ready_s = cluster.now_s + spec.fleet.replica_ready_after_s
            cluster.add_replica(ready_s, incident.fleet.config, cost)
        case "restart-router":
            cluster.set_router_delay(
                RouterDelay(spec.fleet.router_median_s, spec.fleet.router_p95_s)
            )
        case "undo":
            _undo(incident, operation)
        case other:
            raise ValueError(f"no operation {other!r}")


def _undo(incident: Incident, operation: Operation) -> None:
    """Leave out the undone operation; everything else in force stays."""
    cluster = incident.world.cluster
    verb = operation["operation"]["verb"]
    left = _in_force_without(incident, operation["of"], verb)
    if verb == "shed":
        cluster.shed(int(left[-1]["percent"]) / 100 if left else 0.0)
    elif verb == "limit-max-tokens":
        cluster.limit_max_tokens(int(left[-1]["tokens"]) if left else None)
    elif verb == "restart":
        incident.fleet = _fleet_without(incident, operation["of"])
        _restart(incident)


def _in_force_without(incident: Incident, number: int, verb: str) -> list[Operation]:
    """Return the operations of a kind that are in force, in order, without one of them."""
    return [
        change.operation
        for change in incident.changes
        if change.number != number and not change.taken_back and change.operation["verb"] == verb
    ]


def _fleet_without(incident: Incident, number: int) -> Fleet:
    """Return what the engine runs with when one restart is left out."""
    fleet = incident.world.fleet
    for operation in _in_force_without(incident, number, "restart"):
        fleet = with_flags(fleet, operation)
    return fleet


def _restart(incident: Incident) -> None:
    cost = incident.fleet.profile.cost_model(fp8_kv=incident.fleet.fp8_kv)
    incident.world.cluster.restart_engine(
        0, incident.fleet.config, cost, float(incident.spec.fleet.restart_s)
    )


def with_flags(fleet: Fleet, operation: Operation) -> Fleet:
    """Return the fleet after a restart with flags; flags that are not given stay."""
    config, fp8_kv = fleet.config, fleet.fp8_kv
    for flag, value in operation.items():
        match flag:
            case "--max-num-seqs":
                config = replace(config, max_num_seqs=int(value))
            case "--max-num-batched-tokens":
                config = replace(config, max_num_batched_tokens=int(value))
            case "--watermark":
                config = replace(config, watermark=float(value))
            case "--scheduler-reserve-full-isl" | "--no-scheduler-reserve-full-isl":
                config = replace(config, scheduler_reserve_full_isl=not flag.startswith("--no-"))
            case "--enable-chunked-prefill" | "--no-enable-chunked-prefill":
                config = replace(config, enable_chunked_prefill=not flag.startswith("--no-"))
            case "--kv-cache-dtype":
                fp8_kv = value == "fp8"
            case _:
                continue
    blocks = fleet.pool_blocks * (2 if fp8_kv else 1)
    return replace(fleet, config=replace(config, num_gpu_blocks=blocks + 1), fp8_kv=fp8_kv)


def describe(operation: Operation) -> str:
    """Return a change in a few words, as logs and the debrief show it."""
    match operation["verb"]:
        case "restart":
            flags = " ".join(
                f"{key} {value}".strip() for key, value in operation.items() if key.startswith("--")
            )
            return f"Restarted with {flags}" if flags else "Restarted, same flags"
        case "shed":
            return f"The router answers 429 to {operation['percent']} % of requests"
        case "limit-max-tokens":
            return f"The gateway caps max_tokens at {operation['tokens']}"
        case "add-replica":
            return "The standby replica loads its weights; it serves in five minutes"
        case "restart-router":
            return "The router was restarted"
        case "undo":
            return f"Taken back: {describe(operation['operation'])}"
        case _:
            return str(operation["verb"])
