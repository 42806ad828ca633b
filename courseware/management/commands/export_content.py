"""``manage.py export_content``: the newest versions of the course become files of the checkout, or of another folder."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from courseware.served import CHECKOUT, Tree
from courseware.studio import store, syncing

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(BaseCommand):
    help = "Write the newest versions of labs and lessons out as files."
    requires_system_checks: list[str] = []  # noqa: RUF012  (broken files are what it mends)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--to", type=Path, metavar="FOLDER", help="another folder than the checkout's"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        del args
        if not store.stamp():
            raise CommandError(
                "The course has no versions yet; take the files in first: manage.py sync_content"
            )
        to: Path | None = options["to"]
        tree = CHECKOUT
        if to is not None:
            tree = Tree(labs=to / "labs", lessons=to / "lessons")
            try:
                for folder in (tree.labs, tree.lessons):
                    folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise CommandError(
                    f"--to {to}: {error.strerror}; name a folder that this account may write, or one that is not there yet"
                ) from error
        rows = syncing.export(tree, is_checkout=to is None)
        for row in rows:
            if row.what != "unchanged" and options["verbosity"]:
                self.stdout.write(
                    f"{row.what:10} {row.path}" + (f": {row.says}" if row.says else "")
                )
        counts = Counter(row.what for row in rows)
        if options["verbosity"]:
            self.stdout.write(", ".join(f"{count} {what}" for what, count in counts.most_common()))
        if counts["refused"]:
            raise CommandError(f"{counts['refused']} refused: their files are as they were")
