from itertools import permutations

import pytest

from lessons.checks_marking import mark
from lessons.question_body import QuestionError, option_key
from lessons.questions import parse_question
from tests.lessons.kinds import ORDER

ASKED = parse_question("o", {"kind": "order"}, ORDER)
TEXTS = [item.text for item in ASKED.ordering.items]
WEIGHTS, PASS, GRAPHS, POOL = TEXTS


def keys(*texts: str) -> list[str]:
    return [option_key(text) for text in texts]


def test_the_items_are_read_in_the_right_order():
    assert TEXTS[0] == "the weights"
    assert ASKED.ordering.items[0].feedback == ""
    assert ASKED.ordering.items[3].feedback == "It gets what all others have left."


@pytest.mark.parametrize("texts", list(permutations("abc")))
def test_the_items_are_never_offered_in_the_right_order(texts):
    first, *others = texts
    items = f"1. {first}\n" + "".join(f"{n}. {t}\n   > why\n" for n, t in enumerate(others, 2))
    ordering = parse_question("o", {"kind": "order"}, f"Ask?\n{items}> Since.").ordering
    assert set(ordering.offered) == set(ordering.items)
    assert ordering.offered != ordering.items


def test_the_right_order_is_right():
    assert ASKED.right_answer == keys(*TEXTS)
    assert mark(ASKED, ASKED.right_answer).right


def test_only_neighbours_that_are_the_wrong_way_round_are_named():
    verdict = mark(ASKED, keys(WEIGHTS, GRAPHS, PASS, POOL))
    assert not verdict.right
    assert verdict.feedback == (
        (
            f"“{GRAPHS}” stands right before “{PASS}”, and must follow it. "
            "What is captured has run once before."
        ),
    )


def test_an_item_far_too_early_is_named_with_its_neighbour_only():
    verdict = mark(ASKED, keys(POOL, WEIGHTS, PASS, GRAPHS))
    (words,) = verdict.feedback
    assert WEIGHTS in words
    assert PASS not in words
    assert GRAPHS not in words


@pytest.mark.parametrize("order", [p for p in permutations(TEXTS) if list(p) != TEXTS])
def test_every_other_order_is_wrong_and_hears_of_a_neighbour(order):
    verdict = mark(ASKED, keys(*order))
    assert not verdict.right
    assert verdict.feedback


@pytest.mark.parametrize(
    "chosen", [[], keys(*TEXTS[:3]), keys(*TEXTS[:3], WEIGHTS), ["x", "y", "z", "w"]]
)
def test_an_answer_without_one_place_for_each_item_is_refused(chosen):
    with pytest.raises(ValueError):
        mark(ASKED, chosen)


@pytest.mark.parametrize(
    ("items", "line", "words"),
    [
        ("1. a\n2. b\n   > t\n2. c\n   > t", 4, "“c” has number 2: write 3"),
        ("1. a\n2. b\n3. c\n   > t", 2, "“b” has no feedback"),
        ("1. a\n   > t\n2. b\n   > t\n3. c\n   > t", 1, "“a” is first"),
        ("1. a\n2. b\n   > t", 0, "3 items or more"),
        ("1. a\n2. b\n   > t\n3. b\n   > t", 0, "same text"),
        ("- a\n- b\n- c", 0, "3 items or more"),
    ],
)
def test_an_order_that_cannot_be_asked_names_its_line(items, line, words):
    with pytest.raises(QuestionError, match=words) as caught:
        parse_question("o", {"kind": "order"}, f"Ask?\n{items}\n> Since.")
    assert caught.value.line == line
