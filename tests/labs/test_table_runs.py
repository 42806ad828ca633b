"""Which worlds enter the table and the pool, and that the committed files are what today's code computes."""

import gzip
import json
from itertools import pairwise

import pytest

from labs import incident, pool, table_runs, worlds
from labs.catalogue import folder_of
from labs.digest import behaviour, spec_digest
from labs.instruments.registry import signal_values
from labs.specs import Bound

SLUG = "preemption-storm"
FILE = json.loads(gzip.decompress((folder_of(SLUG) / "table.json.gz").read_bytes()))
POOL = json.loads((folder_of(SLUG) / "pool.json").read_text())


def test_the_committed_pool_and_table_are_of_this_spec(spec):
    assert FILE["spec"] == POOL["spec"] == spec_digest(spec)


def test_the_worlds_still_do_what_they_did_when_the_table_was_computed(spec):
    assert FILE["behaviour"] == behaviour(spec)


def test_the_pool_serves_each_world_as_often():
    counts = [
        sum(e["hypothesis"] == name for e in POOL["seeds"]) for name in ("demand", "metastable")
    ]
    assert counts[0] == counts[1]
    assert sum(counts) >= 20
    half = [e["hypothesis"] for e in POOL["seeds"][: sum(counts) // 2]]
    assert min(half.count("demand"), half.count("metastable")) >= len(half) / 4


def test_table_pool_and_twins_never_share_a_seed():
    table, served = set(FILE["seeds"]), {e["seed"] for e in POOL["seeds"]}
    assert len(table) == len(FILE["seeds"]) >= 20
    assert not table & served
    assert max(table) < table_runs.POOL_FROM <= min(served)


def test_a_pool_seeds_world_is_the_one_that_its_seed_means(spec):
    for entry in POOL["seeds"]:
        assert worlds.hypothesis_of(spec, entry["seed"]) == entry["hypothesis"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "world", ["metastable", "demand", "router", "long_prompts", "leak", "healthy"]
)
def test_cells_of_the_table_compute_to_the_same_values(spec, world):
    place = 7
    rows = table_runs.rows_of(spec, world, FILE["seeds"][place])
    table = pool.table(SLUG)
    for at_s, row in zip(spec.timeline.grid_s, rows, strict=True):
        assert table.runs[world, at_s][place] == row


@pytest.mark.slow
def test_a_seed_is_turned_away_by_the_first_world_that_does_not_do_what_it_says(spec):
    kept = set(FILE["seeds"])
    first = next(s for s in range(table_runs.TABLE_FROM, max(kept)) if s not in kept)
    assert table_runs.seed_rows(spec, first) in FILE["refused"]


@pytest.fixture(scope="module")
def pages(spec):
    """A few worlds of the pool of each kind, at their page."""
    seeds = [e for e in POOL["seeds"] if e["hypothesis"] == "demand"][:4]
    seeds += [e for e in POOL["seeds"] if e["hypothesis"] == "metastable"][:4]
    return [incident.begin(spec, e["seed"], hypothesis=e["hypothesis"]) for e in seeds]


@pytest.mark.slow
def test_a_served_world_was_healthy_before_its_fault(spec, pages):
    timeline = spec.timeline
    assert timeline.fault_at_s - timeline.healthy_from_s >= 600
    for world in pages:
        samples = [
            s
            for s in world.world.cluster.engines[0].samples
            if timeline.healthy_from_s <= s.t_s <= timeline.fault_at_s
        ]
        usage = sum(s.kv_cache_usage_perc for s in samples) / len(samples)
        ttft = [
            value
            for at_s, value in incident.alarm_series(world, from_s=timeline.healthy_from_s)
            if at_s <= timeline.fault_at_s
        ]
        assert max(ttft) <= 0.6
        assert 0.3 < sorted(ttft)[len(ttft) // 2] < 0.55
        assert 0.3 <= usage <= 0.7
        assert sum(s.waiting for s in samples) / len(samples) < 0.1
        assert samples[-1].preemptions - samples[0].preemptions <= 5


@pytest.mark.slow
def test_a_served_world_shows_the_symptom_at_its_page(pages):
    for world in pages:
        samples = [s for s in world.world.cluster.engines[0].samples if s.t_s >= -300]
        climbing = [s.preemptions_reported for s in samples[::12]]
        values = signal_values(world.view, ["ttft_p95_s", "gap_p95_s", "tensor_active", "gpu_util"])
        assert values["ttft_p95_s"] > 0.6
        assert values["gap_p95_s"] > 1
        assert sum(s.kv_cache_usage_perc for s in samples) / len(samples) >= 0.94
        assert all(one < other for one, other in pairwise(climbing))
        assert values["tensor_active"] < 0.5
        assert values["gpu_util"] > 0.95


@pytest.mark.parametrize("name", ["healthy", "healthy_mean", "page", "hurt"])
def test_a_world_outside_a_bound_of_its_admission_is_not_served(spec, seeds, name):
    assert table_runs.stays_hurt(spec, "demand", seeds["demand"])
    never = Bound(signal="kv_usage", at_least=2.0)
    strict = spec.model_copy(
        update={"admission": spec.admission.model_copy(update={name: (never,)})}
    )
    assert not table_runs.stays_hurt(strict, "demand", seeds["demand"])


def test_a_file_of_another_spec_is_not_used(monkeypatch):
    monkeypatch.setattr(pool, "spec_digest", lambda spec: "another")
    pool.admitted.cache_clear()
    with pytest.raises(pool.NotProved, match=r"pool\.json follows from another .*manage.py prove"):
        pool.admitted(SLUG)
    pool.admitted.cache_clear()


def test_a_missing_file_says_what_to_run(monkeypatch, tmp_path):
    monkeypatch.setattr(pool, "folder_of", lambda slug: tmp_path)
    with pytest.raises(pool.NotProved, match=r"pool\.json is missing; run: manage.py prove"):
        pool.record(SLUG)
