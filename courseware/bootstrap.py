"""Make ``.venv``: everything that stands between a clone and the first command that needs Django.

Run as a file by any Python from 3.8 on, so it uses nothing but the standard library:

    python3 courseware/bootstrap.py            what the site needs
    python3 courseware/bootstrap.py --tests    and what its tests need, a browser included

A second run finds its stamp and does nothing.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BOOTSTRAP = ROOT / ".bootstrap"
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
UV = "uv==0.13.9"
MINIMUM = (3, 12)
WANTED = ("3.12", "3.13", "3.14")
"""Versions that are looked for by name, the tested one first."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


class SetUpError(Exception):
    """Why there is no set-up, and what to do about it, in one sentence each."""


def say(text: str) -> None:
    print(text, flush=True)


def succeeds(*command: str | Path) -> bool:
    """Run a command for its exit status alone."""
    try:
        finished = subprocess.run(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
    except OSError:
        return False
    return finished.returncode == 0


def do(*command: str | Path, otherwise: str) -> None:
    """Run a command; if it fails, show the end of what it printed and raise ``otherwise``."""
    finished = subprocess.run(
        [str(part) for part in command],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if finished.returncode != 0:
        say("\n".join(finished.stdout.splitlines()[-15:]))
        raise SetUpError(otherwise)


def interpreters(wanted: tuple[str, ...] = WANTED) -> list[str]:
    """Every Python 3 that this machine may have, of the wanted versions first."""
    names = [*(f"python{version}" for version in wanted), "python3"]
    found = [path for path in map(shutil.which, names) if path]
    kept = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    for version in wanted:
        found += sorted((str(path) for path in kept.glob(f"{version}*/bin/python3")), reverse=True)
    folders = ("/opt/homebrew/bin", "/usr/local/bin", "/usr/bin")
    found += [f"{folder}/{name}" for folder in folders for name in names]
    return list(dict.fromkeys([*found, sys.executable]))


def version_of(python: str) -> tuple[int, int] | None:
    """Ask an interpreter for its version; None if it cannot say (a shim without a target)."""
    question = "import sys; print(*sys.version_info[:2])"
    try:
        answer = subprocess.run(
            [python, "-c", question],
            cwd=ROOT.parent,
            capture_output=True,
            text=True,
            check=True,
            timeout=20,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    major, minor = answer.stdout.split()
    return int(major), int(minor)


def suitable_python() -> str | None:
    """Return an installed Python that the site can run on."""
    for python in interpreters():
        version = version_of(python)
        if version and version >= MINIMUM:
            return python
    return None


def uv() -> Path:
    """Return the uv of this checkout, installing it first if it is not there."""
    stamp = BOOTSTRAP / "stamp"
    places = (BOOTSTRAP / "venv" / "bin" / "uv", BOOTSTRAP / "flat" / "bin" / "uv")
    if stamp.exists() and stamp.read_text() == UV:
        for place in places:
            if succeeds(place, "--version"):
                return place
    say("Setting up: uv, in .bootstrap/")
    for place, install in zip(places, (_uv_by_venv, _uv_by_target)):
        if install() and succeeds(place, "--version"):
            stamp.write_text(UV)
            return place
    if _debian_as_root():
        say("Setting up: this Python has no venv, so apt-get installs python3-venv")
        do("apt-get", "update", otherwise="apt-get update failed; its last lines are above.")
        do(
            *("apt-get", "install", "-y", "--no-install-recommends", "python3-venv"),
            otherwise="apt-get could not install python3-venv; its last lines are above.",
        )
        if _uv_by_venv("/usr/bin/python3") and succeeds(places[0], "--version"):
            stamp.write_text(UV)
            return places[0]
    installed = shutil.which("uv")
    if installed:
        return Path(installed)
    raise SetUpError(
        "uv could not be installed. Either this Python has neither venv nor pip (on Debian and Ubuntu: "
        "apt-get install python3-venv), or the package index cannot be reached from here."
    )


def _uv_by_venv(python: str = sys.executable) -> bool:
    folder = BOOTSTRAP / "venv"
    shutil.rmtree(folder, ignore_errors=True)
    return succeeds(python, "-m", "venv", folder) and succeeds(
        folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-input", UV
    )


def _uv_by_target() -> bool:
    """Debian splits venv from pip: with pip alone, uv can still be put into a folder."""
    folder = BOOTSTRAP / "flat"
    shutil.rmtree(folder, ignore_errors=True)
    return succeeds(
        *(sys.executable, "-m", "pip", "install", "--quiet", "--no-input", "--target", folder, UV)
    )


def _debian_as_root() -> bool:
    return shutil.which("apt-get") is not None and os.geteuid() == 0


def make_venv() -> None:
    """Create ``.venv``, unless it holds a Python that still works."""
    version = version_of(str(VENV_PYTHON)) if VENV_PYTHON.exists() else None
    if version and version >= MINIMUM:
        return
    python = suitable_python()
    say(f"Setting up: .venv, with {python or 'a Python that uv fetches'}")
    create = (uv(), "venv", "--quiet", "--clear", "--no-project", "--python")
    if python:
        do(*create, python, VENV, otherwise="uv could not make .venv; its last lines are above.")
    elif not succeeds(*create, "3.13", VENV):
        raise SetUpError(
            "The site needs Python 3.12 or newer: none is installed, and uv could not fetch one. "
            "Install it (Debian 13: apt-get install python3; macOS: brew install python@3.13; "
            "anywhere: pyenv install 3.13), then try again."
        )


def install(*, tests: bool) -> None:
    """Install the pinned requirements, unless the stamp says that they are in."""
    files = ["requirements.txt"] + (["requirements-dev.txt"] if tests else [])
    wanted = {name: hashlib.sha256((ROOT / name).read_bytes()).hexdigest() for name in files}
    stamps = {name: VENV / f"installed-{name}" for name in files}
    if all(stamps[name].exists() and stamps[name].read_text() == wanted[name] for name in files):
        return
    say(f"Setting up: the packages of {' and '.join(files)}")
    named = [part for name in files for part in ("-r", name)]
    do(
        uv(),
        *("pip", "install", "--quiet", "--require-hashes", "--python", str(VENV_PYTHON), *named),
        otherwise="The packages could not be installed; uv's last lines are above. Nothing was started.",
    )
    for name in files:
        stamps[name].write_text(wanted[name])


def ensure_browser() -> None:
    """The browser tests drive a Chromium that the machine has."""
    if any(shutil.which(name) for name in BROWSERS):
        return
    if Path("/Applications/Google Chrome.app").exists():
        return
    missing = (
        "The browser tests need Chromium. Install it (Debian and Ubuntu: apt-get install chromium; "
        "macOS: brew install --cask chromium), then try again."
    )
    if not _debian_as_root():
        raise SetUpError(missing)
    say("Setting up: Chromium, by apt-get, for the browser tests")
    do("apt-get", "update", otherwise=missing)
    do(
        *("apt-get", "install", "-y", "--no-install-recommends", "chromium"),
        otherwise=missing,
    )


def main(arguments: list[str]) -> int:
    BOOTSTRAP.mkdir(exist_ok=True)
    try:
        # Two terminals may set up at once: the second waits, then finds the stamps.
        with (BOOTSTRAP / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            make_venv()
            install(tests="--tests" in arguments)
            if "--tests" in arguments:
                ensure_browser()
    except SetUpError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
