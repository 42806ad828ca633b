"""A real browser against a real site: the launcher, its broker, worker, beat and web server.

``live_site`` is started once for a test session, on a database of its own. ``page`` fails its test
if the browser's console shows an error or the CSP blocks anything.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parents[2]
AXE = ROOT / "tests" / "vendor" / "axe-4.14.1.min.js"
START_LIMIT_S = 60
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MAC_BROWSER = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]
THEMES = ("light", "dark")
WIDTHS = {"phone": 320, "desk": 1280}
LOOKS = (("light", "desk"), ("dark", "phone"))
"""Each theme and each width once: colours do not depend on the width, nor does the layout on the theme."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder drives a browser, so it is marked so."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.browser)


@dataclass
class LiveSite:
    """A running site, and the folder in which it keeps its database and logs."""

    url: str
    folder: Path
    environment: dict[str, str]
    process: subprocess.Popen[bytes]
    commands: subprocess.Popen[str] | None = None
    serial: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def manage(self, *arguments: str) -> str:
        """Run a management command on the live database and return what it printed."""
        if self.commands is None:
            self.commands = subprocess.Popen(
                [sys.executable, Path(__file__).with_name("commands.py")],
                cwd=ROOT,
                env={**self.environment, "PYTHONPATH": str(ROOT)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        pipe_in, pipe_out = self.commands.stdin, self.commands.stdout
        assert pipe_in is not None
        assert pipe_out is not None
        pipe_in.write(json.dumps(arguments) + "\n")
        pipe_in.flush()
        answer = pipe_out.readline()
        assert answer, f"manage.py {' '.join(arguments)} ended"
        return str(json.loads(answer)).strip()

    def log(self, name: str) -> str:
        """Return what a part has printed: broker, worker, beat or web."""
        return (self.folder / "run" / f"{name}.log").read_text(errors="replace")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait_for(site: LiveSite, output: Path) -> None:
    deadline = time.monotonic() + START_LIMIT_S
    while time.monotonic() < deadline:
        if site.process.poll() is not None:
            pytest.fail(f"the site did not start:\n{output.read_text()}")
        # The launcher prints this line last, when web, worker and beat are up.
        if "Ctrl-C stops everything" in output.read_text():
            break
        time.sleep(0.1)
    else:
        pytest.fail(f"the site did not answer within {START_LIMIT_S} s:\n{output.read_text()}")


@pytest.fixture(scope="session")
def live_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveSite]:
    """The whole site as `make run` starts it, on its own port, database and broker."""
    folder = tmp_path_factory.mktemp("site")
    port = _free_port()
    environment = {
        **{k: v for k, v in os.environ.items() if k != "REDIS_URL"},
        "DEBUG": "true",
        "PORT": str(port),
        "RUN_DIR": str(folder / "run"),
        "DATABASE_URL": f"sqlite:///{folder / 'site.sqlite3'}",
    }
    output = folder / "launch.log"
    with output.open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "courseware.launch"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    site = LiveSite(f"http://127.0.0.1:{port}", folder, environment, process)
    try:
        _wait_for(site, output)
        yield site
    finally:
        if site.commands is not None:
            site.commands.kill()
            site.commands.communicate()
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The Chromium that the machine has; nothing is downloaded."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program or MAC_BROWSER, args=FLAGS)
        yield browser
        browser.close()


class Complaints(list[str]):
    """What the browser complained about. A test that provokes one calls ``clear()``."""


@pytest.fixture
def complaints() -> Complaints:
    return Complaints()


@pytest.fixture
def new_page(
    browser: Browser, live_site: LiveSite, complaints: Complaints
) -> Iterator[Callable[..., Page]]:
    """A function that opens a page of its own: ``new_page(width=320, theme="dark", scripts=False)``."""
    contexts = []

    def open_page(*, width: int = 1280, theme: str = "auto", scripts: bool = True) -> Page:
        context = browser.new_context(
            base_url=live_site.url,
            viewport={"width": width, "height": 800},
            java_script_enabled=scripts,
            reduced_motion="reduce",
        )
        contexts.append(context)
        if theme != "auto":
            context.add_cookies([{"name": "theme", "value": theme, "url": live_site.url}])
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on(
            "console",
            lambda said: complaints.append(said.text) if said.type == "error" else None,
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        if scripts:
            page.add_init_script(
                "addEventListener('securitypolicyviolation', (event) =>"
                " console.error(`CSP: ${event.violatedDirective} ${event.blockedURI}`))"
            )
        return page

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture
def page(new_page: Callable[..., Page], complaints: Complaints) -> Iterator[Page]:
    """A page 1280 px wide, in the system's theme. Complaints fail the test at its end."""
    yield new_page()
    assert complaints == [], "the browser complained"


@pytest.fixture
def sign_in(live_site: LiveSite) -> Callable[..., str]:
    """Sign a page in: ``sign_in(page, "grader")`` as someone new, who has seen nothing yet.

    ``sign_in(page, "learner", email="ada@example.org")`` picks the person. Returns the e-mail address.
    """

    def enter(page: Page, role: str = "learner", *, email: str | None = None) -> str:
        email = email or f"{role}{next(live_site.serial)}@example.org"
        page.goto(live_site.manage("sign_in_link", role, "--email", email))
        return email

    return enter


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that takes ``look`` light on a desk and dark on a phone; with ``--every-look`` in all four ways."""
    if "look" in metafunc.fixturenames:
        every = metafunc.config.getoption("every_look")
        looks = [(t, w) for t in THEMES for w in WIDTHS] if every else LOOKS
        metafunc.parametrize("look", looks, ids=["-".join(look) for look in looks])


@pytest.fixture
def theme(look: tuple[str, str]) -> str:
    """The theme of this run; pass it to ``new_page(theme=theme)``."""
    return look[0]


@pytest.fixture
def width(look: tuple[str, str]) -> int:
    """The width of this run, in pixels; pass it to ``new_page(width=width)``."""
    return WIDTHS[look[1]]


@pytest.fixture(scope="session")
def axe() -> Callable[[Page], None]:
    """Assert that axe finds nothing: ``axe(page)``."""
    source = AXE.read_text()

    def check(page: Page) -> None:
        page.wait_for_load_state()  # A page without its styles has contrasts of its own.
        # Through the debugger's channel, not a script element, so the CSP stays as it is.
        page.evaluate(source + "; undefined")
        found: list[dict[str, Any]] = page.evaluate(
            "axe.run(document, {resultTypes: ['violations']}).then((result) => result.violations)"
        )
        told = [
            f"{one['id']}: {one['help']}: {[node['html'][:160] for node in one['nodes'][:3]]}"
            for one in found
        ]
        assert told == [], f"axe on {page.url}"

    return check


@pytest.fixture(scope="session")
def no_sideways_scroll() -> Callable[[Page], None]:
    """Assert that the page is no wider than its window: ``no_sideways_scroll(page)``."""

    def check(page: Page) -> None:
        page.wait_for_load_state()
        wide = page.evaluate("document.documentElement.scrollWidth")
        window = page.evaluate("document.documentElement.clientWidth")
        assert wide <= window, f"{page.url} is {wide} px wide in a window of {window} px"

    return check


@pytest.fixture(scope="session")
def focus_is_visible() -> Callable[[Page], None]:
    """Assert that the focused element has an outline: ``focus_is_visible(page)``."""

    def check(page: Page) -> None:
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", page.evaluate("document.activeElement.outerHTML.slice(0, 120)")

    return check
