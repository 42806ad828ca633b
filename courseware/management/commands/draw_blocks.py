"""``manage.py draw_blocks [NAME…]``: the pictures of docs/authoring.md, drawn from the sources above them."""

from __future__ import annotations

import base64
import shutil
import threading
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from courseware.gallery import AFTER, BEFORE, GUIDE, PICTURES, beside, examples, station_of
from courseware.preview_server import HOST, server_of
from courseware.previewing import preview_of

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

    from courseware.gallery import Example

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTH, HEIGHT, SCALE = 1360, 1600, 1.25
QUALITY = 0.7
"""Of the WebP, 0 to 1."""
MARGIN = 12
"""Pixels around what is drawn."""
_HIDDEN = ".kept-back {display: none !important}"
_BOX = """([before, after, margin]) => {
  const heading = (words) => [...document.querySelectorAll("h2")].find((each) => each.textContent === words);
  const article = heading(before).parentElement.getBoundingClientRect();
  const top = heading(before).getBoundingClientRect().bottom, foot = heading(after).getBoundingClientRect().top;
  heading(before).style.visibility = heading(after).style.visibility = "hidden";
  const inside = [...document.querySelectorAll("article *")].filter((each) => each.checkVisibility({visibilityProperty: true}))
    .map((each) => each.getBoundingClientRect()).filter((box) => box.height > 1 && box.top >= top && box.top < foot);
  const least = Math.min(...inside.map((box) => box.top)), most = Math.max(...inside.map((box) => box.bottom));
  const right = Math.max(article.right, ...inside.map((box) => box.right));
  return {x: article.left - margin, y: least - margin, width: right - article.left + 2 * margin, height: most - least + 2 * margin};
}"""
_STILL = """() => {
  const seen = (window.heights ??= []);
  seen.push(document.body.scrollHeight);
  return seen.length > 5 && new Set(seen.slice(-5)).size === 1;
}"""
_WEBP = """async ([png, quality]) => {
  const image = new Image();
  image.src = "data:image/png;base64," + png;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.width; canvas.height = image.height;
  canvas.getContext("2d").drawImage(image, 0, 0);
  return canvas.toDataURL("image/webp", quality).split(",")[1];
}"""


class Command(BaseCommand):
    help = "Draw the pictures of docs/authoring.md anew, all or those named, in the machine's own Chromium."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("names", nargs="*", metavar="NAME")

    def handle(self, *_args: Any, **options: Any) -> None:
        known = {each.name: each for each in examples(GUIDE.read_text(encoding="utf-8"))}
        unknown = [name for name in options["names"] if name not in known]
        if unknown:
            raise CommandError(
                f"docs/authoring.md shows no picture {unknown[0]!r}; there are {', '.join(known)}."
            )
        PICTURES.mkdir(exist_ok=True)
        with _browser() as browser, TemporaryDirectory() as folder:
            for name in options["names"] or known:
                drawn = draw(browser, known[name], Path(folder))
                known[name].picture.write_bytes(drawn)
                self.stdout.write(f"{name}.webp  {len(drawn) / 1000:.1f} kB")


@contextmanager
def _browser() -> Iterator[Browser]:
    try:
        from playwright.sync_api import sync_playwright  # noqa: PLC0415  (only developers have it)
    except ImportError as error:
        raise CommandError("Playwright is not installed: run make setup.") from error
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        raise CommandError(f"No browser was found: install one of {', '.join(BROWSERS)}.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu"]
        )
        try:
            yield browser
        finally:
            browser.close()


def draw(browser: Browser, example: Example, folder: Path) -> bytes:
    """Return the WebP of an example, on a light page. Raises CommandError for a source that the course would refuse."""
    path = folder / f"01-{example.name}.md"
    path.write_text(station_of(example), encoding="utf-8")
    for name, text in beside(example, GUIDE.read_text(encoding="utf-8")).items():
        (folder / name).write_text(text, encoding="utf-8")
    found = preview_of(path)
    if found.fault:
        raise CommandError(f"docs/authoring.md, {example.name}: {found.fault}")
    page = browser.new_page(
        viewport={"width": WIDTH, "height": HEIGHT},
        device_scale_factor=SCALE,
        color_scheme="light",
        reduced_motion="reduce",
    )
    with server_of(path, 0, lambda _: None) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page.goto(f"http://{HOST}:{server.server_port}/")
        picture = _picture(page)
        server.shutdown()
    page.close()
    return picture


def _picture(page: Page) -> bytes:
    page.add_style_tag(content=_HIDDEN)
    page.evaluate("document.fonts.ready.then(() => undefined)")
    # A chart is drawn once Plotly has put its SVG into it.
    page.wait_for_function(
        "[...document.querySelectorAll('[data-plot]')].every((each) => each.querySelector('svg'))"
    )
    page.wait_for_function(_STILL, polling=100)
    box = page.evaluate(_BOX, [BEFORE, AFTER, MARGIN])
    png = page.screenshot(clip=box)
    webp = page.evaluate(_WEBP, [base64.b64encode(png).decode(), QUALITY])
    return base64.b64decode(webp)
