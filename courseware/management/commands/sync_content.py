"""``manage.py sync_content``: the files of the checkout become versions of the course."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from courseware.served import CHECKOUT
from courseware.studio import store, syncing

if TYPE_CHECKING:
    from argparse import ArgumentParser

TOLD = ("created", "changed", "newer here", "gone", "withdrawn", "refused")
MOST_TRIES = 3


class Command(BaseCommand):
    help = "Take the files of labs and lessons in as versions; report what was created, changed, unchanged or refused."
    requires_system_checks: list[str] = []  # noqa: RUF012  (it reports what the check would stop at)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="report, and change nothing")
        parser.add_argument(
            "--withdraw", action="store_true", help="take pieces without files out of the course"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        del args
        rows = self._rows(**{key: options[key] for key in ("dry_run", "withdraw")})
        for row in rows:
            if row.what in TOLD and options["verbosity"]:
                said = f": {row.says}" if row.says else ""
                self.stdout.write(f"{row.what:10} {row.path}{said}")
            elif row.what == "refused":
                self.stderr.write(f"{row.path}: {row.says}")
        counts = Counter(row.what for row in rows)
        if options["verbosity"]:
            self.stdout.write(", ".join(f"{count} {what}" for what, count in counts.most_common()))
        if counts["refused"]:
            raise CommandError(
                f"{counts['refused']} refused: the course serves what it served before of them"
            )

    def _rows(self, **how: bool) -> list[syncing.Row]:
        for _ in range(MOST_TRIES):
            try:
                return syncing.sync(CHECKOUT, **how)
            except store.Overtaken:
                continue
            except OSError as error:
                raise CommandError(
                    f"{error.filename}: {error.strerror}. Nothing was taken in; let the site write there, and run it again"
                ) from error
        raise CommandError("Somebody publishes all the time. Nothing was taken in; run it again")
