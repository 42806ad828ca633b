"""``manage.py demo_data``: a believable class for demonstrations and measurements, made by taking the course."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from courseware.demo_class import make_class
from courseware.demo_readers import NAMES, read_class

if TYPE_CHECKING:
    from argparse import ArgumentParser

MOST_LEARNERS = 500


class Command(BaseCommand):
    help = (
        "Make learners of different skill and let them read, predict, answer and handle incidents. Their labs are "
        "simulated and marked as anybody's: about five seconds an attempt."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--learners", type=int, default=12, metavar="N")
        parser.add_argument("--attempts", type=int, default=3, metavar="M", help="labs each takes")
        parser.add_argument(
            "--graders", type=int, default=4, metavar="G", help="who read what the class wrote"
        )
        parser.add_argument("--seed", type=int, default=1, help="another seed, another class")

    def handle(self, **options: Any) -> None:
        learners, each = options["learners"], options["attempts"]
        if not 1 <= learners <= MOST_LEARNERS:
            raise CommandError(
                f"--learners: write a number from 1 to {MOST_LEARNERS}, not {learners}"
            )
        if not each >= 0:
            raise CommandError(f"--attempts: write 0 or more, not {each}")
        if not 0 <= options["graders"] <= len(NAMES):
            raise CommandError(
                f"--graders: write a number from 0 to {len(NAMES)}, not {options['graders']}"
            )
        begun = time.perf_counter()
        made = make_class(
            learners=learners, attempts_each=each, seed=options["seed"], tell=self.stdout.write
        )
        read = read_class(options["seed"], options["graders"]) if options["graders"] else 0
        lost = f", {made.without_mark} without a mark" if made.without_mark else ""
        self.stdout.write(
            f"{made.learners} learners, {made.attempts} attempts, mean {made.mean:.1f} of 100{lost}, "
            f"{read} readings; {time.perf_counter() - begun:.0f} s"
        )
