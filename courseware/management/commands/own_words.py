"""``manage.py own_words FOLDER [FILE…]``: whether our texts share runs of words with another folder's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from courseware.own_words import RUN, shared_runs, texts_in

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterator

OURS = ("lessons/content", "labs/content", "docs", "templates", "README.md", "CONTRIBUTING.md")
"""What people read."""
_COMPUTED = ("table.json.gz", "pool.json", "proof.json")


class Command(BaseCommand):
    help = (
        "Print each run of words that the course's texts, or the files named, have in common with those of another folder. "
        "Code, identifiers and metrics do not count."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="the texts to compare with")
        parser.add_argument("files", nargs="*", type=Path, help="instead of all of the course")
        parser.add_argument("--words", type=int, default=RUN, help="of a run, at least")

    def handle(self, *_args: Any, **options: Any) -> None:
        folder: Path = options["folder"]
        for path in (folder, *options["files"]):
            if not path.exists():
                raise CommandError(f"{path}: there is no such folder or file.")
        ours = list(_ours(options["files"]))
        try:
            found = list(shared_runs(ours, list(texts_in(folder)), options["words"]))
        except ValueError as error:
            raise CommandError(f"--words {options['words']}: {error}.") from error
        for each in found:
            self.stdout.write(
                f"{each.path}:{each.line}: {each.words}  [{each.other}:{each.other_line}]"
            )
        self.stdout.write(
            f"{len(ours)} files, {len(found)} runs of {options['words']} words or more in common."
        )
        if found:
            raise SystemExit(1)


def _ours(named: list[Path]) -> Iterator[Path]:
    if named:
        for path in named:
            yield from texts_in(path)
        return
    for name in OURS:
        for path in texts_in(settings.BASE_DIR / name):
            if path.name not in _COMPUTED:
                yield path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
