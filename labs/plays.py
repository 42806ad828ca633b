"""Plays: scripts of whole attempts, from a lab's folder. The reference earns every point, a counterexample does not.

A play is a TOML file. ``[[any]]`` or ``[[<hypothesis>]]`` tables are its steps, in order::

    [[demand]]
    run = "request-log --last 12m --summary"
    [[demand]]
    diagnose = { layer = "memory", components = ["kv_pool"], mechanism = "demand_exceeds_pool", … }

``run`` takes a console line; ``until`` repeats lines until a signal is below a value. In a diagnosis ``parameter``
may name a signal that was read, and a citation names a signal: the latest reading of the phase that shows it is
cited. ``{fit}`` in a line stands for the sequences that fit the pool, from the log of requests that was read, and
``{slowest}`` for the replica with the highest p95 TTFT, as ``replicas`` prints it.
"""

from __future__ import annotations

import tomllib
from collections import OrderedDict
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from courseware.served import PINNED, remembered
from labs import console, incident, worlds
from labs.catalogue import folder_of
from labs.instruments.replica_signals import slowest_replica
from labs.judgement import Judgement, judge
from labs.log import Entry, Route, Step, operations_of
from labs.reruns import rerun

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from labs.incident import Incident, Progress
    from labs.marking.table import Table
    from labs.specs import LabSpec

MOST_REPEATS = 40


class PlayError(ValueError):
    """A play that cannot be played; the message names the file and the step."""


@dataclass(frozen=True)
class Play:
    """One script: a title, the total that it may not exceed, and its steps by hypothesis."""

    slug: str
    name: str
    title: str
    ceiling: float
    steps: Mapping[str, Sequence[Mapping[str, Any]]]
    must_not_pass: bool = False
    tempting: bool = False
    """A fix that people try: it must earn full mitigation in no world that it is played in."""

    def has(self, hypothesis: str) -> bool:
        """Tell whether the play has steps in this world."""
        return hypothesis in self.steps or "any" in self.steps

    def steps_for(self, hypothesis: str) -> Sequence[Mapping[str, Any]]:
        """Return the steps in this world. Raises PlayError if the play has none for it."""
        steps = self.steps.get(hypothesis, self.steps.get("any"))
        if steps is None:
            raise PlayError(
                f"{self.slug}/plays/{self.name}.toml: no [[{hypothesis}]] and no [[any]] steps"
            )
        return steps


@remembered
def load_play(key: str, name: str) -> Play:
    """Read ``plays/<name>.toml`` of a lab. Raises PlayError naming the file and what is wrong with it."""
    path, slug = folder_of(key) / "plays" / f"{name}.toml", key.partition(PINNED)[0]
    where = f"{slug}/plays/{name}.toml"
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        known = ", ".join(names(key))
        raise PlayError(f"{where}: there is no such play; this lab has {known}") from None
    except tomllib.TOMLDecodeError as exc:
        raise PlayError(f"{where}: not valid TOML: {exc}") from exc
    steps = {key: value for key, value in data.items() if isinstance(value, list)}
    for wanted in ("title", "ceiling"):
        if wanted not in data:
            raise PlayError(f"{where}: {wanted} is missing")
    return Play(
        slug=slug,
        name=name,
        title=str(data["title"]),
        ceiling=float(data["ceiling"]),
        steps=steps,
        must_not_pass=bool(data.get("must_not_pass", False)),
        tempting=bool(data.get("tempting", False)),
    )


def names(key: str) -> list[str]:
    """Return the names of a lab's plays, the reference first."""
    found = sorted(path.stem for path in (folder_of(key) / "plays").glob("*.toml"))
    return sorted(found, key=lambda name: name != "reference")


def perform(
    spec: LabSpec,
    seed: int,
    play: Play,
    *,
    hypothesis: str | None = None,
    progress: Progress | None = None,
) -> tuple[Incident, list[Entry]]:
    """Carry a play out in a world and return the world at its end and the log.

    Raises PlayError for a step that the console or the world refuses, unless it says ``may_refuse``.
    """
    truth = hypothesis or worlds.hypothesis_of(spec, seed)
    world = incident.at_page(spec, seed, hypothesis=truth, progress=progress)
    return world, carry_out(world, play, truth, progress)


def carry_out(
    world: Incident, play: Play, truth: str, progress: Progress | None = None
) -> list[Entry]:
    """Carry a play's steps for a hypothesis out in a world that stands at its page, and return the log.

    Raises PlayError as ``perform`` does.
    """
    log: list[Entry] = []
    for position, step in enumerate(play.steps_for(truth), start=1):
        where = f"{play.slug}/plays/{play.name}.toml, {truth}, step {position}"
        if "run" in step:
            _run(
                world,
                log,
                str(step["run"]),
                where,
                may_refuse=bool(step.get("may_refuse")),
                progress=progress,
            )
        elif "until" in step:
            _until(world, log, step, where, progress)
        elif "predict" in step:
            log.append(Entry("predict", dict(step["predict"]), at_s=world.clock_s))
        elif "diagnose" in step:
            may_lack = bool(step.get("may_refuse"))
            said = _diagnosis(step["diagnose"], log, where, may_lack=may_lack)
            log.append(Entry("diagnose", said, at_s=world.clock_s))
        elif "explain" in step:
            log.append(Entry("explain", {"text": str(step["explain"])}, at_s=world.clock_s))
        else:
            raise PlayError(f"{where}: a step is run, until, predict, diagnose or explain")
    return log


def _run(
    world: Incident,
    log: list[Entry],
    line: str,
    where: str,
    *,
    may_refuse: bool,
    progress: Progress | None,
) -> None:
    line = _filled(line, world)
    parsed = console.parse(line)
    if isinstance(parsed, console.Refusal):
        raise PlayError(f"{where}: {parsed.message}")
    number = sum(entry.kind == "command" for entry in log) + 1
    outcome = incident.perform(world, parsed, number, progress)
    if outcome.kind == "refused":
        if may_refuse:
            return
        raise PlayError(f"{where}: {outcome.text}")
    data = {**asdict(outcome), "number": number}
    log.append(Entry("command", {"line": line}, data, outcome.at_s, outcome.cost_s))


def _filled(line: str, world: Incident) -> str:
    if "{slowest}" in line:
        line = line.replace("{slowest}", str(slowest_replica(world.view)))
    if "{fit}" not in line:
        return line
    kind = world.world.cluster.workload.spec.classes[0]
    held = kind.prompt.mean + kind.output.mean * (1 + kind.output.cv**2) / 2
    return line.replace("{fit}", str(int(0.95 * world.fleet.pool_tokens / held)))


def _until(
    world: Incident,
    log: list[Entry],
    step: Mapping[str, Any],
    where: str,
    progress: Progress | None,
) -> None:
    wanted, may_refuse = step["until"], bool(step.get("may_refuse"))
    for _ in range(MOST_REPEATS):
        for line in step["repeat"]:
            _run(world, log, str(line), where, may_refuse=may_refuse, progress=progress)
        value = next(
            (
                e.outcome["signals"][wanted["signal"]]
                for e in reversed(log)
                if wanted["signal"] in e.outcome.get("signals", {})
            ),
            None,
        )
        if _reached(value, wanted):
            return
    if not may_refuse:
        raise PlayError(f"{where}: {wanted['signal']} did not come to {wanted}")


def _reached(value: float | str | None, wanted: Mapping[str, Any]) -> bool:
    if "equals" in wanted:
        return bool(value == wanted["equals"])
    if not isinstance(value, float | int):
        return False
    return bool(value < wanted["below"] if "below" in wanted else value > wanted["above"])


def _diagnosis(
    said: Mapping[str, Any], log: Sequence[Entry], where: str, *, may_lack: bool = False
) -> dict[str, Any]:
    """Return the diagnosis with its parameter read off and its citations numbered.

    ``may_lack`` leaves out what no reading of this world shows, instead of refusing the play.
    """
    latest: dict[str, Entry] = {}
    for entry in log:
        for name in (
            entry.outcome.get("signals", {}) if entry.outcome.get("kind") == "reading" else ()
        ):
            latest[name] = entry
    diagnosis = dict(said)
    if isinstance(said.get("parameter"), str):
        source = latest.get(said["parameter"])
        if source is None and not may_lack:
            raise PlayError(f"{where}: no reading shows {said['parameter']}")
        found = None if source is None else source.outcome["signals"][said["parameter"]]
        diagnosis["parameter"] = found
    citations = []
    for each in said.get("citations", []):
        cited = {key: value for key, value in each.items() if key != "may_lack"}
        if cited["signal"] in latest:
            citations.append({"reading": latest[cited["signal"]].number, **cited})
        elif not (may_lack or each.get("may_lack")):
            raise PlayError(f"{where}: no reading shows {each['signal']}")
    diagnosis["citations"] = citations
    return diagnosis


def route(spec: LabSpec, log: Sequence[Entry]) -> Route:
    """Return what a carried-out play did and read."""
    signals: dict[str, int] = {}
    for entry in log:
        if entry.kind == "diagnose" or entry.outcome.get("kind") == "change":
            break
        signals |= dict.fromkeys(entry.outcome.get("signals", {}), entry.at_s)
    steps = tuple(
        Step(str(entry.outcome["kind"]), entry.at_s, entry.cost_s, title_of(spec, entry))
        for entry in log
        if entry.kind == "command" and entry.cost_s
    )
    return Route(tuple(log), operations_of(log), steps, signals)


def title_of(spec: LabSpec, entry: Entry) -> str:
    """Return one line for an entry of a log: what was read, changed, verified or waited for."""
    outcome = entry.outcome
    if outcome["kind"] == "reading":
        return spec.instruments[outcome["instrument"]].title
    if outcome["kind"] == "verification":
        return "What paged, and the promises, five minutes"
    if outcome["kind"] == "wait":
        return f"Waited {incident.clock(entry.cost_s)}"
    return str(outcome["text"]).splitlines()[0] if outcome["text"] else str(outcome["kind"])


def reference_route(
    spec: LabSpec, seed: int, *, hypothesis: str | None = None, progress: Progress | None = None
) -> Route:
    """Return the reference play of a world, carried out; the last few are kept."""
    truth = hypothesis or worlds.hypothesis_of(spec, seed)
    play = load_play(spec.key, "reference")
    key = (incident.spec_key(spec), repr(play), truth, seed)
    if key not in _ROUTES:
        _, log = perform(spec, seed, play, hypothesis=truth, progress=progress)
        _ROUTES[key] = route(spec, log)
        while len(_ROUTES) > _MOST_ROUTES:
            _ROUTES.popitem(last=False)
    return _ROUTES[key]


_ROUTES: OrderedDict[tuple[str, str, str, int], Route] = OrderedDict()
_MOST_ROUTES = 64


def judged(
    spec: LabSpec,
    seed: int,
    play: str | Play,
    *,
    table: Table,
    hypothesis: str | None = None,
    progress: Progress | None = None,
) -> tuple[Judgement, int]:
    """Carry a play out in a world and mark it; return the judgement and the incident seconds that it took."""
    script = load_play(spec.key, play) if isinstance(play, str) else play
    world, log = perform(spec, seed, script, hypothesis=hypothesis, progress=progress)
    reference = reference_route(spec, seed, hypothesis=hypothesis, progress=progress)
    truth = hypothesis or worlds.hypothesis_of(spec, seed)
    judgement = judge(
        spec,
        seed,
        log,
        table=table,
        reference=reference,
        runs=rerun(spec, truth, seed, log, reference=reference, progress=progress),
        live_digest=world.world.cluster.digest(),
        hypothesis=hypothesis,
    )
    return judgement, world.clock_s
