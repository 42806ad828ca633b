"""The information table that workers compute when the committed one is of another code."""

import pytest

from labs import pool, table_runs, tables
from labs.models import InformationTable

pytestmark = pytest.mark.django_db


@pytest.fixture
def seeds_tried(monkeypatch, spec):
    """Every third seed is turned away; the others read their own number everywhere."""
    tried = []
    worlds = (*spec.hypotheses, "healthy")

    def seed_rows(spec, seed):
        tried.append(seed - table_runs.TABLE_FROM)
        if seed % 3 == 0:
            return "metastable"
        row = {name: float(seed) for name in spec.signals}
        return {world: [row for _ in spec.timeline.grid_s] for world in worlds}

    monkeypatch.setattr(table_runs, "seed_rows", seed_rows)
    return tried


def quiet(share, doing):
    pass


def test_the_committed_table_is_used_while_it_is_of_this_code(spec, seeds_tried):
    assert tables.table_for(spec, quiet) is pool.table(spec.slug)
    assert seeds_tried == []


def test_a_table_of_another_code_is_computed_and_kept(spec, seeds_tried, monkeypatch):
    def lost(slug):
        raise pool.NotProved("another code")

    monkeypatch.setattr(pool, "table", lost)
    monkeypatch.setattr(tables, "SEEDS", 4)
    table = tables.computed(spec, quiet, seeds=4)
    assert table.seeds == 4
    assert len(seeds_tried) > 4
    before = list(seeds_tried)
    assert tables.computed(spec, quiet, seeds=4) == table
    assert seeds_tried == before


def test_a_worker_that_is_stopped_leaves_its_seeds_to_the_next(spec, seeds_tried):
    def stop_at_the_third(share, doing):
        if len(seeds_tried) == 3:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        tables.computed(spec, stop_at_the_third, seeds=6)
    tables.computed(spec, quiet, seeds=6)
    assert seeds_tried == sorted(set(seeds_tried))
    assert InformationTable.objects.get().next_seed == table_runs.TABLE_FROM + len(seeds_tried)


def test_a_lab_whose_seeds_do_not_qualify_says_so(spec, monkeypatch):
    monkeypatch.setattr(table_runs, "seed_rows", lambda spec, seed: "leak")
    monkeypatch.setattr(table_runs, "MOST_TRIED", 5)
    with pytest.raises(RuntimeError, match="only 0 of 4 seeds qualify"):
        tables.computed(spec, quiet, seeds=4)
