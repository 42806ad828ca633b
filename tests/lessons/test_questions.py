import pytest

from lessons.question_body import QuestionError
from lessons.questions import parse_question

ONE = "Ask?\n\n- [ ] a\n  > tempts\n- [x] b\n> Because."


def test_a_question_keeps_options_feedback_and_explanation():
    question = parse_question("q", {"kind": "one"}, ONE)
    assert question.text == "Ask?"
    assert [(o.text, o.right, o.feedback) for o in question.options] == [
        ("a", False, "tempts"),
        ("b", True, ""),
    ]
    assert question.explanation == "Because."


def test_an_option_keeps_its_key_when_others_move():
    turned = "Ask?\n\n- [x] b\n- [ ] a\n  > tempts\n> Because."
    first = parse_question("q", {"kind": "one"}, ONE)
    second = parse_question("q", {"kind": "one"}, turned)
    assert {o.key for o in first.options} == {o.key for o in second.options}
    assert first.right_keys == second.right_keys


def test_hints_and_limits_are_read_with_the_question():
    body = "Ask?\n\n? Look here.\n\n- [ ] a\n  > tempts\n- [x] b\n? Look there.\n> Because."
    question = parse_question("q", {"kind": "one", "tries": "3", "wait": "45 s"}, body)
    assert question.hints == ("Look here.", "Look there.")
    assert (question.tries, question.wait_s) == (3, 45)
    assert (question.text, question.explanation) == ("Ask?", "Because.")
    plain = parse_question("q", {"kind": "one"}, ONE)
    assert (plain.tries, plain.hints) == (2, ())


@pytest.mark.parametrize(
    ("options", "body", "words"),
    [
        ({"kind": "one", "tries": "0"}, ONE, "write a number from 1 to 5"),
        ({"kind": "one", "tries": "many"}, ONE, "write a number from 1 to 5"),
        ({"kind": "one", "wait": "soon"}, f"{ONE}\n? a", "write seconds from 5 to 300"),
        ({"kind": "one", "wait": "1 s"}, f"{ONE}\n? a", "write seconds from 5 to 300"),
        ({"kind": "one", "wait": "45 s"}, ONE, "nothing waits"),
        ({}, ONE, "write one, many, number, match, order or text"),
        ({"kind": "one"}, "- [x] b\n- [ ] a\n  > t\n> e", "question is missing"),
        ({"kind": "one"}, "A?\n- [x] b\n- [ ] a\n  > t", "explanation is missing"),
        ({"kind": "one"}, "A?\n- [x] b\n- [ ] a\n> e", "“a” has no feedback"),
        ({"kind": "one"}, "A?\n- [ ] b\n  > t\n- [ ] a\n  > t\n> e", "no option is right"),
        ({"kind": "one"}, "A?\n- [x] b\n- [x] a\n> e", "kind: many"),
        ({"kind": "one"}, "A?\n- [x] b\n> e", "two options or more"),
        ({"kind": "one"}, "A?\n- [x] b\n- [ ] b\n  > t\n> e", "same text"),
        ({"kind": "one"}, "A?\n- [x] b\nstray\n> e", "text after the options"),
        ({"kind": "number"}, "A?\n- otherwise\n  > t\n> e", "needs an answer"),
        ({"kind": "number", "answer": "7"}, "A?\n- 8\n  > t\n> e", "otherwise"),
        ({"kind": "number", "answer": "= nope"}, "A?\n- otherwise\n  > t\n> e", "'nope'"),
        (
            {"kind": "number", "answer": "7", "within": "few"},
            "A?\n- otherwise\n  > t\n> e",
            "within",
        ),
        ({"kind": "number", "answer": "7"}, "A?\n- 7\n  > t\n- otherwise\n  > t\n> e", "is right"),
    ],
)
def test_a_check_that_cannot_be_asked_says_why(options, body, words):
    with pytest.raises(QuestionError, match=words):
        parse_question("q", options, body)


def test_a_check_may_say_which_layer_it_is_about():
    said = {"kind": "one", "layer": "boundary"}
    body = "Which?\n\n- [x] this\n- [ ] that\n  > no\n> since"
    assert parse_question("k", said, body).layer == "boundary"
    with pytest.raises(QuestionError, match="layer: 'gpu': write one of boundary, overload"):
        parse_question("k", {"kind": "one", "layer": "gpu"}, body)
