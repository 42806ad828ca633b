import re

import pytest
from django.urls import reverse

from lessons.models import CheckTry
from lessons.question_body import option_key
from tests.lessons.conftest import HTMX
from tests.lessons.kinds import BODIES

pytestmark = pytest.mark.django_db
PAGE = "/lessons/kinds/asked/"
WRONG = {
    "match": ["the KV pool", "the KV pool", "the KV pool"],
    "order": ["the KV pool", "the weights", "the captured graphs"],
    "text": {"answer": "--max-model-len"},
    "number": {"answer": "40 /s"},
}
"""For a match what is joined with each, for an order what stands first; the rest follows as it is."""


def send(client, key: str, sent: dict[str, str], **extra):
    return client.post(reverse("lessons:answer", args=["kinds", f"a-{key}"]), sent, **extra)


def sent_of(question, answer: list[str]) -> dict[str, str]:
    """Return what a form sends for an answer as a try holds it."""
    if question.matching:
        return {f"pair-{pair}": right for pair, right in (entry.split(":") for entry in answer)}
    if question.ordering:
        return {f"place-{key}": str(place) for place, key in enumerate(answer, 1)}
    return {"answer": answer[0]}


def wrong_of(question) -> dict[str, str]:
    wrong = WRONG[question.kind]
    if question.matching:
        pairs = zip(question.matching.pairs, wrong, strict=True)
        return {f"pair-{pair.key}": option_key(text) for pair, text in pairs}
    if question.ordering:
        first = [option_key(text) for text in wrong]
        rest = [item.key for item in question.ordering.items if item.key not in first]
        return sent_of(question, first + rest)
    return wrong


def assert_nothing_is_told(question, html: str, *, given: str = "") -> None:
    """The page holds no right answer; ``given`` is the right item of pairs that the learner gave."""
    assert question.explanation[:30] not in html
    if question.matching:
        shown = set(re.findall(r'class="with">with</span> (.*?) <b', html))
        assert shown <= {given}
        assert "selected" not in html
    if question.ordering:
        places = [html.index(f">{item.text}</") for item in question.ordering.items]
        assert places != sorted(places)
    if question.short_text:
        assert not any(text.strip("`") in html for text in question.short_text.accepted)
    if question.kind == "number":
        assert not re.search(r"\b43\b", html)


# ----------------------------------------------------------------------------------------- secrecy


@pytest.mark.parametrize("kind", BODIES)
def test_no_page_holds_a_right_answer_before_the_check_is_resolved(
    client, learner_client, kinds, kind
):
    question = kinds.station("asked").checks[f"a-{kind}"]
    answers = [
        client.get(PAGE),
        learner_client.get(PAGE),
        send(learner_client, kind, {}, **HTMX),
        send(learner_client, kind, {}),
        send(learner_client, kind, wrong_of(question), **HTMX),
        send(learner_client, kind, {}, **HTMX),
        learner_client.get(PAGE),
    ]
    assert [answer.status_code for answer in answers] == [200, 200, 422, 422, 200, 422, 200]
    for answer in answers:
        html = answer.content.decode()
        card = html[html.index(f'id="check-a-{kind}"') :].partition("</section>")[0]
        assert_nothing_is_told(question, card, given="the KV pool")
    assert CheckTry.objects.count() == 1


@pytest.mark.parametrize("kind", BODIES)
def test_feedback_that_was_not_earned_is_not_in_the_page(learner_client, kinds, kind):
    question = kinds.station("asked").checks[f"a-{kind}"]
    said = re.findall(r"^ +> (.{20,})$", BODIES[kind], re.MULTILINE)
    html = learner_client.get(PAGE).content.decode()
    assert not any(line in html for line in said)
    html = send(learner_client, kind, wrong_of(question), **HTMX).content.decode()
    assert any(line in html for line in said)
    assert not all(line in html for line in said)


@pytest.mark.parametrize("kind", BODIES)
def test_a_right_answer_explains_itself(learner_client, kinds, kind):
    question = kinds.station("asked").checks[f"a-{kind}"]
    sent = sent_of(question, question.right_answer)
    html = send(learner_client, kind, sent, **HTMX).content.decode()
    assert question.explanation in html
    assert "Your first answer" in html
    assert "<select" not in html


@pytest.mark.parametrize("kind", BODIES)
def test_the_last_wrong_try_is_answered_with_what_is_right(learner_client, kinds, kind):
    question = kinds.station("asked").checks[f"a-{kind}"]
    for _ in range(question.tries):
        response = send(learner_client, kind, wrong_of(question), **HTMX)
    html = response.content.decode()
    assert question.explanation in html
    told = {
        "match": "the workspace of one step <b",
        "order": '<span class="mono">4</span><span>the KV pool <b class="given">your first and second answer: 1',
        "text": '<code><span class="nb">--max</span>-num-seqs</code> <b',
        "number": "43 /s <b",
    }
    assert told[kind] in html


@pytest.mark.parametrize("kind", BODIES)
def test_a_visitor_reads_the_question_and_is_told_how_to_answer(client, kinds, kind):
    html = client.get(PAGE).content.decode()
    card = html[html.index(f'id="check-a-{kind}"') :].partition("</section>")[0]
    assert "Sign in to answer" in card
    assert "<select" not in card
    assert "<input" not in card


def test_the_script_that_moves_items_is_loaded_only_where_an_order_is_asked(client, kinds, at):
    assert "js/order.js" in client.get(PAGE).content.decode()
    assert "js/order.js" not in client.get(at.station("boundary")).content.decode()


# ----------------------------------------------------------------------------------- the second try


def test_a_second_try_at_pairs_asks_only_for_what_was_missed(learner_client, kinds):
    question = kinds.station("asked").checks["a-match"]
    html = send(learner_client, "match", wrong_of(question), **HTMX).content.decode()
    _, settled, _ = question.matching.pairs
    assert html.count("<select") == 2
    assert f'name="pair-{settled.key}"' not in html
    assert "what was right stays" in html
    missed = [entry for entry in question.right_answer if not entry.startswith(settled.key)]
    html = send(learner_client, "match", sent_of(question, missed), **HTMX).content.decode()
    assert question.explanation in html
    assert list(CheckTry.objects.values_list("right", flat=True)) == [False, True]
    assert CheckTry.objects.last().answer == question.right_answer


def test_a_second_try_at_an_order_begins_where_the_first_ended(learner_client, kinds):
    question = kinds.station("asked").checks["a-order"]
    wrong = wrong_of(question)
    html = send(learner_client, "order", wrong, **HTMX).content.decode()
    assert re.findall(r'name="(place-\w+)"', html) == list(wrong)
    assert re.findall(r"<option selected>(\d)", html) == ["1", "2", "3", "4"]
    assert "stands right before" in html


def test_what_was_sent_comes_back_with_the_sentence(learner_client, kinds):
    question = kinds.station("asked").checks["a-match"]
    first, second, third = question.matching.pairs
    sent = {f"pair-{first.key}": third.right, f"pair-{second.key}": first.right}
    response = send(learner_client, "match", sent, **HTMX)
    html = response.content.decode()
    assert response.status_code == 422
    assert "Choose one for each." in html
    assert html.count(" selected") == 2
    assert html.count('aria-invalid="true"') == 1
    assert not CheckTry.objects.exists()


def test_a_number_with_another_unit_is_a_sentence_and_costs_no_try(learner_client, kinds):
    response = send(learner_client, "number", {"answer": "43 /min"}, **HTMX)
    assert response.status_code == 422
    assert b"Write the number in /s, not in /min." in response.content
    assert b'value="43 /min"' in response.content
    assert not CheckTry.objects.exists()
    assert b"Little" in send(learner_client, "number", {"answer": "43 /s"}, **HTMX).content


def test_a_try_at_a_question_that_has_changed_since_is_still_shown(learner_client, learner, kinds):
    for kind in BODIES:
        CheckTry.objects.create(
            learner=learner, lesson="kinds", check_key=f"a-{kind}", number=1,
            answer=["ffffffff", "eeeeeeee"], right=False,
        )  # fmt: skip
    html = learner_client.get(PAGE).content.decode()
    assert html.count("The question has changed since you answered it.") == len(BODIES)


def test_a_text_is_shown_as_text(learner_client, kinds):
    html = send(learner_client, "text", {"answer": "<b>x</b>"}, **HTMX).content.decode()
    assert "&lt;b&gt;x&lt;/b&gt;" in html
    assert "<b>x</b>" not in html
