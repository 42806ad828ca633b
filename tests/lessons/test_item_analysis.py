"""What a class's answers say of a check, held to numbers that can be worked out by hand."""

import random

import pytest

from lessons.item_analysis import LEAST, Tries, analysed, fisher

OPTIONS = {"item": {"right": True, "wrong": False, "odd": False}}


def tries(learner, item, *answers):
    return Tries(
        learner,
        item,
        tuple((each,) for each in answers),
        tuple(each == "right" for each in answers),
    )


def classroom(strength, rights=lambda learner: learner % 2 == 0, n=20):
    """``n`` learners: of six other checks each is right at once at ``strength(learner)`` of them."""
    rows = []
    for learner in range(n):
        rows.append(tries(learner, "item", "right" if rights(learner) else "wrong"))
        rows += [
            tries(learner, f"other-{k}", "right" if k < strength(learner) else "wrong")
            for k in range(6)
        ]
    return analysed(rows, OPTIONS)["item"]


def test_below_ten_learners_nothing_is_said():
    assert analysed([tries(k, "item", "right") for k in range(LEAST - 1)], OPTIONS) == {}
    assert analysed([tries(k, "item", "right") for k in range(LEAST)], OPTIONS)["item"].n == LEAST


def test_the_facility_counts_first_tries_and_has_an_interval():
    rows = [tries(k, "item", *(["right"] if k < 6 else ["wrong", "right"])) for k in range(10)]
    found = analysed(rows, OPTIONS)["item"]
    assert found.facility == 0.6
    assert found.interval == pytest.approx((0.352, 0.806), abs=0.01)  # Wilson, 90 %.
    assert (found.tries_to_right, found.never) == (1, 0)


def test_a_check_that_the_strong_get_right_discriminates_fully():
    found = classroom(lambda k: 6 if k % 2 == 0 else 0)
    assert found.discrimination == pytest.approx(1.0)
    assert found.upper_lower == 1.0
    assert found.flags == ("1 wrong answer tempts nobody.",)


def test_a_check_that_the_weak_get_right_is_flagged_twice():
    found = classroom(lambda k: 0 if k % 2 == 0 else 6)
    assert found.discrimination == pytest.approx(-1.0)
    assert "Those who know the rest do hardly better here than those who do not." in found.flags
    assert "A wrong answer draws more of the strongest than the right one does." in found.flags


def test_the_item_itself_is_left_out_of_the_total():
    draws = random.Random("independent")
    found = classroom(lambda _: draws.choice(range(7)), lambda _: draws.random() < 0.5, n=2000)
    assert abs(found.discrimination) < 0.06  # With itself in the total it would be about 0.2.


def test_who_answered_too_few_others_counts_in_the_facility_only():
    rows = [tries(k, "item", "right" if k % 2 else "wrong") for k in range(12)]
    found = analysed(rows, OPTIONS)["item"]
    assert (found.facility, found.discrimination, found.upper_lower) == (0.5, None, None)


def test_options_are_counted_by_the_first_try_also_those_that_nobody_took():
    rows = [tries(k, "item", "wrong" if k < 3 else "right") for k in range(10)]
    found = analysed(rows, OPTIONS)["item"]
    assert [(each.key, each.count) for each in found.chosen] == [
        ("right", 7),
        ("wrong", 3),
        ("odd", 0),
    ]


def test_a_low_correlation_of_few_is_not_flagged_and_one_of_many_is():
    assert fisher(0.0, 28) == pytest.approx((-0.318, 0.318), abs=0.001)  # tanh(1.6449 / 5)
    draws = random.Random("few")
    few = classroom(lambda _: draws.choice(range(7)), lambda _: draws.random() < 0.5, n=12)
    many = classroom(lambda _: draws.choice(range(7)), lambda _: draws.random() < 0.5, n=400)
    told = "Those who know the rest do hardly better here than those who do not."
    assert told not in few.flags
    assert told in many.flags


@pytest.mark.parametrize(
    ("rights", "says"),
    [(1, "Fewer than one in five"), (20, "Nearly everybody is right at once")],
)
def test_what_is_too_hard_or_too_easy_is_flagged(rights, says):
    found = classroom(lambda k: k % 7, lambda k: k < rights)
    assert any(flag.startswith(says) for flag in found.flags)


def test_what_has_no_options_lists_its_answers_by_how_often_they_came():
    rows = [tries(k, "text", "right" if k < 4 else "ttft") for k in range(10)]
    found = analysed(rows, {})["text"]
    assert [(each.key, each.count) for each in found.chosen] == [("ttft", 6), ("right", 4)]
