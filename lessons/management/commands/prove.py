"""``manage.py prove --drills [NUMBER…]``, and everything that the labs' own ``prove`` does."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from django.core.management.base import CommandError

from labs.management.commands.prove import Command as ProveLabs
from lessons.drills.proving import prove
from lessons.drills.spec import drills

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from lessons.drills.proving import DrillProof


class Command(ProveLabs):
    help = f"{ProveLabs.help} With --drills: the same of drills, by their numbers."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--drills", action="store_true", help="drills, all or those numbered, not labs"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["drills"]:
            super().handle(*args, **options)
            return
        numbers = options["labs"] or list(drills())
        unknown = [number for number in numbers if number not in drills()]
        if unknown:
            raise CommandError(f"no drill {unknown[0]!r}; there are: {', '.join(drills())}")
        found: list[DrillProof] = []
        for number in numbers:
            began = time.monotonic()
            found.append(prove(number))
            if not options["json"]:
                self._print_drill(found[-1], time.monotonic() - began)
        if options["json"]:
            self.stdout.write(json.dumps([asdict(each) for each in found], indent=1))
        if not all(each.holds for each in found):
            raise SystemExit(1)

    def _print_drill(self, found: DrillProof, took_s: float) -> None:
        self.stdout.write(f"\ndrill {found.number}")
        for line in found.lines:
            self.stdout.write(f"  {line}")
        for key, value in sorted(found.values.items(), key=lambda each: -each[1]):
            self.stdout.write(f"    {key:24} {value:6.2f} bits a minute")
        self.stdout.write(f"  {took_s:.1f} s")
