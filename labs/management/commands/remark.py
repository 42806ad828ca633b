"""``manage.py remark LAB… | --all``: what today's rules would change in stored marks; then apply it, or undo it."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from labs import mark_diff, remarker, remarking
from labs.catalogue import labs
from labs.models import Remarking
from labs.rules import rules_of, short

if TYPE_CHECKING:
    from argparse import ArgumentParser

SHOWN = 20


class Command(BaseCommand):
    help = (
        "Work out what today's rules would change in stored marks and print it, without writing a mark; "
        "--apply ROUND writes it, --undo ROUND takes it back."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("labs", nargs="*", metavar="LAB", help="folder names of labs")
        parser.add_argument("--all", action="store_true", help="every lab")
        parser.add_argument(
            "--simulate",
            action="store_true",
            help="also simulate attempts whose re-runs were not kept, some seconds each",
        )
        parser.add_argument("--apply", type=int, metavar="ROUND", help="write what a round found")
        parser.add_argument(
            "--undo", type=int, metavar="ROUND", help="take back what a round wrote"
        )
        parser.add_argument("--reason", default="", help="why; learners whose marks move read it")
        parser.add_argument("--json", action="store_true", help="for machines")

    def handle(self, **options: Any) -> None:
        begun = time.perf_counter()
        found = self._round(options)
        remarker.carry_on(found.pk)
        found.refresh_from_db()
        if found.status == Remarking.Status.FAILED or found.is_under_way:
            raise CommandError(f"round {found.pk} stopped half-way; see the log. Nothing is lost")
        wall_s = time.perf_counter() - begun
        self.stdout.write(_as_json(found, wall_s) if options["json"] else _told(found, wall_s))

    def _round(self, options: dict[str, Any]) -> Remarking:
        asked = [bool(options["labs"] or options["all"]), options["apply"], options["undo"]]
        if sum(each not in {None, False} for each in asked) != 1:
            raise CommandError("name labs or --all, or one of --apply ROUND and --undo ROUND")
        try:
            if options["apply"] is not None:
                return self._apply(options["apply"], str(options["reason"]).strip())
            if options["undo"] is not None:
                return self._undo(options["undo"])
        except remarking.Busy:
            raise CommandError(
                "another round is writing marks; try again when it is over"
            ) from None
        chosen = list(labs()) if options["all"] else options["labs"]
        unknown = [slug for slug in chosen if slug not in labs()]
        if unknown:
            raise CommandError(f"no such lab: {', '.join(unknown)}; there are {', '.join(labs())}")
        return remarking.ask(chosen, simulate=options["simulate"], send=False)

    def _apply(self, number: int, reason: str) -> Remarking:
        found = _existing(number)
        if not reason:
            raise CommandError('say why with --reason "…": learners whose marks move read it')
        if not remarking.apply(found, reason=reason, send=False):
            raise CommandError(
                f"round {number} is {found.status}; only one that is ready is applied"
            )
        return found

    def _undo(self, number: int) -> Remarking:
        found = _existing(number)
        if not remarking.undo(found, send=False):
            raise CommandError(
                f"round {number} is {found.status}; only one that is applied is undone"
            )
        return found


def _existing(number: int) -> Remarking:
    found = Remarking.objects.filter(pk=number).first()
    if found is None:
        raise CommandError(f"there is no round {number}")
    return found


def _told(found: Remarking, wall_s: float) -> str:
    lines = [
        f"round {found.pk}: {found.get_status_display().lower()}",
        f"  {found.looked_at} of {found.of} attempts looked at, {found.as_before} as before",
        f"  {remarking.summary_of(found).sentence}",
    ]
    if found.without_reruns:
        lines.append(
            f"  {found.without_reruns} keep no re-runs and were left out; --simulate looks at them too"
        )
    if found.passed_over:
        lines.append(f"  {found.passed_over} passed over: somebody had changed the mark since")
    lines += [f"  attempt {each['attempt']}: {each['message']}" for each in found.faults]
    if found.status == Remarking.Status.READY:
        lines += _moves(found)
        lines.append(f'  to write it: manage.py remark --apply {found.pk} --reason "…"')
    elif found.status == Remarking.Status.APPLIED:
        lines.append(f"  to take it back: manage.py remark --undo {found.pk}")
    return "\n".join([*lines, f"  {wall_s:.1f} s"])


def _moves(found: Remarking) -> list[str]:
    planned = found.planned.select_related("attempt")
    lines = []
    for each in planned[:SHOWN]:
        parts = ", ".join(
            f"{moved.part} {_points(moved.before)} to {_points(moved.after)}"
            for moved in mark_diff.moved_parts(each.attempt.mark, each.mark)
        )
        lines.append(
            f"  {each.attempt.lab_slug} {each.attempt.public_id}  {_points(each.attempt.total)} to"
            f" {_points(each.total)}  {parts or 'other reasons only'}"
        )
    left = planned.count() - len(lines)
    if left > 0:
        lines.append(f"  … and {left} more")
    return lines


def _points(points: Any) -> str:
    return "not graded" if points is None else f"{points:g}"


def _as_json(found: Remarking, wall_s: float) -> str:
    told = {
        "round": found.pk,
        "status": found.status,
        "of": found.of,
        "looked_at": found.looked_at,
        "as_before": found.as_before,
        "without_reruns": found.without_reruns,
        "passed_over": found.passed_over,
        "faults": found.faults,
        "rules": {slug: short(rules_of(slug)) for slug in found.labs},
        "wall_s": round(wall_s, 2),
    }
    return json.dumps({**told, **asdict(remarking.summary_of(found))})
