"""Hints: one after the other, after a wait or a wrong try, paid once; and tries that are never spent twice."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from lessons import hints, progress, record, repeats
from lessons.models import CheckHint, CheckTry
from lessons.spacing import Item
from tests.lessons.conftest import HTMX

pytestmark = pytest.mark.django_db
FIRST, SECOND = "All who wait have come since the oldest", "47 wait, and the oldest came"
WRONG, RIGHT = ["47"], ["43"]
KEY = "a-number"
PAGE = "/lessons/kinds/asked/"
HINT = "/lessons/kinds/checks/a-number/hint/"
ANSWER = "/lessons/kinds/checks/a-number/"


@pytest.fixture
def check(kinds):
    return kinds.station("asked").checks[KEY]


@pytest.fixture
def at():
    return timezone.now()


def ask(learner, kinds, check, number, now):
    return hints.ask_hint(learner, kinds, check, number, now=now)


def answer(learner, kinds, check, said, now=None, number=None):
    return progress.answer_check(learner, kinds, check, said, number=number, now=now)


def opened(learner, kinds, check, now) -> int:
    wrong = CheckTry.objects.filter(learner=learner, right=False).count()
    return hints.open_count(hints.hints_at(learner, kinds, check), now, wrong)


def after(at, seconds):
    return at + timedelta(seconds=seconds)


# --------------------------------------------------------------------------------- one after the other


def test_a_hint_opens_after_its_wait(learner, kinds, check, at):
    ask(learner, kinds, check, 1, at)
    assert opened(learner, kinds, check, after(at, 4)) == 0
    assert opened(learner, kinds, check, after(at, 5)) == 1


def test_a_wrong_try_opens_it_at_once(learner, kinds, check, at):
    ask(learner, kinds, check, 1, at)
    answer(learner, kinds, check, WRONG, at)
    assert opened(learner, kinds, check, at) == 1
    assert ask(learner, kinds, check, 2, at).opens_at == after(at, 5)


def test_the_next_can_be_asked_for_only_when_the_one_before_is_open(learner, kinds, check, at):
    with pytest.raises(hints.NoHintError):
        ask(learner, kinds, check, 2, at)
    ask(learner, kinds, check, 1, at)
    with pytest.raises(hints.NoHintError):
        ask(learner, kinds, check, 2, after(at, 4))
    assert ask(learner, kinds, check, 2, after(at, 5)).number == 2


@pytest.mark.parametrize("number", [0, 3, 99])
def test_what_there_is_not_is_refused_and_stores_nothing(learner, kinds, check, at, number):
    for each in (1, 2):
        ask(learner, kinds, check, each, after(at, 10 * each))
    with pytest.raises(hints.NoHintError):
        ask(learner, kinds, check, number, after(at, 60))
    assert CheckHint.objects.count() == 2


def test_a_resolved_check_gives_no_hint(learner, kinds, check, at):
    answer(learner, kinds, check, RIGHT, at)
    with pytest.raises(hints.NoHintError):
        ask(learner, kinds, check, 1, at)


def test_another_persons_hint_is_not_mine(learner, another_learner, kinds, check, at):
    ask(learner, kinds, check, 1, at)
    assert hints.hints_at(another_learner, kinds, check) == []
    with pytest.raises(hints.NoHintError):
        ask(another_learner, kinds, check, 2, after(at, 60))


# ------------------------------------------------------------------------------------------ the price


def shown(learner):
    return record.first_tries(record.progress_everywhere(learner))[("kinds", KEY)]


def comes_back(learner) -> bool:
    scheduled = [each.item for each in repeats.scheduled_for(learner)]
    return Item("check", "kinds", KEY) in scheduled


def test_a_first_try_with_an_open_hint_shows_nothing_and_comes_back(learner, kinds, check, at):
    ask(learner, kinds, check, 1, at)
    row = answer(learner, kinds, check, RIGHT, after(at, 5))
    assert (row.right, row.hints) == (True, 1)
    assert not shown(learner)
    assert comes_back(learner)


def test_who_answers_before_the_hint_opens_has_paid_nothing(learner, kinds, check, at):
    ask(learner, kinds, check, 1, at)
    row = answer(learner, kinds, check, RIGHT, after(at, 4))
    assert (row.right, row.hints) == (True, 0)
    assert shown(learner)
    assert not comes_back(learner)


# --------------------------------------------------------------------------------- never spent twice


def test_the_same_answer_sent_twice_is_one_try(learner, kinds, check):
    first = answer(learner, kinds, check, WRONG, number=1)
    assert answer(learner, kinds, check, WRONG, number=1) == first
    assert CheckTry.objects.count() == 1
    answer(learner, kinds, check, RIGHT, number=2)
    # The response was lost: the same is sent again although the check is resolved by now.
    assert answer(learner, kinds, check, RIGHT, number=2).number == 2
    assert CheckTry.objects.count() == 2


def test_another_answer_from_an_old_window_is_not_counted(learner, kinds, check):
    answer(learner, kinds, check, WRONG, number=1)
    with pytest.raises(progress.AnsweredFirstError):
        answer(learner, kinds, check, ["99"], number=1)
    assert CheckTry.objects.count() == 1


def test_no_more_tries_than_the_author_allows(learner, kinds, check):
    for number in (1, 2, 3):
        answer(learner, kinds, check, WRONG, number=number)
    with pytest.raises(progress.AlreadyResolvedError):
        answer(learner, kinds, check, WRONG, number=4)
    assert CheckTry.objects.count() == 3


@pytest.fixture
def stale(monkeypatch):
    """Let a transaction read once what was true before another one wrote: of two at once, the slower one."""

    def arrange(module, name, was):
        real, waiting = getattr(module, name), [was]
        monkeypatch.setattr(module, name, lambda *a: waiting.pop() if waiting else real(*a))

    return arrange


def test_of_two_tries_at_once_one_is_kept(learner, kinds, check, stale):
    answer(learner, kinds, check, WRONG, number=1)
    stale(progress, "tries_at", [])
    with pytest.raises(progress.AnsweredFirstError):
        answer(learner, kinds, check, ["99"], number=1)
    assert list(CheckTry.objects.values_list("number", "answer")) == [(1, WRONG)]


def test_two_clicks_at_once_are_one_try(learner, kinds, check, stale):
    first = answer(learner, kinds, check, WRONG, number=1)
    stale(progress, "tries_at", [])
    assert answer(learner, kinds, check, WRONG, number=1) == first
    assert CheckTry.objects.count() == 1


def test_two_last_tries_at_once_never_exceed_the_limit(learner, kinds, check, stale):
    before = [answer(learner, kinds, check, WRONG, number=number) for number in (1, 2)]
    answer(learner, kinds, check, ["98"], number=3)
    stale(progress, "tries_at", before)
    with pytest.raises(progress.AnsweredFirstError):
        answer(learner, kinds, check, ["99"], number=3)
    assert CheckTry.objects.count() == check.tries


def test_of_two_asked_for_at_once_one_hint_is_spent(learner, kinds, check, at, stale):
    row = ask(learner, kinds, check, 1, at)
    stale(hints, "hints_at", [])
    assert ask(learner, kinds, check, 1, after(at, 3)) == row
    # A second click, or a response that was lost.
    assert ask(learner, kinds, check, 1, after(at, 4)) == row
    assert list(CheckHint.objects.values_list("opens_at", flat=True)) == [after(at, 5)]


# ------------------------------------------------------------------------------------------- the page


def html_of(response) -> str:
    return response.content.decode()


def test_no_page_holds_a_hint_before_it_is_open_or_says_how_many_there_are(
    learner_client, client, kinds
):
    pages = [client.get(PAGE), learner_client.get(PAGE), learner_client.get(HINT, **HTMX)]
    pages.append(learner_client.post(HINT, {"hint": "1"}, **HTMX))
    pages.append(learner_client.get(PAGE))
    for page in map(html_of, pages):
        assert FIRST not in page
        assert SECOND not in page
        assert "of 2" not in page
    assert "Ask for a hint" not in html_of(pages[0])
    assert "comes back in 2 days" in html_of(pages[1])
    assert "opens in 5&nbsp;s" in html_of(pages[3])
    assert 'hx-trigger="load delay:5s"' in html_of(pages[3])


def test_an_open_hint_is_read_and_the_next_one_costs_nothing_more(learner_client, kinds):
    learner_client.post(HINT, {"hint": "1"}, **HTMX)
    CheckHint.objects.update(opens_at=timezone.now())
    html = html_of(learner_client.get(HINT, **HTMX))
    assert FIRST in html
    assert SECOND not in html
    assert "Ask for another hint" in html
    assert "costs nothing more" in html


def test_only_asking_tells_that_there_is_no_other_hint(learner_client, kinds):
    for number in ("1", "2"):
        learner_client.post(HINT, {"hint": number}, **HTMX)
        CheckHint.objects.update(opens_at=timezone.now())
    html = html_of(learner_client.get(PAGE))
    assert SECOND in html
    assert "Ask for another hint" in html
    html = html_of(learner_client.post(HINT, {"hint": "3"}, **HTMX))
    assert "There is no other hint here. Nothing was spent." in html
    assert CheckHint.objects.count() == 2


def test_without_javascript_what_stands_in_the_form_is_kept(learner_client, kinds):
    response = learner_client.post(HINT, {"hint": "1", "answer": "eighty", "try": "1"})
    html = html_of(response)
    assert response.status_code == 200
    assert 'value="eighty"' in html
    assert "opens in 5&nbsp;s" in html
    assert "Write a number" not in html
    assert not CheckTry.objects.exists()


def test_looking_again_without_javascript_leads_to_the_check(learner_client, kinds):
    assert learner_client.get(HINT).headers["Location"].endswith("asked/#check-a-number")


def test_a_resolved_check_keeps_the_hints_that_were_opened(learner_client, kinds):
    learner_client.post(HINT, {"hint": "1"}, **HTMX)
    CheckHint.objects.update(opens_at=timezone.now())
    html = html_of(learner_client.post(ANSWER, {"answer": "43", "try": "1"}, **HTMX))
    assert "The hints that you opened" in html
    assert FIRST in html
    assert SECOND not in html
    assert "Ask for" not in html


def test_a_check_without_hints_has_no_address_for_them(learner_client, kinds):
    assert (
        learner_client.post("/lessons/kinds/checks/a-text/hint/", {"hint": "1"}).status_code == 404
    )
    assert "hints" not in html_of(learner_client.get(PAGE)).partition('id="check-a-text"')[2].partition("</section>")[0]  # fmt: skip


def test_a_visitor_asks_for_nothing(client, kinds):
    assert client.post(HINT, {"hint": "1"}).status_code == 302
    assert not CheckHint.objects.exists()


@pytest.mark.parametrize("extra", [{}, HTMX])
def test_a_page_that_is_behind_says_so_and_keeps_what_was_typed(learner_client, kinds, extra):
    learner_client.post(ANSWER, {"answer": "47", "try": "1"})
    response = learner_client.post(ANSWER, {"answer": "99", "try": "1"}, **extra)
    html = html_of(response)
    assert response.status_code == 422
    assert "Another answer of yours came in first" in html
    assert 'value="99"' in html
    assert 'name="try" value="2"' in html
    assert CheckTry.objects.count() == 1


def test_a_page_says_how_many_tries_there_are(learner_client, kinds):
    assert "Three tries, all of them kept." in html_of(learner_client.get(PAGE))
    html = html_of(learner_client.post(ANSWER, {"answer": "47", "try": "1"}, **HTMX))
    assert "Two tries are left" in html
    html = html_of(learner_client.post(ANSWER, {"answer": "48", "try": "2"}, **HTMX))
    assert "The next try is the last" in html
    html = html_of(learner_client.post(ANSWER, {"answer": "49", "try": "3"}, **HTMX))
    assert "third answer" in html
    assert "Little&#x27;s law" in html or "Little's law" in html


def test_ones_own_data_has_the_hints(learner_client, kinds):
    learner_client.post(HINT, {"hint": "1"})
    learner_client.post(ANSWER, {"answer": "43", "try": "1"})
    rows = learner_client.get(reverse("you:data")).json()["lessons"]
    assert rows["check_hints"][0]["number"] == 1
    assert rows["check_tries"][0]["hints"] == 0
