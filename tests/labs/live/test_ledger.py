"""What is undone, and when: with commands that only note that they were called."""

import json
import subprocess
import sys
import threading

import pytest

from labs.live import guard


@pytest.fixture
def noted(tmp_path):
    """A command that notes its arguments and ends with the status that a file of its first argument's name holds."""
    program = tmp_path / "note"
    program.write_text(
        f"#!{sys.executable}\n"
        "import pathlib, sys\n"
        f"here = pathlib.Path({str(tmp_path)!r})\n"
        "with (here / 'calls').open('a') as file:\n"
        "    file.write(' '.join(sys.argv[1:]) + '\\n')\n"
        "status = here / f'fails-{sys.argv[1]}'\n"
        "sys.exit(int(status.read_text()) if status.exists() else 0)\n",
        encoding="utf-8",
    )
    program.chmod(0o755)
    (tmp_path / "calls").touch()
    return program


@pytest.fixture
def ledger(tmp_path):
    return tmp_path / "lease" / "ledger"


def calls(noted):
    return (noted.parent / "calls").read_text(encoding="utf-8").splitlines()


def written(ledger):
    return [json.loads(line) for line in ledger.read_text(encoding="utf-8").splitlines()]


def test_the_last_that_was_recorded_is_undone_first(noted, ledger):
    for word in ("one", "two", "three"):
        guard.record(ledger, [str(noted), word])
    assert written(ledger)[0] == [str(noted), "one"]
    assert guard.undo(ledger) == []
    assert calls(noted) == ["three", "two", "one"]
    assert not ledger.exists()


def test_undoing_twice_does_it_once(noted, ledger):
    guard.record(ledger, [str(noted), "one"])
    assert guard.undo(ledger) == []
    assert guard.undo(ledger) == []
    assert calls(noted) == ["one"]


def test_without_a_ledger_nothing_is_undone(ledger):
    assert guard.undo(ledger) == []


def test_an_undo_that_fails_is_kept_and_said_and_the_others_are_done(noted, ledger):
    (noted.parent / "fails-two").write_text("3", encoding="utf-8")
    for word in ("one", "two", "three"):
        guard.record(ledger, [str(noted), word])
    (problem,) = guard.undo(ledger)
    assert f"“{noted} two” ended with status 3" in problem
    assert written(ledger) == [[str(noted), "two"]]
    (noted.parent / "fails-two").unlink()
    assert guard.undo(ledger) == []
    assert calls(noted) == ["three", "two", "one", "two"]


def test_a_command_that_is_not_there_is_kept(tmp_path, ledger):
    guard.record(ledger, [str(tmp_path / "nothing")])
    (problem,) = guard.undo(ledger)
    assert "could not be run" in problem
    assert ledger.exists()


def test_a_line_that_a_crash_tore_off_was_never_done(noted, ledger):
    guard.record(ledger, [str(noted), "one"])
    with ledger.open("a", encoding="utf-8") as file:
        file.write('["/bin/fal')
    assert guard.undo(ledger) == []
    assert calls(noted) == ["one"]


def test_what_is_recorded_after_a_torn_line_stands_on_a_line_of_its_own(noted, ledger):
    guard.record(ledger, [str(noted), "one"])
    with ledger.open("a", encoding="utf-8") as file:
        file.write('["/bin/fal')
    guard.record(ledger, [str(noted), "two"])
    assert guard.undo(ledger) == []
    assert calls(noted) == ["two", "one"]


def test_a_crash_between_record_and_act_undoes_what_was_not_done_and_that_is_harmless(
    noted, ledger
):
    code = (
        "import os, sys; sys.path.insert(0, os.getcwd());"
        "from pathlib import Path; from labs.live import guard;"
        f"guard.record(Path({str(ledger)!r}), [{str(noted)!r}, 'one']); os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    assert guard.undo(ledger) == []
    assert calls(noted) == ["one"]


def test_two_that_undo_at_once_do_each_command_once(noted, ledger):
    for number in range(4):
        guard.record(ledger, [str(noted), str(number)])
    found: list[list[str]] = []
    threads = [threading.Thread(target=lambda: found.append(guard.undo(ledger))) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == [[], [], []]
    assert calls(noted) == ["3", "2", "1", "0"]
