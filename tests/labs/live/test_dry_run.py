"""What would be done on boxes that nobody here has, word for word: `tests/golden/live/`.

A change of a flag, a fault or a lab shows as a change of these texts. ``REWRITE_GOLDEN=1`` writes them anew: read what changed.
"""

import os
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from labs.catalogue import lab, labs
from labs.live import guard
from labs.live.boxes import box
from labs.live.dry_run import dry_run
from labs.live.offering import unserved

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "live"
SEED = 7
CASES = [
    ("preemption-storm", "h100-sxm-4", "metastable"),
    ("preemption-storm", "h100-sxm-4", "long_prompts"),
    ("preemption-storm", "h100-nvl-4", "metastable"),
    ("late-in-turns", "h100-sxm-4", "cold"),
    ("summaries-start-late", "h100-nvl-4", "placement"),
    ("the-audit-complains", "h100-nvl-4", "split"),
    ("slow-to-begin", "h100-nvl-4", "host_path"),
    ("slow-to-begin", "h100-nvl-4", "cap"),
    ("slow-to-begin", "h100-sxm-4", "cap"),
    ("good-and-bad-minutes", "h100-nvl-4", "guest"),
    ("good-and-bad-minutes", "h100-sxm-4", "guest"),
    ("slower-by-the-token", "h100-sxm-4", "attention"),
    ("slower-by-the-token", "h100-sxm-4", "linear"),
    ("slower-by-the-token", "h100-sxm-4", "clocks"),
    ("slower-by-the-token", "h100-nvl-4", "linear"),
    ("memory-over-ninety", "h100-sxm-4", "foreign"),
]


@pytest.mark.parametrize(("slug", "name", "world"), CASES)
def test_what_would_be_done_is_as_it_was(slug, name, world):
    said = dry_run(lab(slug), box(name), world=world, seed=SEED) + "\n"
    path = GOLDEN / f"{slug}.{name}.{world}.txt"
    if os.environ.get("REWRITE_GOLDEN"):
        path.write_text(said, encoding="utf-8")
    assert said == path.read_text(encoding="utf-8")


def test_nothing_lies_among_them_that_no_test_reads():
    assert {path.name for path in GOLDEN.iterdir()} == {".".join(case) + ".txt" for case in CASES}


def test_it_needs_no_variable_and_leaves_none_of_this_machine(monkeypatch):
    for name in ("LIVE_MODEL", "LIVE_MODEL_FP8", "LIVE_DIR", "PATH"):
        monkeypatch.delenv(name, raising=False)
    said = dry_run(lab("preemption-storm"), box("h100-sxm-4"), world="demand", seed=SEED)
    assert 'vllm serve "$LIVE_MODEL"' in said
    assert str(Path.cwd()) not in said


def test_the_healthy_world_does_nothing_to_the_box():
    said = dry_run(lab("good-and-bad-minutes"), box("h100-nvl-4"), world="healthy", seed=SEED)
    assert "nothing is done to the box" in said
    assert "undo nvidia-smi" not in said


def test_without_a_world_it_is_the_seeds_own():
    said = dry_run(lab("good-and-bad-minutes"), box("h100-nvl-4"), seed=SEED)
    assert said.startswith("good-and-bad-minutes on h100-nvl-4, world ")


@pytest.mark.parametrize("name", ["h100-sxm-4", "h100-nvl-4"])
def test_a_lab_is_served_where_all_worlds_that_it_serves_can_be_made(name):
    offered = {slug for slug, spec in labs().items() if not unserved(spec, box(name), SEED)}
    assert offered == {
        "h100-sxm-4": {
            "preemption-storm", "answers-crawl", "fuller-than-ever", "first-word-waits",
            "slower-by-the-token", "calls-given-up", "a-crowd-at-noon",
        },
        "h100-nvl-4": {"good-and-bad-minutes", "slow-to-begin", "the-audit-complains"},
    }[name]  # fmt: skip


def run(*words):
    out = StringIO()
    call_command("live", *words, stdout=out)
    return out.getvalue()


def test_the_command_says_the_same():
    said = run("slow-to-begin", "--on", "h100-nvl-4", "--world", "cap", "--seed", "7", "--dry-run")
    assert said == (GOLDEN / "slow-to-begin.h100-nvl-4.cap.txt").read_text(encoding="utf-8")


def test_without_a_lab_each_has_a_line():
    lines = run("--on", "h100-nvl-4", "--dry-run", "--seed", "7").splitlines()
    assert len(lines) == len(labs())
    assert any(line.split() == ["slow-to-begin", "served"] for line in lines)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["preemption-storm", "--on", "h100-sxm-4"], "add --dry-run"),
        (["preemption-storm", "--on", "dgx", "--dry-run"], "no box of that name; there are cpu"),
        (["no-such-lab", "--on", "cpu", "--dry-run"], "no lab 'no-such-lab'"),
        (
            ["preemption-storm", "--on", "h100-sxm-4", "--world", "rain", "--dry-run"],
            "preemption-storm has no world 'rain'; it has metastable",
        ),
    ],
)
def test_what_cannot_be_said_is_refused_in_a_sentence(words, said):
    with pytest.raises(CommandError, match=said):
        run(*words)


def test_what_a_lease_has_left_is_undone_by_hand(settings, tmp_path):
    settings.LIVE_DIR = tmp_path
    guard.record(tmp_path / "a1" / "ledger", ["touch", str(tmp_path / "undone")])
    assert "ledgers: 1; commands that failed: 0" in run("--undo")
    assert (tmp_path / "undone").exists()
    guard.record(tmp_path / "a2" / "ledger", [str(tmp_path / "nothing")])
    with pytest.raises(SystemExit):
        run("--undo")
