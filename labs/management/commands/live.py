"""``manage.py live LAB --on BOX --dry-run``: what a lab on a box would do, without doing any of it; ``--check``, ``--undo``: the box."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from labs.catalogue import lab, labs
from labs.live import guard
from labs.live.boxes import BoxError, box
from labs.live.dry_run import dry_run
from labs.live.first_check import findings
from labs.live.offering import unserved
from labs.worlds import HEALTHY

if TYPE_CHECKING:
    from argparse import ArgumentParser

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
        parser.add_argument(
            "--world", metavar="NAME", help="a hypothesis, or healthy; else the seed's own"
        )
        parser.add_argument("--seed", type=int, default=1, metavar="N")

    def handle(self, *args: Any, **options: Any) -> None:
        del args
        if options["undo"]:
            self._undo()
            return
        if not options["dry_run"] and not options["check"]:
            raise CommandError(
                "add --dry-run or --check: a lab is played on a real engine from its page"
            )
        try:
            where = box(options["on"])
        except BoxError as exc:
            raise CommandError(str(exc)) from exc
        if options["check"]:
            self._check(where)
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


def _spec(slug: str, where: Box) -> LabSpec:
    """Return the lab at the scale of the box, where it says one; else as it is simulated. Raises CommandError."""
    if slug not in labs():
        raise CommandError(f"no lab {slug!r}; there are: {', '.join(labs())}")
    try:
        scaled = lab(f"{slug}/live")
    except LookupError:
        return lab(slug)
    return scaled if scaled.live is not None and where.name in scaled.live.boxes else lab(slug)
