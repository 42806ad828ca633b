"""The whole chain, with real processes: a worker that has capped a GPU and put a process on one is killed."""

import os
import subprocess
import sys

from labs.live import guard
from labs.live.boxes import ROOT
from labs.live.faults import burner

from .test_performing import SMI, TORCH, wait_until

WORKER = """
import os, subprocess, sys, time
from dataclasses import replace
from pathlib import Path
sys.path.insert(0, {root!r})
from labs.live import guard
from labs.live.boxes import box, for_profile
from labs.live.faults import means
from labs.live.faults.performing import Hands

here = Path({here!r})
ledger, marks = here / "ledger", guard.marks("crash", here)
engine = guard.spawn(
    [sys.executable, "-c", "import time; time.sleep(60)"],
    env={{**os.environ, **marks}}, output=subprocess.DEVNULL, ledger=ledger, grace_s=2.0,
)
hands = Hands(ledger, "crash", marks, dict(os.environ))
hands.perform(means.power_cap(0, 250, 0))
nvl = replace(for_profile(box("h100-nvl-4"), "llama-70b-nvl"), python=sys.executable)
act = means.burner(nvl, 1, 0, memory_mib=900, busy_s=0.2, idle_s=0.2, seed="7", limit_s=60)
hands.perform(replace(act, env=(*act.env, ("PYTHONPATH", str(here)))))
(here / "done").touch()
time.sleep(60)
"""


def test_a_worker_that_is_killed_leaves_no_cap_no_process_and_no_ledger(tmp_path):
    (tmp_path / "limit").write_text("400")
    (tmp_path / "torch.py").write_text(TORCH)
    smi = tmp_path / "nvidia-smi"
    smi.write_text(SMI.format(python=sys.executable, here=str(tmp_path)))
    smi.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    code = WORKER.format(root=str(ROOT), here=str(tmp_path))
    worker = subprocess.Popen([sys.executable, "-c", code], env=environment)
    try:
        wait_until((tmp_path / "done").exists)
        wait_until(lambda: burner.of_lease("crash"))
        assert (tmp_path / "limit").read_text() == "250"
    finally:
        worker.kill()
        worker.wait()
    wait_until(lambda: not guard.marked(tmp_path))
    assert (tmp_path / "limit").read_text() == "400.00"
    assert not (tmp_path / "ledger").exists()
