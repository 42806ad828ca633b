"""``manage.py live_worker``: make this machine a box that starts engines, until it is told to stop."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from labs import live_supervisor
from labs.live import boxes, pace, servers
from labs.live.scraping import OtherMetrics

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(BaseCommand):
    help = (
        "Check that this machine can start engines, then run its worker of the queue live and sweep every 15 s. "
        "SIGTERM or Ctrl-C ends the lease under way, its engine and the worker."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true", help="only say whether it could start")
        parser.add_argument(
            "--measure",
            action="store_true",
            help="start an engine for a minute, and say how fast it is beside what labs are written for; exit 1 if it is too slow",
        )

    def handle(self, **options: Any) -> None:
        problems = live_supervisor.problems_of(settings.LIVE_PROFILE)
        if problems:
            raise CommandError("\n".join(problems))
        self.stdout.write(
            f"Box {settings.LIVE_BOX} starts engines of the profile {settings.LIVE_PROFILE}; "
            f"what it keeps of them lies in {settings.LIVE_DIR}."
        )
        if options["measure"]:
            self._measure()
        if options["check"] or options["measure"]:
            return
        self.stdout.flush()
        try:
            live_supervisor.Supervisor().run()
        except live_supervisor.NotSetUp as problem:
            raise CommandError(str(problem)) from None

    def _measure(self) -> None:
        with tempfile.TemporaryDirectory(prefix="pace-") as folder:
            try:
                steps = pace.measure(
                    boxes.box(settings.LIVE_PROFILE), folder=Path(folder), tell=self._tell
                )
            except (servers.EngineError, OtherMetrics, TimeoutError, ValueError) as exc:
                raise CommandError(str(exc) or "The batches did not end in time.") from exc
        self.stderr.write("\r" + " " * 78 + "\r", ending="")
        for line in pace.told(steps):
            self.stdout.write(line)
        if max(each.ratio for each in steps) > pace.SLOWEST:
            raise SystemExit(1)

    def _tell(self, share: float, doing: str) -> None:
        self.stderr.write(f"\r{100 * share:3.0f} % {doing[:70]:72}", ending="")
