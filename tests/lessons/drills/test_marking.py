"""What a drill gives points for."""

import pytest

from lessons.drills.evidence import evidence_of
from lessons.drills.marking import RULED_OUT, Decisions, left, mark
from lessons.drills.spec import drills
from lessons.drills.tables import worth

SPEC = drills()["1.1"]
BEST = max(worth(drills()["1.1"]), key=lambda key: worth(drills()["1.1"])[key].value)


def read(world, seed=123_456):
    return evidence_of(SPEC.evidence).observe(world, seed).values


def decided(world, *taken, struck=None, **changed):
    values = read(world)
    likely = left(SPEC, values, taken)
    right = [key for key in SPEC.suspects if likely[key] < RULED_OUT] if struck is None else struck
    suspect = SPEC.suspects[world]
    said = {"mechanism": suspect.mechanism, "fix": suspect.fix} | changed
    parts = mark(SPEC, world, values, Decisions(taken, right, **said))
    return {part.name: part.earned for part in parts}


@pytest.mark.parametrize("world", SPEC.served)
def test_who_reads_first_what_is_worth_most_and_is_right_earns_twenty(world):
    assert sum(decided(world, BEST, "last-minute", "diff").values()) == 20


def test_a_first_measurement_that_tells_nothing_earns_nothing():
    assert decided("template", "utilisation")["first measurement"] == 0


def test_what_the_readings_do_not_rule_out_is_wrongly_struck_though_it_is_false():
    rivals = [key for key in SPEC.suspects if key != "template"]
    assert decided("template", "utilisation", struck=rivals)["struck out"] == pytest.approx(1.2)
    assert decided("template", "utilisation", struck=[])["struck out"] == 6


def test_the_mechanism_and_the_fix_are_the_worlds_or_nothing():
    found = decided("cold", BEST, mechanism="more_load", fix="pool")
    assert (found["mechanism"], found["fix"]) == (0, 0)


@pytest.mark.parametrize("world", list(SPEC.suspects))
def test_two_readings_leave_the_truth_likely(world):
    likely = left(SPEC, read(world), ["counters", "last-minute", "diff"])
    assert max(likely, key=lambda key: likely[key]) == world
    assert sum(likely.values()) == pytest.approx(1)
