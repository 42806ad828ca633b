"""The reasons of the mark, in the learner's words."""

from copy import deepcopy

from labs.debrief.parts import parts_shown
from tests.labs.debrief.marked import MARK, SPEC, shown


def test_reasons_have_names_where_marking_has_ids():
    reasons = {part.name: part.reason for part in shown().parts}
    assert "“KV block pool” and “Router”" in reasons["localisation"]
    assert "kv_pool" not in reasons["localisation"]
    assert "“first token within 2 s” still miss" in reasons["mitigation"]
    assert reasons["scope"] == (
        "You said that there is a fault, and named “first token within 2 s”. "
        "Hurt: “no pause over 1 s inside an answer” and “first token within 2 s”."
    )


def test_each_citation_says_what_became_of_it():
    (evidence,) = [part for part in shown().parts if part.name == "evidence"]
    assert [(each.reading, each.verdict) for each in evidence.citations] == [
        (1, "true, beside the point"),
        (2, "a link of the proof"),
    ]
    assert (
        evidence.citations[1].role == "rules out: Finished requests do not give their blocks back"
    )


def test_bars_are_as_long_as_the_points():
    widths = {part.name: part.width for part in shown().parts}
    assert (widths["scope"], widths["mechanism"]) == ("80.0%", "100.0%")


def test_who_called_it_healthy_is_not_told_that_they_saw_a_fault():
    mark = deepcopy(MARK)
    mark["parts"][0]["reason"] = "You said that nothing is wrong; there is a fault."
    mark["parts"][0]["details"]["says_fault"] = False
    scope = parts_shown(SPEC, {part["name"]: part for part in mark["parts"]})[0]
    assert scope.reason.startswith("You said that nothing is wrong; there is a fault. Hurt: “")
