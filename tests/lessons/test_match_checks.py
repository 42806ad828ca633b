import pytest

from lessons.checks_marking import mark
from lessons.match_checks import settled
from lessons.question_body import QuestionError, option_key
from lessons.questions import parse_question
from tests.lessons.kinds import MATCH

ASKED = parse_question("m", {"kind": "match"}, MATCH)
LOADING, PREEMPTED, ANY_LOAD = (pair.text for pair in ASKED.matching.pairs)
WEIGHTS, POOL, WORKSPACE = "the weights of one shard", "the KV pool", "the workspace of one step"
RESERVE = "the allocator's reserve"


def answer(first: str, second: str, third: str) -> list[str]:
    rights = zip((LOADING, PREEMPTED, ANY_LOAD), (first, second, third), strict=True)
    return [f"{option_key(left)}:{option_key(right)}" for left, right in rights]


def test_both_lists_are_read_and_one_right_item_may_belong_to_none():
    assert {choice.text for choice in ASKED.matching.choices} == {WEIGHTS, POOL, WORKSPACE, RESERVE}
    assert len(ASKED.matching.pairs) == 3
    assert ASKED.explanation == "Phase first, ledger second."


def test_the_right_items_stand_in_an_order_that_the_lines_of_the_block_do_not_decide():
    lines = MATCH.splitlines()
    turned = "\n".join([*lines[:2], *lines[6:10], *lines[2:6], *lines[10:]])
    again = parse_question("m", {"kind": "match"}, turned)
    assert [p.text for p in again.matching.pairs] != [p.text for p in ASKED.matching.pairs]
    assert again.matching.choices == ASKED.matching.choices


def test_all_pairs_right_is_right_and_says_nothing_more():
    assert answer(WEIGHTS, POOL, WORKSPACE) == ASKED.right_answer
    verdict = mark(ASKED, ASKED.right_answer)
    assert (verdict.right, verdict.feedback) == (True, ())


def test_a_wrong_pair_hears_its_own_feedback_else_that_of_its_item():
    verdict = mark(ASKED, answer(POOL, RESERVE, WORKSPACE))
    assert not verdict.right
    assert verdict.feedback == (
        "1 of 3 pairs is right.",
        (
            f"“{LOADING}” with “{POOL}”: The pool is big, so it looks guilty. "
            "But it is cut only after the weights lie there."
        ),
        f"“{PREEMPTED}” with “{RESERVE}”: Preemption frees blocks of one ledger line only.",
    )


def test_the_right_pairs_of_a_wrong_answer_are_settled():
    right_pair = {option_key(ANY_LOAD): option_key(WORKSPACE)}
    assert settled(ASKED.matching, answer(POOL, RESERVE, WORKSPACE)) == right_pair
    assert settled(ASKED.matching, ["80"]) == {}


@pytest.mark.parametrize(
    "chosen",
    [
        [],
        ["x"],
        answer(WEIGHTS, POOL, WORKSPACE)[:2],
        answer(WEIGHTS, POOL, "nothing that is offered"),
        [*answer(WEIGHTS, POOL, WORKSPACE), answer(POOL, POOL, POOL)[0]],
    ],
)
def test_an_answer_that_does_not_join_each_item_with_one_offered_is_refused(chosen):
    with pytest.raises(ValueError):
        mark(ASKED, chosen)


@pytest.mark.parametrize(
    ("items", "line", "words"),
    [
        ("- a => 1\n  > t\n- b\n  > t", 3, "write “- left => right”"),
        ("- a => 1\n  > t\n- [x] b => 2\n  > t", 3, "without a box"),
        ("- a => 1\n- b => 2\n  > t", 1, "“a” has no feedback"),
        ("- a => 1\n  > t\n- a => 2\n  > t", 1, "“a” stands on the left twice"),
        ("- a => 1\n  > t\n- => 2\n  > t", 3, "belongs to none"),
        ("- a => 1\n  > t\n- => 2", 0, "two items or more"),
        ("- a => 1\n  > t\n- b => 1\n  > t", 0, "two items or more"),
        ("- a => 1\n  > t\n  - 3\n    > t\n- b => 2\n  > t", 3, "no right item"),
        ("- a => 1\n  > t\n  - 1\n    > t\n- b => 2\n  > t", 3, "tempts and is right"),
        ("- a => 1\n  > t\n  - 2\n- b => 2\n  > t", 3, "“2” has no feedback"),
        (f"- a => {'x' * 61}\n  > t\n- b => 2\n  > t", 1, "too long to choose"),
    ],
)
def test_a_match_that_cannot_be_asked_names_its_line(items, line, words):
    with pytest.raises(QuestionError, match=words) as caught:
        parse_question("m", {"kind": "match"}, f"Ask?\n{items}\n> Since.")
    assert caught.value.line == line
