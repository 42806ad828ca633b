"""People of different skill: who knows this plays the reference, who does not leaves out, adds and mistakes."""

import random

import pytest

from labs import plays
from labs.catalogue import labs
from labs.personas import Persona, play_of

SLUG = "preemption-storm"
EXPERT, NOVICE = Persona(skill=1.0, surplus=0.0), Persona(skill=0.0, surplus=0.5)


def steps(spec, persona, seed=1, world="demand"):
    return play_of(spec, world, persona, random.Random(seed)).steps_for(world)


def test_whoever_makes_no_slip_plays_the_reference(spec):
    reference = plays.load_play(SLUG, "reference").steps_for("demand")
    lines = [step["run"] for step in steps(spec, EXPERT) if "run" in step]
    assert lines == [step["run"] for step in reference if "run" in step]
    said = next(step["diagnose"] for step in steps(spec, EXPERT) if "diagnose" in step)
    assert said["mechanism"] == "demand_exceeds_pool"


def test_two_novices_go_wrong_in_two_ways_and_each_the_same_way_again(spec):
    assert steps(spec, NOVICE, 1) == steps(spec, NOVICE, 1)
    assert steps(spec, NOVICE, 1) != steps(spec, NOVICE, 2)


def test_surplus_confidence_shows_in_what_is_said(spec):
    def mean(persona):
        said = [
            step["diagnose"]["confidence"]
            for seed in range(20)
            for step in steps(spec, persona, seed)
            if "diagnose" in step
        ]
        return sum(said) / len(said)

    assert mean(NOVICE) > mean(Persona(skill=0.0, surplus=-0.3)) + 10


@pytest.mark.parametrize("slug", sorted(labs()))
def test_every_lab_has_something_to_do_for_everybody(slug):
    spec = labs()[slug]
    for world in spec.served:
        for seed in range(3):
            done = steps(spec, NOVICE, seed, world)
            assert any("diagnose" in step for step in done)
            assert all(step["may_refuse"] for step in done)
