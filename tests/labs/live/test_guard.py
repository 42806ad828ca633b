"""The guard, with real processes that are really killed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from labs.live import guard

LIMIT_S = 20
FAMILY = """
import os, signal, subprocess, sys, time
from pathlib import Path
folder = Path(sys.argv[1])
deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)"
child = subprocess.Popen([sys.executable, "-c", deaf], stdout=subprocess.PIPE)
child.stdout.readline()
stray = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
(folder / "pids.new").write_text(f"{os.getpid()} {child.pid} {stray.pid}")
(folder / "pids.new").rename(folder / "pids")
time.sleep(600)
"""
"""An engine with two children: one is deaf to SIGTERM, and one has left its session."""
WORKER = """
import os, sys, time
from pathlib import Path
from labs.live import guard
folder = Path(sys.argv[1])
held = guard.spawn(sys.argv[2:], env={**os.environ, **guard.marks("lease-1", folder)},
                   output=open(folder / "log", "wb"), ledger=folder / "ledger", grace_s=0.5)
(folder / "guard").write_text(str(held.pid))
time.sleep(600)
"""


def until(found, what: str):
    """Look until something is so, and return it."""
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        if got := found():
            return got
        time.sleep(0.02)
    raise AssertionError(what)


def pids_in(folder: Path) -> list[int]:
    file = folder / "pids"
    text = until(lambda: file.exists() and file.read_text(), "the engine never started")
    return [int(each) for each in text.split()]


def gone(pids) -> bool:
    return not any(guard.process(each) for each in pids)


def env_of(folder: Path, lease: str = "lease-1") -> dict[str, str]:
    return {**os.environ, **guard.marks(lease, folder)}


@pytest.fixture
def family(tmp_path):
    return [sys.executable, "-c", FAMILY, str(tmp_path)]


@pytest.fixture
def guarded(tmp_path):
    """Start something under a guard that this test holds; whatever is left at the end is killed."""
    held = []

    def start(argv, lease="lease-1", **options):
        with (tmp_path / "log").open("ab") as log:
            env = env_of(tmp_path, lease)
            held.append(guard.spawn(argv, env=env, output=log, grace_s=0.5, **options))
        return held[-1]

    yield start
    for each in held:
        each.stdin.close()
        each.wait(timeout=LIMIT_S)
    guard.end_all(lambda: [each for each, _ in guard.marked(tmp_path)], grace_s=0)


@pytest.fixture
def ledger(tmp_path):
    """A ledger of three lines, each of which writes its word; the second fails."""
    path = tmp_path / "ledger"
    note = "import sys; open(sys.argv[1], 'a').write(sys.argv[2]); sys.exit(sys.argv[2] == 'b')"
    for word in "abc":
        guard.record(path, [sys.executable, "-c", note, str(tmp_path / "undone"), word])
    return path


def test_a_worker_that_is_killed_takes_its_engine_and_all_its_children_with_it(
    tmp_path, family, ledger
):
    worker = subprocess.Popen([sys.executable, "-c", WORKER, str(tmp_path), *family])
    pids = pids_in(tmp_path)
    assert {lease for _, lease in guard.marked(tmp_path)} == {"lease-1"}
    assert {each.pid for each, _ in guard.marked(tmp_path)} >= set(pids)
    guard_pid = int((tmp_path / "guard").read_text())
    worker.kill()
    worker.wait()
    until(lambda: gone([*pids, guard_pid]), f"left behind: {guard.marked(tmp_path)}")
    assert "the worker is gone" in (tmp_path / "log").read_text()
    # Last first; the one that failed stays to be undone by the sweep.
    assert (tmp_path / "undone").read_text() == "cba"
    assert len(ledger.read_text().splitlines()) == 1


def test_told_to_stop_it_ends_the_engine_and_undoes_nothing(tmp_path, family, guarded, ledger):
    held = guarded(family, ledger=ledger)
    pids = pids_in(tmp_path)
    guard.stop(held, within_s=LIMIT_S)
    assert gone(pids)
    assert len(ledger.read_text().splitlines()) == 3


def test_a_swept_guard_ends_its_engine_and_undoes(tmp_path, family, guarded, ledger):
    held = guarded(family, ledger=ledger)
    pids = pids_in(tmp_path)
    held.terminate()
    held.wait(timeout=LIMIT_S)
    assert gone(pids)
    assert (tmp_path / "undone").read_text() == "cba"


def test_a_killed_guard_leaves_what_the_marks_still_find(tmp_path, family, guarded):
    held = guarded(family)
    pids = pids_in(tmp_path)
    held.kill()
    held.wait()
    assert not gone(pids)
    found = lambda: [each for each, _ in guard.marked(tmp_path)]  # noqa: E731
    assert {each.pid for each in found()} == set(pids)
    assert guard.end_all(found, grace_s=0.3) == []
    assert gone(pids)


@pytest.mark.parametrize(
    ("code", "status"), [("raise SystemExit(7)", 7), ("import os; os.kill(os.getpid(), 9)", 137)]
)
def test_an_engine_that_ends_by_itself_ends_its_guard_with_its_status(guarded, code, status):
    assert guarded([sys.executable, "-c", code]).wait(timeout=LIMIT_S) == status


def test_an_engine_that_cannot_be_started_is_named_in_the_log(tmp_path, guarded):
    assert guarded([str(tmp_path / "vllm"), "serve"]).wait(timeout=LIMIT_S) == 127
    assert f"{tmp_path}/vllm cannot be started: No such file" in (tmp_path / "log").read_text()


def test_of_two_engines_of_one_lease_a_guard_ends_its_own(tmp_path, guarded):
    sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
    first, second = guarded(sleeper), guarded(sleeper)
    until(lambda: len(guard.marked(tmp_path)) == 4, "two guards and two engines")
    guard.stop(first, within_s=LIMIT_S)
    assert second.poll() is None
    assert len(guard.marked(tmp_path)) == 2


def test_processes_of_another_site_or_without_a_mark_are_not_ours(tmp_path, guarded):
    elsewhere = tmp_path / "another"
    other = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)"], env=env_of(elsewhere)
    )
    try:
        until(lambda: guard.marked(elsewhere), "it has its mark")
        assert guard.marked(tmp_path) == []
    finally:
        other.kill()
        other.wait()


def test_a_process_that_got_the_id_of_another_is_not_signalled():
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        real = guard.process(sleeper.pid)
        earlier = guard.Process(real.pid, real.started - 1, real.session)
        assert earlier.signal(signal.SIGKILL) is False
        assert guard.process(sleeper.pid) == real
        assert real.signal(signal.SIGKILL) is True
    finally:
        sleeper.kill()
        sleeper.wait()
    assert real.signal(signal.SIGKILL) is False


def test_a_ledger_is_taken_out_as_it_is_undone_and_names_what_it_could_not_do(tmp_path, ledger):
    with ledger.open("a") as file:
        file.write(
            "no json\n"
            + json.dumps(["/nowhere/nvidia-smi", "-rgc"])
            + "\n"
            + json.dumps("word")
            + "\n"
        )
    problems = guard.undo(ledger)
    assert [each.split(":")[0] for each in problems[:2]] == [
        "A line of the ledger is no list of words",
        "“/nowhere/nvidia-smi -rgc” could not be run",
    ]
    assert len(problems) == 4
    assert (tmp_path / "undone").read_text() == "cba"
    assert len(guard.undo(ledger)) == 4
    assert (tmp_path / "undone").read_text() == "cbab"


def test_a_ledger_that_is_not_there_undoes_nothing(tmp_path):
    assert guard.undo(tmp_path / "ledger") == []


def test_an_engine_gives_way_with_all_that_it_starts_and_its_guard_does_not(
    tmp_path, family, guarded
):
    held = guarded(family, nice=7)
    pids = pids_in(tmp_path)
    assert {os.getpriority(os.PRIO_PROCESS, each) for each in pids} == {7}
    assert os.getpriority(os.PRIO_PROCESS, held.pid) == os.getpriority(os.PRIO_PROCESS, 0)
    # A kernel that groups processes by session weighs the engine's; what leaves it has its own niceness.
    group = Path(f"/proc/{pids[0]}/autogroup")
    assert not group.exists() or group.read_text().split()[-2:] in ([], ["nice", "7"])


POLITE = """
import signal, subprocess, sys, time
from pathlib import Path
folder = Path(sys.argv[1])
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
(folder / "pids.new").write_text(f"{child.pid}")
def told(*_):
    (folder / "told").write_text("told " + str(child.poll()))
    if sys.argv[2] == "ends":
        child.kill()
        sys.exit(3)
signal.signal(signal.SIGTERM, told)
(folder / "pids.new").rename(folder / "pids")
while True:
    time.sleep(0.02)
"""
"""An engine that is told, and ends by itself or does not."""


@pytest.mark.parametrize(("how", "status"), [("ends", 3), ("stays", 137)])
def test_a_drained_engine_is_told_alone_and_ended_when_its_time_is_over(
    tmp_path, guarded, ledger, how, status
):
    held = guarded([sys.executable, "-c", POLITE, str(tmp_path), how], ledger=ledger)
    child = pids_in(tmp_path)
    guard.drain(held, within_s=60 if how == "ends" else 0.2)
    assert held.wait(timeout=LIMIT_S) == status
    # Its child was not told, and is not left.
    assert (tmp_path / "told").read_text() == "told None"
    assert gone(child)
    assert len(ledger.read_text().splitlines()) == 3


def test_a_guard_that_drains_still_ends_with_its_worker(tmp_path, guarded, ledger):
    held = guarded([sys.executable, "-c", POLITE, str(tmp_path), "stays"], ledger=ledger)
    child = pids_in(tmp_path)
    guard.drain(held, within_s=600)
    until((tmp_path / "told").exists, "the engine was not told")
    assert held.poll() is None
    held.stdin.close()
    held.wait(timeout=LIMIT_S)
    assert gone(child)
    assert (tmp_path / "undone").read_text() == "cba"
