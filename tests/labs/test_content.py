"""The lab proves itself: the reference earns every point, and no tempting answer does."""

import pytest

from labs import plays, pool
from tests.labs.conftest import SERVED, SLUG, admitted_seeds

PLAYS = [name for name in plays.names(SLUG) if name != "reference"]
NO_PASS = {
    "cap-where-demand-is-the-cause",
    "cite-everything",
    "every-change-at-once",
    "raise-max-num-seqs",
    "restart-only",
    "right-answers-nothing-read",
    "says-healthy",
    "shed-everything",
    "the-other-worlds-answer",
    "the-routers-fault",
    "wrong-readings",
}
"""Plays that may not pass, whatever they total."""
AT_MOST = {
    ("restart-only", "mitigation"): 10.0,
    ("cap-where-demand-is-the-cause", "mitigation"): 9.9,
    ("no-verification", "mitigation"): 10.0,
    ("shed-everything", "mitigation"): 0.0,
    ("name-every-cause", "localisation"): 0.0,
    ("cite-everything", "evidence"): 0.0,
    ("right-answers-nothing-read", "evidence"): 0.0,
    ("right-answers-nothing-read", "economy"): 0.0,
    ("six-citations", "evidence"): 12.0,
    ("wrong-readings", "evidence"): 7.4,
}
"""What single parts may earn at most."""


@pytest.fixture(scope="module")
def table():
    return pool.table(SLUG)


def earned(judgement):
    return {part["name"]: part["earned"] for part in judgement.parts}


@pytest.mark.slow
@pytest.mark.parametrize("position", range(20))
def test_the_reference_earns_every_point(spec, table, position):
    seed = pool.admitted(SLUG)[position]
    judgement, _ = plays.judged(spec, seed, "reference", table=table)
    assert judgement.total == 100.0, [part["reason"] for part in judgement.parts]
    assert judgement.passed


@pytest.mark.slow
@pytest.mark.parametrize("hypothesis", SERVED)
@pytest.mark.parametrize("name", PLAYS)
def test_a_counterexample_stays_below_its_ceiling(spec, table, name, hypothesis):
    play = plays.load_play(SLUG, name)
    if not play.has(hypothesis):
        pytest.skip("this play is of the other world")
    for seed in admitted_seeds(hypothesis)[1:3]:
        judgement, _ = plays.judged(spec, seed, name, table=table)
        assert judgement.graded
        assert judgement.total <= play.ceiling
        assert not (judgement.passed and name in NO_PASS)
        for (cheat, part), most in AT_MOST.items():
            assert cheat != name or earned(judgement)[part] <= most


@pytest.mark.slow
def test_a_cap_is_as_good_a_cure_of_the_storm_where_it_holds(spec, table):
    totals = {
        plays.judged(spec, seed, "cap", table=table)[0].total
        for seed in admitted_seeds("metastable")[:6]
    }
    assert totals <= {90.0, 100.0} | {t for t in totals if t >= 85}
    assert 100.0 in totals
