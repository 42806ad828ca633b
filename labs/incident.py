"""An incident being handled: a world, the learner's clock, and what has been changed.

``begin`` brings a world to its page; ``perform`` carries one command out on it. Both are pure in the sense that
matters: the same spec, seed and commands give the same outcomes, in any process, so an attempt can be rebuilt
from its log. What the learner does to the world is an **operation** (a plain dict); the twins that marking needs
apply the same operations at their own times.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from labs import worlds
from labs.console import VERBS, Command
from labs.instruments import engine_state
from labs.instruments.signals import View, gap_p95_at, quantile, sent_between, ttft_p95_at
from labs.instruments.take import READING_VERBS, NotMeasured, instrument_of, take
from labs.simulator.cluster import RouterDelay
from labs.simulator.request import Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from labs.specs import LabSpec
    from labs.worlds import Fleet, World

type Operation = dict[str, Any]
type Progress = Callable[[float, str], None]
"""Told the share done, 0 to 1, and in words what incident time is being simulated; may raise to stop."""

VERIFY_S = 300
PIECE_S = 30.0
CHANGE_VERBS = {"restart", "shed", "limit-max-tokens", "add-replica", "restart-router", "undo"}
COST_KEY = {
    "shed": "shed",
    "limit-max-tokens": "shorter",
    "add-replica": "replica",
    "restart-router": "router",
}


@dataclass(frozen=True)
class Change:
    """A change in force or taken back: its number in the log, when it began, and its operation."""

    number: int
    at_s: int
    operation: Operation
    taken_back: bool = False


@dataclass
class Incident:
    """The state of one attempt's world. Picklable."""

    spec: LabSpec
    world: World
    fleet: Fleet
    clock_s: int = 0
    changes: list[Change] = field(default_factory=list)

    @property
    def view(self) -> View:
        step_s = worlds.full_pool_step_s(self.fleet)
        return View(self.world.cluster, self.fleet, float(self.clock_s), step_s)


@dataclass(frozen=True)
class Outcome:
    """What a command gave. ``at_s`` is the clock when it was done, ``cost_s`` what was charged for it."""

    kind: str
    """reading, wait, change, verification, refused or answer (free)."""
    text: str
    at_s: int
    cost_s: int = 0
    instrument: str = ""
    signals: dict[str, float | None] = field(default_factory=dict)
    operation: Operation | None = None
    """What was done to the world, from ``at_s - cost_s`` on."""


def begin(
    spec: LabSpec, seed: int, *, hypothesis: str | None = None, progress: Progress | None = None
) -> Incident:
    """Return the incident of a seed at its page; the hypothesis is the seed's own unless given."""
    world = worlds.build(spec, hypothesis or worlds.hypothesis_of(spec, seed), seed)
    incident = Incident(spec, world, world.fleet)
    _advance(incident, spec.timeline.starts_at_s, 0, progress)
    return incident


def perform(
    incident: Incident, command: Command, number: int, progress: Progress | None = None
) -> Outcome:
    """Carry one command out and return its outcome.

    A refused command costs nothing and leaves the world as it was. ``number`` is the command's place in the log.
    """
    clock_s = incident.clock_s
    try:
        cost_s = price(incident.spec, command)
    except NotMeasured as exc:
        return Outcome("refused", str(exc), clock_s)
    left_s = incident.spec.timeline.budget_s - clock_s
    if cost_s > left_s:
        return Outcome(
            "refused",
            f"That costs {clock(cost_s)} and {clock(left_s)} is left on the incident clock. Explain what you found, or take something shorter.",
            clock_s,
        )
    if command.verb in READING_VERBS:
        return _read(incident, command, cost_s, progress)
    if command.verb == "wait":
        _advance(incident, clock_s, clock_s + cost_s, progress)
        return Outcome("wait", f"{clock(cost_s)} passed.", incident.clock_s, cost_s)
    if command.verb == "verify":
        return _verify(incident, cost_s, progress)
    if command.verb in CHANGE_VERBS:
        return _change(incident, command, number, progress)
    return Outcome("answer", _free_answer(incident, command), clock_s)


def price(spec: LabSpec, command: Command) -> int:
    """Return what a command costs, incident seconds. Raises NotMeasured for what no instrument measures."""
    if command.verb == "metrics" and command.target:
        return 0
    if command.verb in READING_VERBS:
        return spec.instruments[instrument_of(command)].cost_s
    if command.verb == "wait":
        return int(command.options["seconds"])
    if command.verb == "verify":
        return VERIFY_S
    if command.verb == "restart":
        return spec.fleet.restart_s
    if command.verb == "undo":
        return 0
    if command.verb in COST_KEY:
        return spec.changes[COST_KEY[command.verb]].cost_s
    return 0


def clock(seconds: float) -> str:
    """Return incident time as ``m:ss``, with a true minus before the page."""
    whole = round(abs(seconds))
    return f"{'−' if seconds < 0 else ''}{whole // 60}:{whole % 60:02d}"


def advance(incident: Incident, to_s: int, progress: Progress | None = None) -> None:
    """Let incident time pass until ``to_s``, untouched."""
    _advance(incident, incident.clock_s, to_s, progress)


def _advance(incident: Incident, from_s: int, to_s: int, progress: Progress | None) -> None:
    """Advance the world in pieces, telling how far it is. Pieces give the same bytes as the whole."""
    at_s = float(from_s)
    while at_s < to_s:
        at_s = min(float(to_s), at_s + PIECE_S)
        incident.world.cluster.advance(at_s)
        if progress is not None:
            progress(
                (at_s - from_s) / (to_s - from_s), f"Simulating {clock(at_s)} of {clock(to_s)}"
            )
    incident.clock_s = to_s


def _read(incident: Incident, command: Command, cost_s: int, progress: Progress | None) -> Outcome:
    start_s = incident.clock_s
    if command.verb == "metrics" and command.target:
        text = "" if command.target == "/health" else '{"version":"0.32.0"}'
        return Outcome("answer", text or "HTTP 200, empty body", start_s)
    key = instrument_of(command)
    try:  # What is refused is refused before anything is charged.
        take(incident.view, command)
    except NotMeasured as exc:
        return Outcome("refused", str(exc), start_s)
    slowdown = incident.spec.instruments[key].slowdown
    operation: Operation | None = None
    if slowdown:
        operation = {"verb": "slowdown", "factor": 1.0 + slowdown, "lasts_s": cost_s}
        apply(incident, operation)
    _advance(incident, start_s, start_s + cost_s, progress)
    if slowdown:
        apply(incident, {"verb": "slowdown", "factor": 1.0})
    shown = take(incident.view, command)
    return Outcome("reading", shown.text, incident.clock_s, cost_s, key, shown.signals, operation)


def _verify(incident: Incident, cost_s: int, progress: Progress | None) -> Outcome:
    start_s = incident.clock_s
    _advance(incident, start_s, start_s + cost_s, progress)
    ttft, gap = verification(incident, start_s)
    alarm_s = incident.spec.alarm.ttft_p95_above_s
    gap_limit_s = min(
        (slo.limit_s for slo in incident.spec.slos.values() if slo.measure == "gap"), default=1.0
    )
    lines = [
        f"window {clock(start_s)} to {clock(incident.clock_s)}, requests that clients sent in it",
        f"p95 TTFT          {_seconds(ttft)}    target {alarm_s:g} s    {_verdict(ttft, alarm_s)}",
        f"p95 longest gap   {_seconds(gap)}    target {gap_limit_s:g} s      {_verdict(gap, gap_limit_s)}",
    ]
    signals = {"ttft_p95_s": ttft, "gap_p95_s": gap}
    return Outcome("verification", "\n".join(lines), incident.clock_s, cost_s, "verify", signals)


def verification(incident: Incident, from_s: float) -> tuple[float | None, float | None]:
    """Return p95 TTFT and p95 longest gap, seconds, of the requests sent since ``from_s``.

    Those that still wait count with their time so far.
    """
    now_s = float(incident.clock_s)
    ttfts: list[float] = []
    gaps: list[float] = []
    for request in sent_between(incident.world.cluster, from_s, now_s):
        if request.status is Status.SHED:
            continue
        first_s, last_s = request.first_token_s, request.last_token_s
        ttfts.append(now_s - request.sent_s if first_s is None else first_s - request.sent_s)
        if last_s is not None:
            silent_s = 0.0 if request.finish_s is not None else now_s - last_s
            gaps.append(max(request.longest_gap_s, silent_s))
    return quantile(ttfts, 0.95), quantile(gaps, 0.95)


def _seconds(value: float | None) -> str:
    return "   none" if value is None else f"{value:6.2f} s"


def _verdict(value: float | None, limit: float) -> str:
    return "not measured" if value is None else "held" if value <= limit else "missed"


def _change(
    incident: Incident, command: Command, number: int, progress: Progress | None
) -> Outcome:
    start_s = incident.clock_s
    operation: Operation = {"verb": command.verb, **command.options}
    if command.verb == "undo":
        undone = next(
            (
                c
                for c in incident.changes
                if c.number == int(command.options["number"]) and not c.taken_back
            ),
            None,
        )
        if undone is None:
            return Outcome(
                "refused", f"undo: {command.options['number']} is no change in force.", start_s
            )
        operation = {"verb": "undo", "of": undone.number, "operation": undone.operation}
    refusal = why_not(incident, operation)
    if refusal:
        return Outcome("refused", refusal, start_s)
    cost_s = _operation_cost_s(incident.spec, operation)
    left_s = incident.spec.timeline.budget_s - start_s
    if cost_s > left_s:
        return Outcome(
            "refused",
            f"That costs {clock(cost_s)} and {clock(left_s)} is left on the incident clock.",
            start_s,
        )
    carry_out(incident, operation, number)
    _advance(incident, start_s, start_s + cost_s, progress)
    return Outcome("change", describe(operation), incident.clock_s, cost_s, operation=operation)


def _operation_cost_s(spec: LabSpec, operation: Operation) -> int:
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


def _free_answer(incident: Incident, command: Command) -> str:
    if command.verb == "flags":
        return engine_state.flags(incident.fleet)
    if command.target and command.target in VERBS:
        return f"{command.target}: {VERBS[command.target]}"
    instruments = [
        f"  {item.command:88} {clock(item.cost_s):>5}"
        for item in incident.spec.instruments.values()
    ]
    changes = [
        f"  {item.command:88} {clock(item.cost_s):>5}" for item in incident.spec.changes.values()
    ]
    return "\n".join(
        [
            "To see, with its price:",
            *instruments,
            "To act:",
            *changes,
            "  verify                     " + clock(VERIFY_S),
            "  wait 5m, flags, undo N, help",
            "Behind a pipe: grep, head, tail, wc -l.",
        ]
    )


@dataclass(frozen=True)
class Gauges:
    """What the room shows at any time, free of charge: the alarm's own numbers."""

    ttft_p95_s: float | None
    users_hurt: int
    hurt_per_minute: float


def gauges(incident: Incident) -> Gauges:
    """Return the gauges of the room: p95 TTFT now, users hurt since the page, and how many more a minute."""
    now_s = float(incident.clock_s)
    hurt = users_hurt(incident, 0.0, now_s)
    lately = users_hurt(incident, now_s - 120.0, now_s)
    return Gauges(ttft_p95_at(incident.world.cluster, now_s), hurt, lately / 2)


def users_hurt(incident: Incident, from_s: float, to_s: float) -> int:
    """Return how many requests sent in the window missed an SLO, those that have missed it by waiting included."""
    limits = {slo.measure: slo.limit_s for slo in incident.spec.slos.values()}
    now_s = float(incident.clock_s)
    count = 0
    for request in sent_between(incident.world.cluster, from_s, to_s):
        if request.status is Status.SHED or request.cut:
            count += 1
            continue
        first_s, last_s = request.first_token_s, request.last_token_s
        ttft_s = (now_s if first_s is None else first_s) - request.sent_s
        gap_s = request.longest_gap_s
        if last_s is not None and request.finish_s is None:
            gap_s = max(gap_s, now_s - last_s)
        count += ttft_s > limits.get("ttft", float("inf")) or gap_s > limits.get(
            "gap", float("inf")
        )
    return count


def ttft_series(
    incident: Incident, *, from_s: int, every_s: int = 30
) -> list[tuple[int, float | None]]:
    """Return p95 TTFT from ``from_s`` until now, one point at every multiple of ``every_s`` incident seconds."""
    cluster = incident.world.cluster
    first_s = -(-from_s // every_s) * every_s
    return [
        (t_s, ttft_p95_at(cluster, float(t_s)))
        for t_s in range(first_s, incident.clock_s + 1, every_s)
    ]


def gap_now(incident: Incident) -> float | None:
    """Return p95 of the longest gap per stream over the last five minutes, seconds."""
    return gap_p95_at(incident.world.cluster, float(incident.clock_s))
