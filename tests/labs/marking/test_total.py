import math
import random

import pytest

from labs.marking.constants import WEIGHTS
from labs.marking.healthy import healthy_mitigation_part, looked_for, looked_share
from labs.marking.localisation import CausalGraph, localisation_part
from labs.marking.mechanism import mechanism_part
from labs.marking.parts import CouldNotBeGraded, made_part
from labs.marking.scope import scope_part
from labs.marking.total import Mark, Provisional, attempt_weight, kept_score, mark


def parts(**earned):
    return [made_part(name, earned.get(name, weight), "", {}) for name, weight in WEIGHTS.items()]


def test_the_whole_is_a_hundred_and_passes():
    made = mark(reversed(parts()))
    assert isinstance(made, Mark)
    assert (made.total, made.passed) == (100.0, True)
    assert [each.name for each in made.parts] == list(WEIGHTS)


def test_the_total_is_the_sum_of_the_rounded_parts():
    rng = random.Random("total:1")
    for _ in range(500):
        given = parts(**{name: rng.uniform(0, weight) for name, weight in WEIGHTS.items()})
        made = mark(given)
        assert made.total == pytest.approx(math.fsum(each.earned for each in given), abs=1e-9)
        assert made.total == round(made.total, 1)
        assert all(0 <= each.earned <= each.weight for each in made.parts)


@pytest.mark.parametrize(
    ("earned", "passed"),
    [
        ({"economy": 0, "localisation": 0}, True),
        ({"economy": 0, "localisation": 0, "scope": 9.9}, False),
        ({"mechanism": 12.5}, True),
        ({"mechanism": 12.4}, False),
        ({"mitigation": 9.9}, False),
        ({"evidence": 7.4}, False),
        ({"evidence": 7.5, "mitigation": 10, "mechanism": 12.5}, True),
    ],
)
def test_a_pass_is_seventy_and_half_of_mechanism_mitigation_and_evidence(earned, passed):
    assert mark(parts(**earned)).passed is passed


def test_right_answers_with_nothing_read_do_not_pass():
    made = mark(parts(evidence=0, economy=0))
    assert (made.total, made.passed) == (75.0, False)
    assert "half of evidence" in made.reason


def test_silence_in_a_healthy_world_without_looking_earns_the_mechanism_alone():
    looked = looked_share(0.0)
    graph = CausalGraph(frozenset({"gate"}), frozenset())
    scope = scope_part(says_fault=False, is_fault=False, named=(), hurt=())
    made = mark(
        [
            looked_for(scope, looked),
            localisation_part(graph, [], [[]], looked=looked),
            mechanism_part(1.0),
            made_part("evidence", 0, "", {}),
            healthy_mitigation_part(looked, "none", {}),
            made_part("economy", 0, "", {}),
        ]
    )
    assert (made.total, made.passed) == (25.0, False)


def test_what_could_not_be_graded_is_never_a_zero():
    given = parts()
    given[4] = CouldNotBeGraded("mitigation", "The engine was lost.")
    made = mark(given)
    assert isinstance(made, Provisional)
    assert len(made.parts) == 5
    assert made.reason == "The engine was lost."
    assert not hasattr(made, "total")


def test_a_mark_needs_each_part_once():
    for given in (parts()[1:], [*parts(), parts()[0]]):
        with pytest.raises(ValueError, match="each part once"):
            mark(given)


@pytest.mark.parametrize(
    ("scores", "kept"),
    [((60, 50, 80, 100), 90), ((0, 100), 90), ((90, 100), 99), ((), 0), ((55.5,), 55.5)],
)
def test_kept_scores_are_the_specification_s(scores, kept):
    assert kept_score(scores) == kept


def test_trying_again_never_loses_improvement_pays_and_sooner_pays_more():
    rng = random.Random("attempts:1")
    for _ in range(2000):
        scores = [round(rng.uniform(0, 100), 1) for _ in range(rng.randint(0, 6))]
        kept, best = kept_score(scores), max(scores, default=0.0)
        again = round(rng.uniform(0, 100), 1)
        after = kept_score([*scores, again])
        assert after >= kept
        assert after <= 100
        if again >= best + 0.1 - 1e-9:
            assert after > kept
            assert after >= kept_score([*scores, 0.0, again])
        else:
            assert after == kept
        assert kept_score([*scores, again][:-1]) == kept


def test_attempts_after_the_fourth_are_worth_what_the_fourth_is():
    assert [attempt_weight(n) for n in (1, 2, 3, 4, 5, 50)] == [1, 0.9, 0.8, 0.7, 0.7, 0.7]
    with pytest.raises(ValueError, match="counted from 1"):
        attempt_weight(0)
