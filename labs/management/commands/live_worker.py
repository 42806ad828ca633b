"""``manage.py live_worker``: make this machine a box that starts engines, until it is told to stop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from labs import live_supervisor

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(BaseCommand):
    help = (
        "Check that this machine can start engines, then run its worker of the queue live and sweep every 15 s. "
        "SIGTERM or Ctrl-C ends the lease under way, its engine and the worker."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true", help="only say whether it could start")

    def handle(self, **options: Any) -> None:
        problems = live_supervisor.problems_of(settings.LIVE_PROFILE)
        if problems:
            raise CommandError("\n".join(problems))
        self.stdout.write(
            f"Box {settings.LIVE_BOX} starts engines of the profile {settings.LIVE_PROFILE}; "
            f"what it keeps of them lies in {settings.LIVE_DIR}."
        )
        if options["check"]:
            return
        self.stdout.flush()
        try:
            live_supervisor.Supervisor().run()
        except live_supervisor.NotSetUp as problem:
            raise CommandError(str(problem)) from None
