"""`make run`: what it says when it cannot, and that it leaves nothing behind."""

import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from courseware import bootstrap, launch

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def busy_port():
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        yield holder.getsockname()[1]


def _launch(tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "courseware.launch"],
        cwd=ROOT,
        env={
            **{k: v for k, v in os.environ.items() if k != "REDIS_URL"},
            "RUN_DIR": str(tmp_path),
            "DATABASE_URL": f"sqlite:///{tmp_path}/site.sqlite3",
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_busy_port_is_named_with_the_way_round_it_and_nothing_is_started(tmp_path, busy_port):
    finished = _launch(tmp_path, PORT=str(busy_port))
    assert finished.returncode == 1
    assert f"Port {busy_port} on 127.0.0.1 cannot be used" in finished.stderr
    assert f"PORT={busy_port + 1} make run" in finished.stderr
    assert len(finished.stderr.splitlines()) == 1
    assert {path.name for path in tmp_path.iterdir()} == {"lock"}


@pytest.mark.parametrize("port", ["web", "0", "70000"])
def test_a_port_that_is_none_is_refused(port):
    with pytest.raises(launch.LaunchError, match="write a number from 1 to 65535"):
        launch.port_of(port)


def test_a_broker_that_does_not_answer_is_one_sentence(tmp_path):
    url = f"redis://:secret@127.0.0.1:{launch.free_port()}/0"
    finished = _launch(tmp_path, REDIS_URL=url, PORT=str(launch.free_port()))
    assert finished.returncode == 1
    assert "does not answer" in finished.stderr
    assert "unset REDIS_URL" in finished.stderr
    assert "secret" not in finished.stderr
    assert len(finished.stderr.splitlines()) == 1


def test_a_second_launcher_says_where_the_first_one_is(tmp_path):
    with launch.hold_lock(tmp_path) as lock:
        lock.write("http://127.0.0.1:8123")
        lock.flush()
        with pytest.raises(launch.LaunchError, match=r"already running.*127\.0\.0\.1:8123"):
            launch.hold_lock(tmp_path)


def test_a_wildcard_is_shown_as_an_address_that_one_can_type():
    assert launch.reachable("0.0.0.0", 80) == "http://127.0.0.1:80"  # noqa: S104
    assert launch.reachable("::1", 80) == "http://[::1]:80"


def test_a_part_that_dies_is_named_with_the_end_of_its_log(tmp_path):
    site = launch.Site(tmp_path)
    site.start("worker", sys.executable, "-c", "print('out of luck'); raise SystemExit(3)")
    site.children[0].process.wait(timeout=20)
    with pytest.raises(
        launch.LaunchError, match=r"The worker ended with status 3.*\n.*out of luck"
    ):
        site.raise_if_one_died()
    site.stop()


def test_stopping_ends_the_children_of_children(tmp_path):
    site = launch.Site(tmp_path)
    family = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(60)'])"
    child = site.start("worker", sys.executable, "-c", family)
    site.stop()
    assert child.is_gone()


def test_a_part_that_ignores_the_signal_is_killed_after_the_grace_period(tmp_path, monkeypatch):
    monkeypatch.setattr(launch, "GRACE_S", 0.3)
    site = launch.Site(tmp_path)
    deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); print('deaf', flush=True); time.sleep(60)"
    child = site.start("beat", sys.executable, "-c", deaf)
    while "deaf" not in child.log.read_text():
        time.sleep(0.02)
    site.stop()
    assert child.is_gone()


def _running(folder: Path) -> list[str]:
    """Name the processes that still mention a folder: broker and beat do on their command line."""
    listed = subprocess.run(["ps", "-wweo", "pid,args"], capture_output=True, text=True, check=True)
    return [line for line in listed.stdout.splitlines() if str(folder) in line]


@dataclass
class Started:
    """A launcher that has the whole site running."""

    process: subprocess.Popen[bytes]
    output: Path

    def children(self) -> dict[int, str]:
        """Return what it started, by process id; each leads a group of its own."""
        listed = subprocess.run(
            ["ps", "-wweo", "pid,ppid,args"], capture_output=True, text=True, check=True
        )
        rows = [line.split(None, 2) for line in listed.stdout.splitlines()[1:]]
        return {int(pid): args for pid, parent, args in rows if int(parent) == self.process.pid}


@pytest.fixture
def started(tmp_path):
    output = tmp_path / "launch.out"
    with output.open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-u", "-m", "courseware.launch"],
            cwd=ROOT,
            env={
                **{k: v for k, v in os.environ.items() if k != "REDIS_URL"},
                "RUN_DIR": str(tmp_path),
                "DATABASE_URL": f"sqlite:///{tmp_path}/site.sqlite3",
                "PORT": str(launch.free_port()),
            },
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    while "Ctrl-C stops everything" not in output.read_text():
        assert process.poll() is None, output.read_text()
        time.sleep(0.1)
    yield Started(process, output)
    process.terminate()
    process.wait(timeout=40)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_the_whole_site_and_leaves_no_process(tmp_path, started, number):
    groups = started.children()
    assert len(groups) == 4  # broker, worker, beat, web
    started.process.send_signal(number)
    assert started.process.wait(timeout=40) == 0
    for group in groups:
        with pytest.raises(ProcessLookupError):
            os.killpg(group, 0)
    assert _running(tmp_path) == []
    assert not (tmp_path / "broker.url").exists()


@pytest.mark.slow
def test_a_site_whose_worker_is_killed_says_so_and_stops(tmp_path, started):
    worker = next(pid for pid, args in started.children().items() if " worker " in args)
    os.kill(worker, signal.SIGKILL)
    assert started.process.wait(timeout=40) == 1
    assert "The worker ended by signal 9" in started.output.read_text()
    assert _running(tmp_path) == []


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells children of a dead parent")
def test_a_killed_launcher_takes_its_children_with_it(tmp_path, started):
    started.process.kill()
    started.process.wait(timeout=10)
    deadline = time.monotonic() + 30
    while _running(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert _running(tmp_path) == []


def test_set_up_finds_a_python_that_is_new_enough():
    python = bootstrap.suitable_python()
    assert python
    assert bootstrap.version_of(python) >= bootstrap.MINIMUM


def test_a_shim_without_a_target_is_not_a_python(tmp_path):
    shim = tmp_path / "python3.12"
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)
    assert bootstrap.version_of(str(shim)) is None
    assert bootstrap.version_of(str(tmp_path / "missing")) is None


def test_set_up_runs_on_an_old_python():
    source = (ROOT / "courseware" / "bootstrap.py").read_text()
    compile(source, "bootstrap.py", "exec", dont_inherit=True)
    import ast

    ast.parse(source, feature_version=(3, 8))
