"""What the first lab owes beyond what every lab owes (``test_every_lab``): its counterexamples, part by part."""

import pickle

import pytest

from labs import incident, plays, pool
from tests.labs.conftest import SERVED, SLUG, admitted_seeds

PLAYS = [name for name in plays.names(SLUG) if name != "reference"]
NO_PASS = {
    "cap-where-demand-is-the-cause",
    "raise-max-num-seqs",
    "the-routers-fault",
    "wrong-readings",
}
"""Plays that may not pass, whatever they total."""
AT_MOST = {
    ("cap-where-demand-is-the-cause", "mitigation"): 9.9,
    ("no-verification", "mitigation"): 10.0,
    ("six-citations", "evidence"): 12.0,
    ("wrong-readings", "evidence"): 7.4,
}
"""What single parts may earn at most."""


@pytest.fixture(scope="module")
def table():
    return pool.table(SLUG)


@pytest.fixture(scope="module")
def _each_world_begins_once():
    """Plays of one world share its way to the page, and its reference."""
    pages, routes = {}, {}

    def begin(spec, seed, *, hypothesis=None, progress=None, real=incident.begin):
        if (seed, hypothesis) not in pages:
            pages[seed, hypothesis] = pickle.dumps(real(spec, seed, hypothesis=hypothesis))
        return pickle.loads(pages[seed, hypothesis])  # noqa: S301  (our own bytes)

    def route(spec, seed, *, hypothesis=None, progress=None, real=plays.reference_route):
        if seed not in routes:
            routes[seed] = real(spec, seed, hypothesis=hypothesis)
        return routes[seed]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(incident, "begin", begin)
        patch.setattr(plays, "reference_route", route)
        yield


def earned(judgement):
    return {part["name"]: part["earned"] for part in judgement.parts}


@pytest.mark.slow
@pytest.mark.usefixtures("_each_world_begins_once")
@pytest.mark.parametrize(
    ("name", "hypothesis"),
    [
        (name, hypothesis)
        for name in PLAYS
        for hypothesis in SERVED
        if plays.load_play(SLUG, name).has(hypothesis)
    ],
)
def test_a_counterexample_stays_below_its_ceiling(spec, table, name, hypothesis):
    play = plays.load_play(SLUG, name)
    judgement, _ = plays.judged(spec, admitted_seeds(hypothesis)[1], name, table=table)
    assert judgement.graded
    assert judgement.total <= play.ceiling
    assert not (judgement.passed and name in NO_PASS)
    for (cheat, part), most in AT_MOST.items():
        assert cheat != name or earned(judgement)[part] <= most


@pytest.mark.slow
@pytest.mark.usefixtures("_each_world_begins_once")
def test_a_cap_cures_most_storms_and_never_makes_one_worse(spec, table):
    marks = [
        earned(plays.judged(spec, seed, "cap", table=table)[0])["mitigation"]
        for seed in admitted_seeds("metastable")[:5]
    ]
    assert sum(mark == 20 for mark in marks) > len(marks) / 2
    assert min(marks) >= 9
