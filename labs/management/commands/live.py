"""``manage.py live LAB --on BOX --dry-run``: what a lab on a box would do, without doing any of it; ``--as PLAY``: do it; ``--check``, ``--undo``: the box."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from labs import live_plays, plays, pool
from labs.catalogue import lab, labs, live_keys
from labs.incident import clock
from labs.live import guard, servers
from labs.live.boxes import BoxError, box
from labs.live.dry_run import dry_run
from labs.live.first_check import findings
from labs.live.offering import NotServed, unserved
from labs.specs import LIVE
from labs.worlds import HEALTHY

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Mapping

    from labs.live.boxes import Box
    from labs.specs import LabSpec


class Command(BaseCommand):
    help = "Say what a lab on a box of real engines would do: commands, faults and their undo, load, instruments."
    requires_system_checks: list[str] = []  # noqa: RUF012  (it reads files alone)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "lab", nargs="?", metavar="LAB", help="folder name of a lab; none: a line for each"
        )
        parser.add_argument(
            "--on",
            default=settings.LIVE_PROFILE,
            metavar="BOX",
            help="name of a profile in labs/live/profiles",
        )
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--dry-run", action="store_true", help="say it, do nothing")
        what.add_argument(
            "--check",
            action="store_true",
            help="hold the box against its profile; exit 1 if it cannot serve",
        )
        what.add_argument(
            "--undo",
            action="store_true",
            help="undo all that leases did to this machine, of one that runs too",
        )
        what.add_argument(
            "--as",
            dest="play",
            metavar="PLAY",
            help="carry a play of the lab out on this machine's engine, and mark it; takes minutes",
        )
        parser.add_argument(
            "--world", metavar="NAME", help="a hypothesis, or healthy; else the seed's own"
        )
        parser.add_argument("--seed", type=int, default=1, metavar="N")

    def handle(self, *args: Any, **options: Any) -> None:
        del args
        if options["undo"]:
            self._undo()
            return
        if not options["dry_run"] and not options["check"] and not options["play"]:
            raise CommandError(
                "add --dry-run or --check, or --as reference to play the lab on this machine's engine"
            )
        try:
            where = box(options["on"])
        except BoxError as exc:
            raise CommandError(str(exc)) from exc
        if options["check"]:
            self._check(where)
            return
        if options["play"]:
            self._play(where, options["lab"] or "", options["play"], options["seed"])
            return
        if options["lab"] is None:
            self._list(where, options["seed"])
            return
        spec = _spec(options["lab"], where)
        try:
            said = dry_run(spec, where, world=options["world"], seed=options["seed"])
        except KeyError as exc:
            known = ", ".join([*spec.hypotheses, HEALTHY])
            raise CommandError(f"{spec.slug} has no world {exc}; it has {known}") from exc
        self.stdout.write(said)

    def _check(self, where: Box) -> None:
        is_well = True
        for each in findings(where, settings.LIVE_DIR):
            self.stdout.write(f"{each.word:8} {each.name:22} {each.says}")
            is_well = is_well and (each.is_well or not each.is_needed)
        if not is_well:
            raise SystemExit(1)

    def _play(self, where: Box, slug: str, name: str, position: int) -> None:
        if where.devices:
            raise CommandError(
                f"{where.name} has GPUs: a lab is played there from its page, where a lease sees to it that all is undone"
            )
        key = f"{slug}{LIVE}"
        if key not in live_keys():
            known = ", ".join(each.removesuffix(LIVE) for each in live_keys())
            raise CommandError(f"no live lab {slug!r}; there are: {known}")
        try:
            spec, seeds, table = lab(key), pool.admitted(key), pool.table(key)
            script = plays.load_play(key, name)
        except (pool.NotProved, plays.PlayError) as exc:
            raise CommandError(str(exc)) from exc
        if not 1 <= position <= len(seeds):
            raise CommandError(
                f"--seed {position}: this lab has {len(seeds)} admitted seeds, from 1"
            )
        with tempfile.TemporaryDirectory(prefix="live-") as folder:
            try:
                judgement, log = live_plays.played(
                    spec,
                    seeds[position - 1],
                    script,
                    box=where,
                    folder=Path(folder),
                    table=table,
                    tell=self._tell,
                )
            except (servers.EngineError, plays.PlayError, BoxError, NotServed) as exc:
                raise CommandError(str(exc)) from exc
        self.stderr.write("\r" + " " * 78 + "\r", ending="")
        for entry in log:
            if entry.kind == "command":
                self.stdout.write(
                    f"{clock(entry.at_s):>6}  {entry.payload['line']}\n        {_read(entry.outcome)}"
                )
        for part in judgement.parts:
            self.stdout.write(
                f"{part['name']:14} {part['earned']:5.1f} of {part['weight']}  {part['reason']}"
            )
        self.stdout.write(judgement.reason)

    def _tell(self, share: float, doing: str) -> None:
        self.stderr.write(f"\r{100 * share:3.0f} % {doing[:70]:72}", ending="")

    def _undo(self) -> None:
        ledgers = sorted(settings.LIVE_DIR.glob("*/ledger"))
        problems = [problem for each in ledgers for problem in guard.undo(each)]
        for problem in problems:
            self.stdout.write(problem)
        self.stdout.write(f"ledgers: {len(ledgers)}; commands that failed: {len(problems)}.")
        if problems:
            raise SystemExit(1)

    def _list(self, where: Box, seed: int) -> None:
        for slug in labs():
            why = unserved(_spec(slug, where), where, seed)
            reasons = "; ".join(f"{text}" for text in why.values())
            self.stdout.write(f"{slug:26} {'served' if not why else f'not served: {reasons}'}")


def _read(outcome: Mapping[str, Any]) -> str:
    """Return what a command showed: its signals, or the first line that it printed."""
    signals = [
        f"{name} {value:.3g}" if isinstance(value, float | int) else f"{name} {value}"
        for name, value in outcome.get("signals", {}).items()
        if value is not None
    ]
    return ", ".join(signals) or str(outcome.get("text", "")).partition("\n")[0][:100]


def _spec(slug: str, where: Box) -> LabSpec:
    """Return the lab at the scale of the box, where it says one; else as it is simulated. Raises CommandError."""
    if slug not in labs():
        raise CommandError(f"no lab {slug!r}; there are: {', '.join(labs())}")
    try:
        scaled = lab(f"{slug}/live")
    except LookupError:
        return lab(slug)
    return scaled if scaled.live is not None and where.name in scaled.live.boxes else lab(slug)
