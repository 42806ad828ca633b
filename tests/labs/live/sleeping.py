"""A session whose engine is a process that sleeps, under a real guard; what happens meanwhile is a script."""

import os
import subprocess
import sys
import time
from pathlib import Path

from django.conf import settings

from labs import live_session, live_sweep, worker
from labs.live import guard

SLEEP = [
    sys.executable,
    "-c",
    "import time; print('engine up', flush=True); [time.sleep(1) for _ in range(600)]",
]


class Sleeping:
    """``script`` holds what happens at each turn: functions, the first ones while it starts, if ``starting`` says so."""

    worlds = worker.SIMULATED

    def __init__(self, lease, script=(), *, starting=(), argv=SLEEP):
        self.lease, self.argv = lease, argv
        self.script, self.starting = list(script), list(starting)
        self.guard: subprocess.Popen[bytes] | None = None
        self.stopped = 0
        self.folder = live_sweep.folder_of(str(lease.public_id))

    @property
    def log_path(self):
        return str(self.folder / "engine.log")

    @property
    def pids(self):
        found = guard.process(self.guard.pid)
        return {} if found is None else {"guard": [found.pid, found.started]}

    def start(self, tell):
        self.folder.mkdir(parents=True, exist_ok=True)
        env = {**os.environ, **guard.marks(str(self.lease.public_id), settings.LIVE_DIR)}
        with Path(self.log_path).open("ab") as log:
            self.guard = guard.spawn(
                self.argv,
                env=env,
                output=log,
                ledger=live_sweep.ledger_of(str(self.lease.public_id)),
                grace_s=0.5,
            )
        while b"engine up" not in Path(self.log_path).read_bytes():
            if self.guard.poll() is not None:
                raise live_session.EngineLost("The engine ended by itself: no weights.")
            time.sleep(0.01)
        for each in self.starting:
            each()
            tell(0.5, "Loading the weights")

    def follow(self, tell):
        """Nothing is marked on it."""

    def serve(self, until):
        if self.script:
            self.script.pop(0)()
        elif not settings.LIVE_SESSION.endswith("sleeping"):
            raise AssertionError("the script is over, and the lease goes on")
        else:
            time.sleep(max(0.0, until - time.monotonic()))
        if self.guard.poll() is not None:
            raise live_session.EngineLost(f"The engine ended (status {self.guard.returncode}).")

    def stop(self):
        self.stopped += 1
        if self.guard is not None:
            guard.stop(self.guard, within_s=20)


def sleeping(lease):
    """What LIVE_SESSION names in tests that start real workers."""
    return Sleeping(lease)
