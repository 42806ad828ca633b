"""``manage.py prove [LAB…] [--all]``: what each lab must show of itself, with value, threshold and slack."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from labs import proving
from labs.catalogue import labs, live_keys
from labs.plays import PlayError

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(BaseCommand):
    help = "Compute the table, the pool and the proof of labs, and print them; exit 1 if a statement fails."
    requires_system_checks: list[str] = []  # noqa: RUF012  (it mends what the check reports)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "labs",
            nargs="*",
            metavar="LAB",
            help="folder names of labs, with /live behind one for a real engine's scale",
        )
        parser.add_argument("--all", action="store_true", help="every lab")
        level = parser.add_mutually_exclusive_group()
        level.add_argument("--draft", action="store_true", help="n = 20 (default)")
        level.add_argument("--full", action="store_true", help="n = 40, every play on more seeds")
        parser.add_argument(
            "--jobs", type=int, default=1, metavar="N", help="processes (default 1)"
        )
        parser.add_argument("--json", action="store_true", help="for machines")

    def handle(self, *args: Any, **options: Any) -> None:
        del args
        slugs = [*labs(), *live_keys()] if options["all"] else options["labs"]
        if not slugs:
            raise CommandError(f"name a lab, or --all; there are: {', '.join(labs())}")
        unknown = [slug for slug in slugs if not _exists(slug)]
        if unknown:
            raise CommandError(f"no lab {unknown[0]!r}; there are: {', '.join(labs())}")
        level = proving.FULL_LEVEL if options["full"] else proving.DRAFT
        told = (lambda text: None) if options["json"] else self._tell
        proofs: list[proving.Proof] = []
        for slug in slugs:
            began = time.monotonic()
            try:
                found = proving.prove(slug, level, jobs=max(1, options["jobs"]), told=told)
            except (RuntimeError, PlayError) as exc:
                raise CommandError(f"{slug}: {exc}") from exc
            proofs.append(found)
            if not options["json"]:
                self._print(found, time.monotonic() - began)
        if options["json"]:
            said = [
                {**asdict(each), "holds": each.holds, "lines": [_line(line) for line in each.lines]}
                for each in proofs
            ]
            self.stdout.write(json.dumps(said, indent=1))
        if not all(each.holds for each in proofs):
            raise SystemExit(1)

    def _tell(self, text: str) -> None:
        self.stderr.write(f"\r{text:60}", ending="")

    def _print(self, found: proving.Proof, took_s: float) -> None:
        self.stderr.write("\r" + " " * 60 + "\r", ending="")
        self.stdout.write(f"\n{found.slug}, {found.level}")
        for line in found.lines:
            self.stdout.write(f"  {line}")
        self.stdout.write("  value of a first reading, bits per minute:")
        for row in found.values:
            self.stdout.write(
                f"    {row['title']:36} {row['value']:6.2f}   ({row['bits']:.2f} bits, {row['seconds']:.0f} s)"
            )
        self.stdout.write("  worlds two by two, bits (lower bound):")
        for pair in found.pairs:
            self.stdout.write(
                f"    {pair['one']:24} {pair['other']:24} {pair['bits']:.2f} ({pair['lower']:.2f})"
            )
        shares = ", ".join(f"{name} {share:.2f}" for name, share in found.admission.items())
        red = sum(line.verdict == "red" for line in found.lines)
        self.stdout.write(
            f"  {found.admitted} seeds admitted (of those tried fit: {shares}); {red} of {len(found.lines)} red; {took_s:.0f} s"
        )


def _exists(key: str) -> bool:
    return key in labs() or key in live_keys()


def _line(line: Any) -> dict[str, Any]:
    return {**asdict(line), "slack": round(line.slack, 4), "verdict": line.verdict}
