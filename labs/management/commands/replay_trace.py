"""Replay recordings of vLLM's scheduler and say where ours decides otherwise."""

from argparse import ArgumentParser
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from labs.simulator.trace import Difference, TraceError, replay


class Command(BaseCommand):
    """``manage.py replay_trace FILE...``: exit 0 if all are identical, 1 if one differs, 2 if one is unusable."""

    help = "Replay recordings of vLLM's scheduler, step by step, and compare every field."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the files."""
        parser.add_argument("files", nargs="+", metavar="FILE", type=Path, help=".json or .json.gz")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Replay each file; all are tried before the exit status says the worst."""
        worst = 0
        for path in options["files"]:
            try:
                result = replay(path)
            except TraceError as error:
                self.stderr.write(str(error))
                worst = 2
                continue
            if result.difference is None:
                self.stdout.write(f"{result.name}: {result.steps} steps identical")
            else:
                self.stdout.write(f"{result.name}: {narrowed(result.difference)}")
                worst = max(worst, 1)
        if worst:
            raise SystemExit(worst)


def narrowed(difference: Difference) -> Difference:
    """Return a difference of two dicts as one of their first key that differs."""
    ours, theirs = difference.ours, difference.theirs
    if not isinstance(ours, dict) or not isinstance(theirs, dict):
        return difference
    key = next(key for key in (*theirs, *ours) if ours.get(key) != theirs.get(key))
    return replace(
        difference,
        field=f"{difference.field}[{key!r}]",
        ours=ours.get(key),
        theirs=theirs.get(key),
    )
