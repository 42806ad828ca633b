import pytest

from lessons.checks_marking import mark
from lessons.question_body import QuestionError
from lessons.questions import parse_question
from tests.lessons.kinds import TEXT

ASKED = parse_question("t", {"kind": "text"}, TEXT)


@pytest.mark.parametrize(
    "typed",
    ["--max-num-seqs", "`--max-num-seqs`", "  --MAX-num-seqs ", "-- max-num-seqs", "max_num_seqs"],
)
def test_case_spaces_and_backticks_do_not_count(typed):
    assert mark(ASKED, [typed]).right


@pytest.mark.parametrize(
    ("typed", "feedback"),
    [
        ("--max-num-batched-tokens", "It caps tokens in a step"),
        ("`--Max-Num-Batched-Tokens`", "It caps tokens in a step"),
        ("--max-model-len", "Look for the flag whose unit is sequences."),
        ("-max-num-seqs", "Look for the flag whose unit is sequences."),
    ],
)
def test_a_tempting_text_is_recognised_and_any_other_hears_the_rest(typed, feedback):
    verdict = mark(ASKED, [typed])
    assert not verdict.right
    assert verdict.feedback[0].startswith(feedback)


def test_the_first_accepted_text_is_the_one_that_is_shown():
    assert ASKED.right_answer == ["`--max-num-seqs`"]


@pytest.mark.parametrize("chosen", [[], [" ` "], ["a", "b"]])
def test_an_answer_that_says_nothing_is_refused(chosen):
    with pytest.raises(ValueError):
        mark(ASKED, chosen)


@pytest.mark.parametrize(
    ("items", "line", "words"),
    [
        ("- [ ] a\n  > t\n- otherwise\n  > t", 0, "no answer is accepted"),
        ("- [x] a", 0, "“- otherwise” once"),
        ("- [x] a\n- b\n  > t\n- otherwise\n  > t", 2, "a box at every other item"),
        ("- [x] a\n  > t\n- otherwise\n  > t", 1, "in the explanation"),
        ("- [x] a\n- otherwise", 2, "“otherwise” has no feedback"),
        ("- [x] a b\n- [ ] `A B`\n  > t\n- otherwise\n  > t", 2, "stands here twice"),
        ("- [x] ` `\n- otherwise\n  > t", 1, "empty"),
        (f"- [x] {'a' * 101}\n- otherwise\n  > t", 1, "too long to type"),
    ],
)
def test_a_text_that_cannot_be_asked_names_its_line(items, line, words):
    with pytest.raises(QuestionError, match=words) as caught:
        parse_question("t", {"kind": "text"}, f"Ask?\n{items}\n> Since.")
    assert caught.value.line == line
