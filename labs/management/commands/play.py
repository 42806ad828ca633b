"""``manage.py play LAB --as PLAY``: carry out a script from the lab's folder and print its marks."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from labs import plays, pool, worlds
from labs.catalogue import lab, labs, live_keys
from labs.cheats import cheats
from labs.incident import clock
from labs.marking.constants import WEIGHTS

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from labs.specs import LabSpec

COUNTEREXAMPLE, CHEAT = "counterexample:", "cheat:"


class Command(BaseCommand):
    help = "Play a script of a lab without a browser and print the marks per criterion."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("lab", help="the lab's folder name")
        parser.add_argument(
            "--as",
            dest="play",
            default="reference",
            metavar="reference|counterexample:NAME|cheat:NAME",
        )
        parser.add_argument(
            "--seed", type=int, default=1, metavar="N", help="the N-th admitted seed, from 1"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        del args
        slug, name, position = options["lab"], options["play"], options["seed"]
        if slug not in (*labs(), *live_keys()):
            raise CommandError(f"no lab {slug!r}; there are: {', '.join((*labs(), *live_keys()))}")
        spec = lab(slug)
        try:
            seeds, table = pool.admitted(slug), pool.table(slug)
            script = _script(spec, name)
        except (pool.NotProved, plays.PlayError) as exc:
            raise CommandError(str(exc)) from exc
        if not 1 <= position <= len(seeds):
            raise CommandError(
                f"--seed {position}: this lab has {len(seeds)} admitted seeds, from 1"
            )
        seed = seeds[position - 1]
        name, began = script.name, time.perf_counter()
        try:
            judgement, incident_s = plays.judged(spec, seed, script, table=table)
        except plays.PlayError as exc:
            raise CommandError(str(exc)) from exc
        wall_s = time.perf_counter() - began
        record = {
            "lab": slug,
            "play": name,
            "seed": position,
            "seed_value": seed,
            "hypothesis": worlds.hypothesis_of(spec, seed),
            "graded": judgement.graded,
            "marks": {part["name"]: part["earned"] for part in judgement.parts},
            "reasons": {part["name"]: part["reason"] for part in judgement.parts},
            "total": judgement.total,
            "passed": judgement.passed,
            "ceiling": script.ceiling,
            "incident_minutes": round(incident_s / 60, 2),
            "wall_seconds": round(wall_s, 2),
        }
        if options["json"]:
            self.stdout.write(json.dumps(record, ensure_ascii=False))
            return
        self.stdout.write(
            f"{spec.title}, seed {position} ({record['hypothesis']}), played as {name}"
        )
        for part in judgement.parts:
            self.stdout.write(
                f"  {part['name']:13}{part['earned']:6.1f} of {WEIGHTS[part['name']]:3}  {part['reason']}"
            )
        total = "not graded" if judgement.total is None else f"{judgement.total:.1f}"
        self.stdout.write(f"  {'total':13}{total:>6} of 100  {judgement.reason}")
        self.stdout.write(
            f"  incident {clock(incident_s)}, wall {wall_s:.1f} s, ceiling {script.ceiling:g}"
        )


def _script(spec: LabSpec, name: str) -> plays.Play:
    """Return one of the lab's own plays, or a cheat of all labs. Raises PlayError for neither."""
    if not name.startswith(CHEAT):
        return plays.load_play(spec.key, name.removeprefix(COUNTEREXAMPLE))
    known = {each.name: each for each in cheats(spec)}
    if name.removeprefix(CHEAT) not in known:
        raise plays.PlayError(f"there is no {name!r}; this lab has {', '.join(known)}")
    return known[name.removeprefix(CHEAT)]
