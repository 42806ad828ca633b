"""``manage.py prove_lab LAB``: compute a lab's information table and its pool of seeds, and write them beside its spec."""

from __future__ import annotations

import gzip
import json
import time
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from labs import plays, pool, table_runs
from labs.catalogue import folder_of, labs
from labs.digest import world_digest
from labs.marking.table import dump_table

if TYPE_CHECKING:
    from argparse import ArgumentParser

DRAFT_SEEDS, FULL_SEEDS = 20, 40


class Command(BaseCommand):
    help = "Compute a lab's information table and its pool of seeds. Needed after a change of simulator or spec."
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

    def handle(self, *args: Any, **options: Any) -> None:
        del args
        slug = options["lab"]
        if slug not in labs():
            raise CommandError(f"no lab {slug!r}; there are: {', '.join(labs())}")
        spec, began = labs()[slug], time.monotonic()
        seeds = DRAFT_SEEDS if options["draft"] else FULL_SEEDS
        table, refused = table_runs.make_table(
            spec, seeds, lambda text: self.stdout.write(f"\r{text}  ", ending="")
        )
        digest = world_digest(slug)
        data = {"digest": digest, "seeds": seeds, "refused": refused, "table": dump_table(table)}
        raw = json.dumps(data, sort_keys=True, separators=(",", ":")).encode()
        (folder_of(slug) / "table.json.gz").write_bytes(gzip.compress(raw, 9, mtime=0))
        self.stdout.write("")
        admitted: list[dict[str, Any]] = []
        tried: dict[str, int] = {}
        for seed, hypothesis in table_runs.pool_seeds(spec):
            tried[hypothesis] = tried.get(hypothesis, 0) + 1
            try:
                judgement, clock_s = plays.judged(spec, seed, "reference", table=table)
            except plays.PlayError:
                continue
            if judgement.total != 100:  # noqa: PLR2004
                continue
            admitted.append({"seed": seed, "hypothesis": hypothesis, "reference_s": clock_s})
            self.stdout.write(f"\rpool: {len(admitted)} of {options['pool']}  ", ending="")
            if len(admitted) == options["pool"]:
                break
        record = {"digest": digest, "stayed_hurt": tried, "seeds": admitted}
        (folder_of(slug) / "pool.json").write_text(
            json.dumps(record, indent=1) + "\n", encoding="utf-8"
        )
        pool.admitted.cache_clear()
        pool.table.cache_clear()
        self.stdout.write(
            f"\n{slug}: table of {seeds} seeds, {len(admitted)} seeds admitted, {time.monotonic() - began:.0f} s"
        )
