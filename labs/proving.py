"""Computes a lab's table, its pool and its proof, on as many processes as one gives it, always to the same bytes."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
from collections import Counter
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from labs import incident, plays, pool, proof, table_runs, worlds
from labs.catalogue import folder_of, lab
from labs.cheats import cheats, in_control
from labs.digest import behaviour, meaning_digest
from labs.log import spent_s
from labs.marking.information import told_best
from labs.marking.table import dump_table
from labs.reveal import worth_of_first_readings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from labs.marking.table import Table
    from labs.specs import LabSpec
    from labs.table_runs import Row

REFERENCE_SHARE = 0.8
"""The reference must be done within this share of the incident clock: a learner may need longer."""
FULL = 100.0
MOST_POOL_TRIED = 400
_MARKING_ROOMS = (
    "marking",
    "log.py",
    "atoms.py",
    "twins.py",
    "reruns.py",
    "judgement.py",
    "reveal.py",
    "plays.py",
    "cheats.py",
    "proof.py",
    "proving.py",
)
"""The code that gives marks and statements their numbers, beside the worlds' own."""


@dataclass(frozen=True)
class Level:
    """How much a proof computes."""

    name: str
    table_seeds: int
    pool_seeds: int
    cheat_seeds: int
    """Of each world."""
    tempting_seeds: int


DRAFT = Level("draft", table_seeds=20, pool_seeds=20, cheat_seeds=1, tempting_seeds=4)
FULL_LEVEL = Level("full", table_seeds=40, pool_seeds=40, cheat_seeds=5, tempting_seeds=20)
LEVELS = {each.name: each for each in (DRAFT, FULL_LEVEL)}


@dataclass
class Proof:
    """What a lab showed of itself."""

    slug: str
    level: str
    lines: list[proof.Line]
    values: list[dict[str, Any]] = field(default_factory=list)
    """Instruments, best first: bits, seconds, bits per minute."""
    pairs: list[dict[str, Any]] = field(default_factory=list)
    """Worlds two by two: what the reference's readings tell between them, bits, and its lower bound."""
    admission: dict[str, float] = field(default_factory=dict)
    admitted: int = 0
    cpu_s: float = 0.0

    @property
    def holds(self) -> bool:
        return all(line.verdict != "red" for line in self.lines)


def proof_hash(spec: LabSpec, level: str, doing: str) -> str:
    """Return what a proof follows from: the spec but its titles, its plays, the level, its worlds, and how it marks."""
    said = spec.model_dump(
        mode="json", exclude_defaults=True, exclude={"number", "title", "summary", "minutes"}
    )
    total = hashlib.sha256(json.dumps(said, sort_keys=True).encode())
    total.update(meaning_digest(_MARKING_ROOMS).encode())
    for path in sorted((folder_of(spec.key) / "plays").glob("*.toml")):
        total.update(path.read_bytes())
    total.update(f"{level}:{doing}".encode())
    return total.hexdigest()


def prove(
    key: str, level: Level, *, jobs: int = 1, told: Callable[[str], None] = lambda text: None
) -> Proof:
    """Return the proof of a lab: the stored one if it still follows from the same, else computed and stored.

    A stored proof of more seeds than were asked for will do.

    Raises RuntimeError if too few seeds qualify, and PlayError for a play that cannot be played.
    """
    spec = lab(key)
    doing = behaviour(spec)
    follows_from = proof_hash(spec, level.name, doing)
    enough = {each.name for each in LEVELS.values() if each.table_seeds >= level.table_seeds}
    with contextlib.suppress(pool.NotProved):
        stored = pool.proof(key)
        if stored.get("hash") in {proof_hash(spec, name, doing) for name in {level.name} | enough}:
            return _stored(stored["proof"])
    began = _cpu_s()
    with _workers(jobs) as executor:
        made = _table(spec, level, doing, executor, told)
        record = _pool(spec, level, made, executor, told)
        played = _played(spec, level, record, executor, told)
        lines = list(_lines(spec, made, record, played))
    found = Proof(
        slug=spec.slug,
        level=level.name,
        lines=lines,
        values=worth_of_first_readings(spec, made, []),
        pairs=_pairs(spec, made, record),
        admission=dict(record["admission"]),
        admitted=len(record["seeds"]),
        cpu_s=round(_cpu_s() - began, 1),
    )
    pool.write(key, pool.PROOF, {"hash": follows_from, "proof": asdict(found)})
    return found


def stored(key: str) -> Proof:
    """Return the lab's stored proof. Raises NotProved, whose message says what to run."""
    return _stored(pool.proof(key)["proof"])


def _cpu_s() -> float:
    """Return the CPU seconds of this process and of those that it has waited for."""
    return sum(os.times()[:4])


def _stored(data: dict[str, Any]) -> Proof:
    return Proof(**{**data, "lines": [proof.Line(**line) for line in data["lines"]]})


@contextlib.contextmanager
def _workers(jobs: int) -> Iterator[Executor | None]:
    if jobs <= 1:
        yield None
        return
    with ProcessPoolExecutor(max_workers=jobs) as executor:
        yield executor


def _mapped[T, R](
    executor: Executor | None, work: Callable[[T], R], items: Iterable[T], ahead: int = 8
) -> Iterator[R]:
    """Return the results in order, computing no more than ``ahead`` beyond what is asked for."""
    if executor is None:
        yield from map(work, items)
        return
    waiting: list[Future[R]] = []
    for item in items:
        waiting.append(executor.submit(work, item))
        if len(waiting) >= ahead:
            yield waiting.pop(0).result()
    for future in waiting:
        yield future.result()


# ------------------------------------------------------------------------------------------ table and pool


def _seed_rows(key: str, seed: int) -> dict[str, list[Row]] | str:
    return table_runs.seed_rows(lab(key), seed)


def _table(
    spec: LabSpec,
    level: Level,
    doing: str,
    executor: Executor | None,
    told: Callable[[str], None],
) -> Table:
    """Return the table: the file's, if it has enough seeds and the worlds still do the same."""
    with contextlib.suppress(pool.NotProved):
        known = pool.table(spec.key)
        if pool.behaviour(spec.key) == doing and known.seeds >= level.table_seeds:
            return known
    made = table_runs.make_table(
        spec,
        level.table_seeds,
        told,
        lambda seeds: _mapped(executor, partial(_seed_rows, spec.key), seeds),
    )
    data = {
        "behaviour": doing,
        "seeds": list(made.seeds),
        "refused": dict(made.refused),
        "table": dump_table(made.table),
    }
    pool.write(spec.key, pool.TABLE, data)
    return made.table


def _tried(key: str, seed: int) -> tuple[int, str, str, int]:
    """Return a pool seed, its world, what became of it (unfit, refused, late, short, full), and the reference's clock."""
    spec = lab(key)
    hypothesis = worlds.hypothesis_of(spec, seed)
    if not table_runs.stays_hurt(spec, hypothesis, seed):
        return seed, hypothesis, "unfit", 0
    try:
        judgement, clock_s = plays.judged(spec, seed, "reference", table=pool.table(key))
    except plays.PlayError:
        return seed, hypothesis, "refused", 0
    if clock_s > REFERENCE_SHARE * spec.timeline.budget_s:
        return seed, hypothesis, "late", clock_s
    return seed, hypothesis, "full" if judgement.total == FULL else "short", clock_s


def _pool(
    spec: LabSpec,
    level: Level,
    table: Table,
    executor: Executor | None,
    told: Callable[[str], None],
) -> dict[str, Any]:
    """Admit as many seeds of each served hypothesis, so that none is the likely answer."""
    del table
    share = -(-level.pool_seeds // len(spec.served))
    became: dict[str, Counter[str]] = {name: Counter() for name in spec.served}
    admitted: list[dict[str, Any]] = []
    most = table_runs.POOL_FROM + MOST_POOL_TRIED * len(spec.served)
    # A world that has its share is passed over unrun: drawn lazily, a few seeds too many cost little.
    stream = (
        seed
        for seed in range(table_runs.POOL_FROM, most)
        if became[worlds.hypothesis_of(spec, seed)]["full"] < share
    )
    for seed, name, fate, clock_s in _mapped(executor, partial(_tried, spec.key), stream):
        if became[name]["full"] >= share:
            continue
        became[name][fate] += 1
        if fate == "full":
            admitted.append({"seed": seed, "hypothesis": name, "reference_s": clock_s})
            told(f"pool: {len(admitted)} of {share * len(spec.served)}")
        if all(counts["full"] >= share for counts in became.values()):
            break
    # Rare worlds are found late: without a shuffle the last seeds would all be of one.
    random.Random(f"pool:{spec.slug}").shuffle(admitted)
    fits = {
        name: (sum(counts.values()) - counts["unfit"]) / max(1, sum(counts.values()))
        for name, counts in became.items()
    }
    record = {
        "became": {name: dict(counts) for name, counts in became.items()},
        "admission": fits,
        "seeds": admitted,
    }
    pool.write(spec.key, pool.POOL, record)
    return record


# ----------------------------------------------------------------------------------------------- the proof


def _lines(
    spec: LabSpec,
    table: Table,
    record: Mapping[str, Any],
    played: Iterable[proof.Line],
) -> Iterator[proof.Line]:
    first = _first_seeds(record)
    if not first:
        raise RuntimeError(f"no pool seed was admitted; what became of them: {record['became']}")
    routes = {
        name: plays.reference_route(spec, seed, hypothesis=name) for name, seed in first.items()
    }
    yield proof.admission(spec, pool.refused(spec.key), table.seeds)
    yield from proof.effect(spec, table)
    if spec.admission.alarm_was_silent:
        yield proof.alarm(spec, table)
    known = next(iter(routes.values())).known(table)
    yield from proof.discrimination(spec, table, known)
    yield from proof.full_marks(record["became"])
    yield from played
    yield from proof.free_answers(spec)
    yield from proof.budget(spec, {name: spent_s(route.log) for name, route in routes.items()})
    yield proof.lasts(spec, table)
    yield proof.same_twice(
        {
            name: (_digest(spec, seed, name), _digest(spec, seed, name))
            for name, seed in first.items()
        }
    )


def _first_seeds(record: Mapping[str, Any]) -> dict[str, int]:
    first: dict[str, int] = {}
    for entry in record["seeds"]:
        first.setdefault(entry["hypothesis"], int(entry["seed"]))
    return first


def _digest(spec: LabSpec, seed: int, hypothesis: str) -> str:
    return incident.begin(spec, seed, hypothesis=hypothesis).world.cluster.digest()


@dataclass(frozen=True)
class Played:
    """One play in one world, marked."""

    name: str
    total: float
    passed: bool
    mends: bool


def play_once(key: str, name: str, seed: int) -> Played:
    """Carry one of a lab's plays or cheats out in the world of a pool seed, and mark it."""
    spec = lab(key)
    script = _scripts(spec)[name]
    judgement, _ = plays.judged(spec, seed, script, table=pool.table(key))
    mitigation = next((part for part in judgement.parts if part["name"] == "mitigation"), None)
    mends = mitigation is not None and mitigation["earned"] == mitigation["weight"]
    return Played(name, judgement.total or 0.0, judgement.passed, mends)


def _scripts(spec: LabSpec) -> dict[str, plays.Play]:
    """Return every play that must not earn what the reference does: the lab's own, and the cheats of all labs."""
    own = {
        name: plays.load_play(spec.key, name)
        for name in plays.names(spec.key)
        if name != "reference"
    }
    return own | {each.name: each for each in cheats(spec)}


def quick_plays(
    key: str, entries: Iterable[Mapping[str, Any]]
) -> Iterator[tuple[str, plays.Play, Mapping[str, Any]]]:
    """Return every play and cheat of a lab, each once, with the first of the seeds whose world it has steps for."""
    spec, seeds = lab(key), list(entries)
    for position, (name, script) in enumerate(_scripts(spec).items()):
        fit = [entry for entry in seeds if script.has(entry["hypothesis"])]
        if fit:
            entry = fit[position % len(fit)]
            yield name, _allowed(spec, script, entry["hypothesis"]), entry


def _allowed(spec: LabSpec, script: plays.Play, world: str) -> plays.Play:
    """Return a play with the ceiling that it has in a world."""
    return in_control(script) if spec.hypotheses[world].answer.scope == "healthy" else script


def _played(
    spec: LabSpec,
    level: Level,
    record: Mapping[str, Any],
    executor: Executor | None,
    told: Callable[[str], None],
) -> Iterator[proof.Line]:
    scripts = _scripts(spec)
    work: list[tuple[str, int]] = []
    for name, script in scripts.items():
        count: Counter[str] = Counter()
        most = level.tempting_seeds if script.tempting else level.cheat_seeds
        for entry in record["seeds"]:
            world = entry["hypothesis"]
            if script.has(world) and count[world] < most:
                count[world] += 1
                work.append((name, int(entry["seed"])))
    totals: dict[str, list[float]] = {}
    passed: Counter[str] = Counter()
    mended: dict[str, list[bool]] = {}
    allowed: dict[str, float] = {}
    results = _mapped(executor, partial(_play_pair, spec.key), work)
    for position, ((name, seed), each) in enumerate(zip(work, results, strict=True), start=1):
        told(f"plays: {position} of {len(work)}")
        script = scripts[name]
        world = worlds.hypothesis_of(spec, seed)
        control = spec.hypotheses[world].answer.scope == "healthy"
        label = f"{name}, healthy" if control else name
        allowed[label] = _allowed(spec, script, world).ceiling
        totals.setdefault(label, []).append(each.total)
        if script.must_not_pass:
            passed[label] += each.passed
        if script.tempting:
            mended.setdefault(label, []).append(each.mends)
    why = {name: each.why for name, each in spec.cheats.items()}
    yield from proof.ceilings(totals, allowed, why)
    yield from proof.never_passes(passed)
    yield from proof.tempting({name: (sum(full), len(full)) for name, full in mended.items()})


def _play_pair(key: str, pair: tuple[str, int]) -> Played:
    return play_once(key, *pair)


def _pairs(spec: LabSpec, table: Table, record: Mapping[str, Any]) -> list[dict[str, Any]]:
    first = _first_seeds(record)
    if not first:
        return []
    name, seed = next(iter(first.items()))
    known = plays.reference_route(spec, seed, hypothesis=name).known(table)
    names = table.hypotheses
    return [
        {"one": one, "other": other, "bits": round(told.counted, 3), "lower": round(told.lower, 3)}
        for position, one in enumerate(names)
        for other in names[position + 1 :]
        for told in [told_best(table, known, one, other)]
    ]
