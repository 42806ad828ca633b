"""Keywords that learners unfold: kept once, compared with answers, shown to instructors without a name."""

from datetime import UTC, datetime, timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from courseware.models import User
from lessons import keywords, progress
from lessons.keyword_insight import LEAST, Answered, Before, Group, Opened, found_in, stations_of
from lessons.models import KeywordOpening
from tests.factories import UserFactory
from tests.lessons.conftest import LESSON

NOW = datetime(2027, 3, 1, 9, tzinfo=UTC)
STATION = LESSON.stations[0]
CHECK = "cold-rollout"
ADDRESS = reverse("lessons:opened", args=[LESSON.slug, STATION.slug])
PAGE = reverse("lessons:insight-keywords")


def opened(learner, term="TTFT", *, at=NOW, lesson="a"):
    return Opened(learner, lesson, "s", term, at)


def answered(learner, *, right, at=NOW + timedelta(hours=1), lesson="a"):
    return Answered(learner, lesson, "check", right, at)


# ---------------------------------------------------------------------------------------------- pure


def test_openers_stand_beside_the_others_with_both_shares():
    answers = [answered(n, right=n % 2 == 0) for n in range(10)]
    answers += [answered(n, right=True) for n in range(10, 30)]
    [row] = found_in(answers, [opened(n) for n in range(10)]).rows
    assert (row.opened, row.others) == (Group(5, 10), Group(0, 20))
    assert row.difference == 0.5
    low, high = row.could_be
    assert 0 < low < 0.5 < high
    assert row.is_beyond_chance


def test_below_ten_in_either_group_nothing_is_said():
    answers = [answered(n, right=False) for n in range(LEAST + 9)]
    assert found_in(answers, [opened(n) for n in range(LEAST)]).compared == 0
    assert found_in(answers, [opened(n) for n in range(LEAST - 1)]).compared == 0


def test_only_what_was_opened_before_the_answer_in_the_same_lesson_counts():
    answers = [answered(n, right=False) for n in range(20)]
    late = [opened(n, at=NOW + timedelta(hours=2)) for n in range(10)]
    other = [opened(n, lesson="b") for n in range(10)]
    assert found_in(answers, [*late, *other]).compared == 0


def test_answers_from_before_the_count_began_tell_nothing():
    early = [answered(n, right=False, at=NOW - timedelta(days=1)) for n in range(10, 30)]
    answers = [answered(n, right=False) for n in range(10)]
    assert found_in([*answers, *early], [opened(n) for n in range(10)]).compared == 0
    assert found_in(answers, []).since is None


def test_where_openers_do_better_there_is_no_row_but_the_pair_was_compared():
    answers = [answered(n, right=n < 10) for n in range(20)]
    found = found_in(answers, [opened(n) for n in range(10)])
    assert (found.compared, found.rows) == (1, ())


def test_newcombes_interval_is_that_of_his_paper():
    # Newcombe 1998, table II (a): 56/70 less 48/80; 95 % there, 90 % here, so ours lies within his.
    row = Before("a", "b", "", "c", Group(56, 70), Group(48, 80))
    low, high = row.could_be
    assert 0.0524 < low < 0.2 < high < 0.3339


def test_a_station_lists_what_most_readers_open_first():
    openings = [opened(n, "TTFT") for n in range(6)] + [opened(n, "KV pool") for n in range(8)]
    reads = {(n, "a", "s") for n in range(12)}
    found = stations_of(openings, reads)["a", "s"]
    assert (found.readers, found.terms) == (12, (("KV pool", 8), ("TTFT", 6)))
    assert stations_of(openings, set()) == {}


# ------------------------------------------------------------------------------------------- address


def test_an_unfolded_keyword_is_kept_once(learner, learner_client):
    for _ in range(3):
        assert learner_client.post(ADDRESS, {"term": "KV pool"}).status_code == 204
    row = KeywordOpening.objects.get()
    assert (row.learner, row.lesson, row.station) == (learner, LESSON.slug, STATION.slug)


def test_what_is_no_term_or_no_station_is_refused_and_visitors_are_not_recorded(
    db, client, learner_client
):
    answer = learner_client.post(ADDRESS, {"term": "no such term"})
    assert (answer.status_code, b"no such term; send" in answer.content) == (422, True)
    assert learner_client.post(ADDRESS).status_code == 422
    nowhere = reverse("lessons:opened", args=[LESSON.slug, "nowhere"])
    assert learner_client.post(nowhere, {"term": "KV pool"}).status_code == 404
    assert learner_client.get(ADDRESS).status_code == 405
    assert client.post(ADDRESS, {"term": "KV pool"}).status_code != 204
    assert not KeywordOpening.objects.exists()


def test_the_reader_tells_a_page_where_to_say_it_only_if_somebody_is_signed_in(
    client, learner_client, db
):
    station = reverse("lessons:station", args=[LESSON.slug, STATION.slug])
    assert f'data-opened="{ADDRESS}"' in learner_client.get(station).content.decode()
    page = client.get(station).content.decode()
    assert "data-opened" not in page
    assert "keywords.js" not in page


# ---------------------------------------------------------------------------------------------- page


def lose(count, *, right, opens, role=User.Role.LEARNER):
    question = LESSON.with_check(CHECK).checks[CHECK]
    wrong = next(option.key for option in question.options if not option.right)
    for _ in range(count):
        who = UserFactory(name="Somebody", role=role)
        progress.mark_read(who, LESSON, STATION)
        if opens:
            keywords.note_opened(who, LESSON, STATION, "KV pool")
        answer = question.right_answer if right else [wrong]
        progress.answer_check(who, LESSON, question, answer, number=1)


def test_only_instructors_look(client, learner_client, grader_client, instructor_client):
    assert client.get(PAGE).status_code == 302
    assert learner_client.get(PAGE).status_code == 403
    assert grader_client.get(PAGE).status_code == 403
    assert "No keyword has been recorded yet." in instructor_client.get(PAGE).content.decode()


@pytest.mark.django_db
def test_the_page_shows_both_shares_with_n_links_and_no_name(instructor_client):
    lose(10, right=False, opens=True)
    lose(10, right=True, opens=False)
    lose(3, right=False, opens=False, role=User.Role.INSTRUCTOR)
    page = instructor_client.get(PAGE).content.decode()
    assert "10 of 10" in page
    assert "0 of 10" in page
    assert "beyond chance" in page
    assert reverse("lessons:insight-item", args=[LESSON.slug, CHECK]) in page
    assert "50 %, 10" in page
    assert "Somebody" not in page


def test_an_opening_is_among_a_persons_data_and_goes_with_them(learner, learner_client):
    keywords.note_opened(learner, LESSON, STATION, "KV pool")
    [row] = learner_client.get("/you/data.json").json()["lessons"]["keywords_opened"]
    assert (row["term"], row["opened_at"] <= timezone.now().isoformat()) == ("KV pool", True)
    learner.delete()
    assert not KeywordOpening.objects.exists()
