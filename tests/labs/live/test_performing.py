"""Acts done with a fake nvidia-smi that keeps a power limit in a file and notes what it was told."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from labs.live import guard
from labs.live.boxes import ROOT, box, for_profile
from labs.live.faults import burner, means
from labs.live.faults.performing import ActError, Hands

NVL = for_profile(box("h100-nvl-4"), "llama-70b-nvl")
SMI = """#!{python}
import pathlib, sys
here = pathlib.Path({here!r})
words = sys.argv[1:]
with (here / "calls").open("a") as file:
    file.write(" ".join(words) + "\\n")
limit = here / "limit"
if "-pl" in words:
    if (here / "refuses").exists():
        print("Failed to set power management limit for GPU 00000000:17:00.0: Insufficient Permissions")
        sys.exit(4)
    limit.write_text(words[-1])
elif any(word.startswith("--query-gpu=power.limit") for word in words):
    print("[N/A], [N/A]" if (here / "silent").exists() else f"{{float(limit.read_text()):.2f}}, 200.00")
"""


@pytest.fixture
def here(tmp_path):
    (tmp_path / "limit").write_text("400")
    (tmp_path / "calls").touch()
    smi = tmp_path / "nvidia-smi"
    smi.write_text(SMI.format(python=sys.executable, here=str(tmp_path)), encoding="utf-8")
    smi.chmod(0o755)
    return tmp_path


@pytest.fixture
def hands(here, monkeypatch):
    path = f"{here}:{os.environ['PATH']}"
    monkeypatch.setenv("PATH", path)
    return Hands(here / "ledger", "a1", guard.marks("a1", here), {"PATH": path})


def calls(here):
    return (here / "calls").read_text().splitlines()


def test_a_power_cap_is_set_and_what_it_was_before_is_set_back(here, hands):
    hands.perform(means.power_cap(2, 250, -600))
    assert (here / "limit").read_text() == "250"
    assert hands.undo() == []
    assert (here / "limit").read_text() == "400.00"
    assert calls(here) == [
        "-i 2 --query-gpu=power.limit,power.min_limit --format=csv,noheader,nounits",
        "-i 2 -pl 250",
        "-i 2 -pl 400.00",
    ]


def test_a_cap_is_raised_to_the_lowest_that_the_gpu_takes(here, hands):
    hands.perform(means.power_cap(0, 152, -600))
    assert (here / "limit").read_text() == "200"


def test_without_what_it_was_before_nothing_is_done(here, hands):
    (here / "silent").touch()
    with pytest.raises(ActError, match="does not say what would have to be set back"):
        hands.perform(means.power_cap(0, 250, -600))
    assert (here / "limit").read_text() == "400"
    assert not hands.ledger.exists()


def test_a_cap_that_is_not_permitted_says_what_the_driver_said_and_stays_in_the_ledger(here, hands):
    (here / "refuses").touch()
    with pytest.raises(ActError, match="Insufficient Permissions"):
        hands.perform(means.power_cap(0, 250, -600))
    (problem,) = hands.undo()
    assert "-pl 400.00” ended with status 4" in problem
    (here / "refuses").unlink()
    assert hands.undo() == []


def test_a_clock_cap_is_undone_by_a_reset(here, hands):
    hands.perform(means.clock_cap(1, 900, -600))
    assert hands.undo() == []
    assert calls(here) == ["-i 1 -lgc 210,900", "-i 1 -rgc"]


def test_two_caps_of_one_gpu_end_at_what_was_before_the_first(here, hands):
    hands.perform(means.power_cap(0, 300, -600))
    hands.perform(means.power_cap(0, 250, -600))
    assert hands.undo() == []
    assert (here / "limit").read_text() == "400.00"


def test_a_crash_after_the_act_leaves_its_undo_to_whoever_sweeps(here, hands):
    code = (
        f"import os, sys; sys.path.insert(0, {str(ROOT)!r});"
        "from pathlib import Path;"
        "from labs.live.faults import means; from labs.live.faults.performing import Hands;"
        f"hands = Hands(Path({str(hands.ledger)!r}), 'a1', {{}}, {{'PATH': os.environ['PATH']}});"
        "hands.perform(means.power_cap(0, 250, 0)); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False)
    assert done.returncode == -signal.SIGKILL
    assert (here / "limit").read_text() == "250"
    assert guard.undo(hands.ledger) == []
    assert (here / "limit").read_text() == "400.00"


# ------------------------------------------------------------------------------------- the burner

TORCH = """
import time
uint8 = bfloat16 = None
def empty(*_, **__): return object()
def randn(*_, **__): return M()
class M:
    def __matmul__(self, other): return self
class cuda:
    @staticmethod
    def synchronize(): time.sleep(0.01)
"""


@pytest.fixture
def burning(here, hands):
    """An act that starts the real burner, with a module in torch's place."""
    (here / "torch.py").write_text(TORCH, encoding="utf-8")
    act = means.burner(
        replace(NVL, python=sys.executable),
        3,
        0,
        memory_mib=3000,
        busy_s=0.2,
        idle_s=0.2,
        seed="7",
        limit_s=60,
    )
    yield replace(act, env=(*act.env, ("PYTHONPATH", str(here))))
    burner.stop("a1")


def wait_until(holds):
    until = time.monotonic() + 15
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_burner_has_its_gpu_and_the_marks_of_its_lease_and_its_undo_ends_it(hands, burning):
    hands.perform(burning)
    wait_until(lambda: burner.of_lease("a1"))
    (pid,) = burner.of_lease("a1")
    environment = guard.environment(pid)
    assert environment["CUDA_VISIBLE_DEVICES"] == "3"
    assert environment["COURSEWARE_LEASE"] == "a1"
    assert burner.of_lease("another") == []
    assert hands.undo() == []
    assert burner.of_lease("a1") == []
    assert hands.processes == []


def test_a_burner_ends_with_whoever_started_it(here, hands, burning):
    (do,) = burning.do
    parent = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    environment = {**os.environ, **hands.marks, **dict(burning.env)}
    environment["COURSEWARE_PARENT"] = str(os.getpid())
    mine = subprocess.Popen(do, env=environment)
    orphan = subprocess.Popen(do, env={**environment, "COURSEWARE_PARENT": str(parent.pid)})
    assert orphan.wait(timeout=15) == 0
    assert burner.of_lease("a1") == [mine.pid]
    burner.stop("a1")
    mine.wait()
    parent.communicate(b"\n")


def test_bursts_are_those_of_the_simulators_neighbour():
    draws = burner.bursts("7", 52.0, 46.0)
    first, second = next(draws), next(draws)
    assert first[0] is False
    assert 23.0 <= first[1] <= 69.0
    assert second[0] is True
    assert 26.0 <= second[1] <= 78.0
    assert [next(burner.bursts("7", 52.0, 46.0))] == [first]
    assert not any(next(burner.bursts("0", 0.0, 1.0))[0] for _ in range(3))


def test_the_burner_needs_nothing_but_the_standard_library_until_it_burns():
    text = Path(burner.__file__).read_text(encoding="utf-8")
    assert "import_module(" in text
    assert "labs" not in [line.split()[1] for line in text.splitlines() if line.startswith("from")]
