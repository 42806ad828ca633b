from dataclasses import replace

import pytest

from lessons.checks_marking import is_resolved, mark
from lessons.questions import option_key, parse_question

ONE = parse_question(
    "one", {"kind": "one"}, "A?\n- [ ] wrong\n  > It tempts.\n- [x] right\n  > It is.\n> Since."
)
MANY = parse_question(
    "many", {"kind": "many"}, "A?\n- [x] a\n- [x] b\n- [x] c\n- [ ] d\n  > d tempts.\n> Since."
)
NUMBER = parse_question(
    "number",
    {"kind": "number", "answer": "80", "within": "1 %"},
    "A?\n- 320\n  > The whole model.\n- otherwise\n  > Count again.\n> Since.",
)


def keys(*texts: str) -> list[str]:
    return [option_key(text) for text in texts]


def test_the_right_option_earns_and_the_wrong_one_hears_why_it_tempts():
    assert mark(ONE, keys("right")).right
    verdict = mark(ONE, keys("wrong"))
    assert (verdict.right, verdict.feedback) == (False, ("It tempts.",))


def test_several_options_are_right_only_together():
    assert mark(MANY, keys("a", "b", "c")).right
    assert not mark(MANY, keys("a", "b", "c", "d")).right


def test_what_is_missing_is_counted_not_named():
    assert mark(MANY, keys("a")).feedback == ("Right so far. 2 more belong.",)
    assert mark(MANY, keys("a", "b", "d")).feedback == (
        "d tempts.",
        "One more belongs on the list.",
    )


@pytest.mark.parametrize(
    ("typed", "right", "feedback"),
    [
        ("80", True, ()),
        ("80.7", True, ()),
        ("81", False, ("Count again.",)),
        ("320", False, ("The whole model.",)),
        ("0", False, ("Count again.",)),
    ],
)
def test_a_number_may_be_off_by_its_share_and_a_tempting_one_is_recognised(typed, right, feedback):
    verdict = mark(NUMBER, [typed])
    assert (verdict.right, verdict.feedback) == (right, feedback)


@pytest.mark.parametrize(
    ("question", "chosen"),
    [(ONE, []), (ONE, ["ffffffff"]), (ONE, keys("wrong", "right")), (NUMBER, []), (NUMBER, ["x"])],
)
def test_an_answer_that_the_question_does_not_offer_is_refused(question, chosen):
    with pytest.raises(ValueError):
        mark(question, chosen)


def test_a_check_is_resolved_by_a_right_answer_or_by_as_many_tries_as_it_takes():
    assert not is_resolved(ONE, [])
    assert not is_resolved(ONE, [False])
    assert is_resolved(ONE, [True])
    assert is_resolved(ONE, [False, False])
    longer = replace(ONE, tries=4)
    assert not is_resolved(longer, [False] * 3)
    assert is_resolved(longer, [False] * 4)
    assert is_resolved(replace(ONE, tries=1), [False])
