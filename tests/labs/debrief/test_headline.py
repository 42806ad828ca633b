"""The sentences at the top of the debrief."""

import re
from copy import deepcopy

import pytest

from labs.debrief.headline import lead
from tests.labs.debrief.marked import LOG, MARK, changed, shown


@pytest.mark.parametrize(
    ("mark", "words"),
    [
        (MARK, "Right cause, but the fix did not hold"),
        (changed("mitigation", earned=20.0), "Right cause, and the fix held"),
        (changed("mitigation", details={"changed": False}), "Right cause, nothing changed"),
        (
            changed("mitigation", earned=20.0, details={"changes": "none"}),
            "Right call: nothing to repair",
        ),
        (changed("mechanism", details={"credit": 0.25}), "Close to the cause, not at it"),
        (changed("mechanism", details={"credit": 0}), "Another world than the one you named"),
    ],
)
def test_the_headline_says_what_was_right(mark, words):
    assert shown(mark).headline == words


def test_without_a_diagnosis_the_headline_says_so():
    log = [each for each in LOG if each.kind != "diagnose"]
    assert shown(log=log).headline == "No diagnosis, and no cure that held"


def test_the_lead_counts_people_and_the_first_measurement():
    told = shown().lead
    assert "82 more people were hurt than in the reference run" in told
    assert "88 % of what the best one buys" in told


def test_a_live_attempt_is_not_counted_against_simulated_runs():
    told = lead(MARK["debrief"], {"share": "100 %"}, is_live=True)
    assert re.match(
        r"On your engine [\d,]+ people were hurt\. The runs beside it are simulated", told
    )
    assert "reference run" not in told
    assert "spared" not in told


def test_who_measured_nothing_is_told_what_was_best():
    mark = deepcopy(MARK)
    for row in mark["debrief"]["value"]:
        row["yours"] = False
    found = shown(mark, log=[])
    assert found.first == {"share": "", "title": "", "best": "Longest gap per stream"}
    assert "You took no measurement before you acted." in found.lead
    assert found.paths[0].steps == ()


def test_the_verdict_is_what_a_pass_still_needs():
    assert shown().verdict == "a pass needs 70"
    assert shown({**MARK, "passed": True}).verdict == "passes"
