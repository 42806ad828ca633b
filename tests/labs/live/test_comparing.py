"""A comparison and a measurement carried out, before an engine that poses as vLLM."""

from dataclasses import replace

import pytest

from labs.live import calibration, comparing, pace
from labs.live.comparison import Run, Scenario
from labs.live.iterations import iterations
from labs.management.commands.compare_backends import table_of
from labs.simulator.request import Request
from tests.labs.live.conftest import CONFIG

SCENARIO = Scenario(
    "few",
    "twelve streams at once",
    tuple(Request(f"r{i:02}", i * 1e-6, 16, 8) for i in range(12)),
    (Run("A", "all at once", replace(CONFIG, num_gpu_blocks=64)), Run("B", "four at once", replace(CONFIG, max_num_seqs=4))),
)  # fmt: skip


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    monkeypatch.setattr(calibration, "BATCHES", ((1, 16, 6), (4, 16, 6), (12, 16, 6), (1, 256, 3)))
    monkeypatch.setattr(calibration, "WARM_UP", (1, 16, 2))


def test_each_run_is_paced_by_its_own_engine_before_and_after(fake, tmp_path):
    said = []
    found = comparing.compare(
        SCENARIO, fake.box, folder=tmp_path, tell=lambda share, doing: said.append(doing)
    )
    assert [each.run.name for each in found.runs] == ["A", "B"]
    a, b = found.runs
    assert a.live.answered == a.simulated.answered == b.live.answered == 12
    assert (sum(a.met), sum(b.met)) == (12, 4)
    # One shape, and a pace for each.
    assert a.fit.steps == b.fit.steps > 0
    assert a.fit.base_ms / a.fit.pace == pytest.approx(b.fit.base_ms / b.fit.pace)
    assert {len(each.rows) for each in found.runs} == {9}
    logged = [*iterations((tmp_path / "run-B.log").read_text())]
    assert len(logged) > b.live.steps + 20
    assert [each["name"] for each in found.told()["runs"]] == ["A", "B"]
    assert any("Measuring steps" in each for each in said)


def test_requests_that_come_one_by_one_are_in_no_groups(fake, tmp_path):
    some = replace(SCENARIO, runs=SCENARIO.runs[:1], is_exact=False)
    found = comparing.compare(some, fake.box, folder=tmp_path, tell=lambda share, doing: None)
    assert found.runs[0].met == ()
    assert "The first steps met" not in table_of(found)


def test_a_box_is_measured_and_its_engine_stopped(fake, tmp_path):
    steps = pace.measure(fake.box, folder=tmp_path, tell=lambda share, doing: None)
    assert steps[0].title == "one stream's token"
    assert all(each.measured_ms > 0 for each in steps)
    assert (tmp_path / "pace.log").exists()
