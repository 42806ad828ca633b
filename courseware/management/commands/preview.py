"""``manage.py preview FILE``: a station, a symptom, or a text of a drill or a lab as a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from courseware.preview_server import HOST, server_of
from courseware.previewing import page_of, preview_of

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from courseware.previewing import Preview


class Command(BaseCommand):
    help = (
        "Show one file of the course as a page, with the mistakes that `check` would find: a station, a symptom, a drill's "
        "scene.md or debrief.md, a lab's brief.md or debrief.md. Served locally, and loaded anew as you save."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--port", type=int, default=8010)
        parser.add_argument("--out", type=Path, help="write one standalone page here, and stop")

    def handle(self, *_args: Any, **options: Any) -> None:
        path: Path = options["file"]
        if options["out"] is not None:
            self._write(path, options["out"])
            return
        if not path.is_file():
            raise CommandError(f"{path}: there is no such file.")
        try:
            server = server_of(path, options["port"], self._tell)
        except OverflowError as error:
            raise CommandError(
                f"--port {options['port']}: write a number from 1 to 65535."
            ) from error
        except OSError as error:
            raise CommandError(
                f"Port {options['port']} is taken ({error.strerror}). Choose another: --port 8011."
            ) from error
        with server:
            self.stdout.write(
                f"http://{HOST}:{server.server_port}/ shows {path}. Ctrl-C ends the preview."
            )
            self._tell(preview_of(path))
            try:
                server.serve_forever()
            except KeyboardInterrupt:
                self.stdout.write("")

    def _write(self, path: Path, out: Path) -> None:
        found = preview_of(path)
        if found.fault:
            raise CommandError(found.fault)
        try:
            out.write_text(page_of(found, standalone=True), encoding="utf-8")
        except OSError as error:
            raise CommandError(f"{out}: cannot be written: {error.strerror}") from error
        self._tell(found)
        self.stdout.write(f"{out}: written")

    def _tell(self, found: Preview) -> None:
        if found.fault:
            self.stderr.write(self.style.ERROR(found.fault))
        else:
            self.stdout.write(f"{found.kind}: {'; '.join(found.facts)}")
