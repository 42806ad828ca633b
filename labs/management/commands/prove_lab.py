"""``manage.py prove_lab LAB``: compute a lab's information table and its pool of seeds, and write them beside its spec."""

from __future__ import annotations

import gzip
import json
import random
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from labs import incident, plays, pool, proof, table_runs
from labs.catalogue import folder_of, labs
from labs.digest import world_digest
from labs.log import spent_s
from labs.marking.table import dump_table

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterator, Mapping

    from labs.marking.table import Table
    from labs.specs import LabSpec

DRAFT_SEEDS, FULL_SEEDS = 20, 40
REFERENCE_SHARE = 0.8
"""The reference must be done within this share of the incident clock: a learner may need longer."""


class Command(BaseCommand):
    help = "Compute a lab's information table and its pool of seeds, and print its proof. Needed after a change of simulator or spec."
    requires_system_checks: list[str] = []  # noqa: RUF012  (it mends what the check reports)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("lab", help="the lab's folder name")
        parser.add_argument(
            "--pool", type=int, default=40, help="seeds to admit for learners (default 40)"
        )
        parser.add_argument(
            "--draft",
            action="store_true",
            help=f"a table of {DRAFT_SEEDS} seeds instead of {FULL_SEEDS}",
        )
        parser.add_argument(
            "--cheats",
            type=int,
            default=0,
            metavar="N",
            help="also play every counterexample on N seeds of each world (statement 6; default 0)",
        )
        parser.add_argument(
            "--print",
            action="store_true",
            help="compute nothing anew: print the proof of the files",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        del args
        slug = options["lab"]
        if slug not in labs():
            raise CommandError(f"no lab {slug!r}; there are: {', '.join(labs())}")
        spec, began = labs()[slug], time.monotonic()
        if not options["print"]:
            self._table(spec, DRAFT_SEEDS if options["draft"] else FULL_SEEDS)
            self._pool(spec, options["pool"])
        try:
            lines = list(proof_lines(spec, cheats=options["cheats"]))
        except pool.NotProved as exc:
            raise CommandError(str(exc)) from exc
        for line in lines:
            self.stdout.write(str(line))
        red = sum(line.verdict == "red" for line in lines)
        self.stdout.write(
            f"{slug}: {len(pool.admitted(slug))} seeds admitted, {red} of {len(lines)} lines red, {time.monotonic() - began:.0f} s"
        )

    def _tell(self, text: str) -> None:
        self.stdout.write(f"\r{text}  ", ending="")

    def _table(self, spec: LabSpec, seeds: int) -> None:
        """Compute the table, unless the file is today's and has as many seeds."""
        try:
            if pool.table(spec.slug).seeds == seeds:
                return
        except pool.NotProved:
            pass
        made = table_runs.make_table(spec, seeds, self._tell)
        data = {
            "digest": world_digest(spec.slug),
            "seeds": made.seeds,
            "refused": made.refused,
            "table": dump_table(made.table),
        }
        raw = json.dumps(data, sort_keys=True, separators=(",", ":")).encode()
        path = folder_of(spec.slug) / "table.json.gz"
        path.write_bytes(gzip.compress(raw, 9, mtime=0))
        pool.table.cache_clear()
        self.stdout.write("")

    def _pool(self, spec: LabSpec, size: int) -> None:
        """Admit as many seeds of each served hypothesis, so that none is the likely answer."""
        table, share = pool.table(spec.slug), -(-size // len(spec.served))
        admitted: list[dict[str, Any]] = []
        tried: Counter[str] = Counter()
        too_long: Counter[str] = Counter()
        kept: Counter[str] = Counter()
        for seed, hypothesis in table_runs.pool_seeds(spec, lambda name: kept[name] < share):
            try:
                judgement, clock_s = plays.judged(spec, seed, "reference", table=table)
            except plays.PlayError:
                tried[hypothesis] += 1
                continue
            if clock_s > REFERENCE_SHARE * spec.timeline.budget_s:
                too_long[hypothesis] += 1
                continue
            tried[hypothesis] += 1
            if judgement.total != 100:  # noqa: PLR2004
                continue
            kept[hypothesis] += 1
            admitted.append({"seed": seed, "hypothesis": hypothesis, "reference_s": clock_s})
            self._tell(f"pool: {len(admitted)} of {size}")
            if len(admitted) == size:
                break
        # Rare worlds are found late: without a shuffle the last seeds would all be of one.
        random.Random(f"pool:{spec.slug}").shuffle(admitted)
        record = {
            "digest": world_digest(spec.slug),
            "stayed_hurt": tried,
            "too_long": too_long,
            "seeds": admitted,
        }
        path = folder_of(spec.slug) / "pool.json"
        path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        pool.admitted.cache_clear()
        self.stdout.write("")


def proof_lines(spec: LabSpec, *, cheats: int = 0) -> Iterator[proof.Line]:
    """Return the proof of a lab from its files, and from a few plays. Raises NotProved if they are another's."""
    table, record = pool.table(spec.slug), pool.record(spec.slug)
    first: dict[str, int] = {}
    for entry in record["seeds"]:
        first.setdefault(entry["hypothesis"], int(entry["seed"]))
    routes = {
        name: plays.reference_route(spec, seed, hypothesis=name) for name, seed in first.items()
    }
    yield proof.admission(spec, pool.refused(spec.slug), table.seeds)
    yield from proof.effect(spec, table)
    yield proof.alarm(spec, table)
    known = next(iter(routes.values())).known(table)
    yield from proof.discrimination(spec, table, known)
    yield from proof.full_marks(
        Counter(entry["hypothesis"] for entry in record["seeds"]), record["stayed_hurt"]
    )
    if cheats:
        totals, allowed = _cheats(spec, table, record, cheats)
        yield from proof.ceilings(totals, allowed)
    yield from proof.free_answers(spec)
    yield from proof.budget(spec, {name: spent_s(route.log) for name, route in routes.items()})
    yield proof.lasts(spec, table)
    yield proof.same_twice(
        {
            name: (_digest(spec, seed, name), _digest(spec, seed, name))
            for name, seed in first.items()
        }
    )


def _digest(spec: LabSpec, seed: int, hypothesis: str) -> str:
    return incident.begin(spec, seed, hypothesis=hypothesis).world.cluster.digest()


def _cheats(
    spec: LabSpec, table: Table, record: Mapping[str, Any], seeds: int
) -> tuple[dict[str, list[float]], dict[str, float]]:
    totals: dict[str, list[float]] = {}
    allowed: dict[str, float] = {}
    for name in plays.names(spec.slug):
        play = plays.load_play(spec.slug, name)
        played: Counter[str] = Counter()
        for entry in record["seeds"] if name != "reference" else ():
            world = entry["hypothesis"]
            if played[world] == seeds or not play.has(world):
                continue
            played[world] += 1
            judgement, _ = plays.judged(spec, int(entry["seed"]), name, table=table)
            totals.setdefault(name, []).append(judgement.total or 0.0)
            allowed[name] = play.ceiling
    return totals, allowed
