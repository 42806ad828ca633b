"""The cheats that every lab gets: which, with what ceilings, and that each can be played."""

import re

import pytest

from labs import console, plays
from labs.catalogue import labs
from labs.cheats import CONTROL_CEILINGS, MOST_NAMES, cheats, in_control
from labs.specs.lab import CheatCeiling

SLUG = "preemption-storm"
CEILINGS = {
    "right answers, nothing read": 75,
    "the other world's answer": 55,
    "restart only": 40,
    "shed everything": 50,
    "every change at once": 55,
    "says healthy": 0,
    "says healthy after reading": 20,
    "names everything": 80,
    "measures everything": 98.4,
    "cites everything": 85.5,
}


@pytest.fixture(scope="module")
def of_storm():
    return {each.name: each for each in cheats(labs()[SLUG])}


def test_the_storm_gets_every_cheat_of_the_specification(of_storm):
    assert set(of_storm) == set(CEILINGS)
    for each in of_storm.values():
        assert set(each.steps) == {"metastable", "demand"}


def test_ceilings_are_the_same_for_all_labs_unless_one_says_why_not(spec, of_storm):
    plain = spec.model_copy(update={"cheats": {}})
    assert {each.name: each.ceiling for each in cheats(plain)} == CEILINGS
    raised = CheatCeiling(ceiling=61, why="both worlds have one cure")
    own = spec.model_copy(update={"cheats": {"the other world's answer": raised}})
    assert {each.name: each.ceiling for each in cheats(own)} == CEILINGS | {
        "the other world's answer": 61
    }


def test_only_those_who_measured_and_were_right_may_pass(of_storm):
    may = {name for name, each in of_storm.items() if not each.must_not_pass}
    assert may == {"names everything", "measures everything"}


def test_in_a_healthy_control_silence_has_a_ceiling_of_its_own(of_storm):
    for name, each in of_storm.items():
        assert in_control(each).ceiling == CONTROL_CEILINGS.get(name, each.ceiling)
    assert in_control(of_storm["says healthy"]).ceiling == 25


def test_who_says_healthy_after_reading_is_right_in_a_control_and_no_cheat_there(spec):
    world = spec.hypotheses["demand"]
    answer = world.answer.model_copy(update={"scope": "healthy"})
    calm = {**spec.hypotheses, "demand": world.model_copy(update={"answer": answer})}
    found = {each.name: each for each in cheats(spec.model_copy(update={"hypotheses": calm}))}
    assert set(found["says healthy after reading"].steps) == {"metastable"}
    assert set(found["says healthy"].steps) == {"metastable", "demand"}


def test_a_lab_without_the_means_is_spared_the_cheat(spec):
    few = dict(list(spec.nodes.items())[:MOST_NAMES])
    worlds = {
        key: each.model_copy(update={"served": key == "demand"})
        for key, each in spec.hypotheses.items()
    }
    changes = {"fp8": spec.changes["fp8"]}
    poor = spec.model_copy(update={"nodes": few, "hypotheses": worlds, "changes": changes})
    assert {each.name for each in cheats(poor)} == set(CEILINGS) - {
        "restart only",
        "shed everything",
        "names everything",
        "the other world's answer",
    }


def diagnosis_of(play, world):
    return next(step["diagnose"] for step in play.steps_for(world) if "diagnose" in step)


def test_each_cheat_is_the_reference_but_for_what_it_cheats_in(spec, of_storm):
    reference = plays.load_play(SLUG, "reference")
    right = diagnosis_of(reference, "demand")
    unread = of_storm["right answers, nothing read"].steps_for("demand")
    assert diagnosis_of(of_storm["right answers, nothing read"], "demand") == {
        **right,
        "citations": [],
        "parameter": None,
    }
    before = unread[: next(i for i, step in enumerate(unread) if "diagnose" in step)]
    assert not [step for step in before if "run" in step]
    nameable = {key for key, node in spec.nodes.items() if node.nameable}
    named = diagnosis_of(of_storm["names everything"], "demand")
    assert set(named["components"]) == nameable
    assert len(diagnosis_of(of_storm["cites everything"], "demand")["citations"]) > 6
    runs = {step.get("run") for step in of_storm["measures everything"].steps_for("demand")}
    missed = [
        key
        for key, each in spec.instruments.items()
        if each.command not in runs and not each.is_alarm and not each.is_panel
    ]
    assert not missed
    other = of_storm["the other world's answer"]
    assert diagnosis_of(other, "demand") == diagnosis_of(reference, "metastable")
    changed = {step["run"] for step in of_storm["every change at once"].steps_for("demand")}
    assert {each.command for each in spec.changes.values()} <= changed


# --------------------------------------------------------------------------------------- every lab


@pytest.mark.parametrize("slug", labs())
def test_every_lab_gets_cheats_whose_lines_the_console_reads(slug):
    spec = labs()[slug]
    found = {each.name: each for each in cheats(spec)}
    assert {"right answers, nothing read", "says healthy", "measures everything"} <= set(found)
    assert set(spec.cheats) <= set(found), "a ceiling for a cheat that this lab does not get"
    for each in found.values():
        for world in each.steps:
            for step in each.steps_for(world):
                for line in (step.get("run"), *step.get("repeat", ())):
                    if line is not None:
                        parsed = console.parse(re.sub(r"\{\w+\}", "1", line))
                        assert isinstance(parsed, console.Command), (each.name, line)
