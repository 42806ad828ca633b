"""Every lab, in the short form of its proof: three seeds, its worlds, its reference, every play that must not earn as much."""

import pytest

from labs import console, incident, plays, pool, proving, table_runs, worlds
from labs.catalogue import labs
from labs.digest import behaviour
from labs.instruments.take import take

pytestmark = pytest.mark.parametrize("slug", sorted(labs()))

SEEDS = 3


@pytest.fixture(autouse=True)
def _marks_alone(monkeypatch):
    """Marks are what is asked here: what a debrief tells beside them costs a sixth of the time, and has its own tests."""
    monkeypatch.setattr(incident, "alarm_series", lambda world, **how: [])
    monkeypatch.setattr(incident, "users_hurt", lambda world, from_s, to_s: 0)


def served(slug):
    """The first pool seeds, each world's first before anyone's second."""
    seen, first, rest = set(), [], []
    for entry in pool.record(slug)["seeds"]:
        (rest if entry["hypothesis"] in seen else first).append(entry)
        seen.add(entry["hypothesis"])
    return [*first, *rest][:SEEDS]


# First, since it takes longest: what is left for the end is short, and no process waits.
def test_no_counterexample_and_no_cheat_earns_what_it_must_not(slug):
    for name, script, entry in proving.quick_plays(slug, served(slug)):
        played = proving.play_once(slug, name, entry["seed"])
        assert played.total <= script.ceiling, name
        assert not (script.must_not_pass and played.passed), name
        assert not (script.tempting and played.mends), name


def test_the_worlds_do_what_they_did_when_the_lab_was_proved(slug):
    assert pool.behaviour(slug) == behaviour(labs()[slug])


def test_the_stored_proof_holds(slug):
    stored = proving.stored(slug)
    assert [str(line) for line in stored.lines if line.verdict == "red"] == []


def test_an_instrument_declares_what_its_answer_shows(slug):
    spec = labs()[slug]
    world = incident.at_page(spec, served(slug)[0]["seed"])
    for key, instrument in spec.instruments.items():
        shown = set(take(world.view, console.parse(instrument.command)).signals)
        assert shown & set(spec.signals) <= set(instrument.signals), key


def test_the_symptom_shows_and_the_healthy_control_is_silent(slug):
    spec = labs()[slug]
    for entry in served(slug):
        assert table_runs.stays_hurt(spec, entry["hypothesis"], entry["seed"])
        assert table_runs.rows_of(spec, worlds.HEALTHY, entry["seed"]) is not None


def test_the_reference_earns_every_point(slug):
    for entry in served(slug):
        found, _ = plays.judged(labs()[slug], entry["seed"], "reference", table=pool.table(slug))
        assert found.total == 100.0, [(part["name"], part["reason"]) for part in found.parts]
