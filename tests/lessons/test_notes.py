import pytest
from django.urls import reverse

from lessons import notes
from lessons.models import StationNote
from lessons.person_forms import NOTE
from tests.lessons.conftest import LESSON

pytestmark = pytest.mark.django_db
FIRST, SECOND = LESSON.stations[:2]
PAGE = "/you/notes/"


def note_at(station=FIRST) -> str:
    return reverse("you:note", args=[LESSON.slug, station.slug])


def html_of(client, address) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return response.content.decode()


def test_a_note_is_saved_and_stands_at_its_station_again(learner_client, at):
    response = learner_client.post(note_at(), {"text": "ask for the queue's age first\r\n"})
    assert response["Location"] == at.station(FIRST.slug) + "#note"
    html = html_of(learner_client, at.station(FIRST.slug))
    assert "ask for the queue&#x27;s age first</textarea>" in html
    assert "Note saved" in html
    assert StationNote.objects.get().bookmarked_at is None


def test_the_bookmarks_button_keeps_what_is_typed(learner_client, at):
    learner_client.post(note_at(), {"text": "half a thought", "bookmark": "yes"})
    row = StationNote.objects.get()
    assert row.text == "half a thought"
    assert row.bookmarked_at is not None
    assert "Take the bookmark away" in html_of(learner_client, at.station(FIRST.slug))
    learner_client.post(note_at(), {"text": "half a thought", "bookmark": "no"})
    row.refresh_from_db()
    assert row.bookmarked_at is None


def test_saving_a_note_leaves_the_bookmark_as_it_is(learner):
    notes.keep(learner, LESSON, FIRST, text="", bookmarked=True)
    assert notes.keep(learner, LESSON, FIRST, text="more").bookmarked_at is not None
    assert StationNote.objects.count() == 1


def test_all_notes_stand_on_one_page_newest_first(learner, learner_client):
    assert "Nothing kept yet" in html_of(learner_client, PAGE)
    notes.keep(learner, LESSON, SECOND, text="second")
    notes.keep(learner, LESSON, FIRST, text="", bookmarked=True)
    notes.keep(learner, LESSON, SECOND, text="second, once more")
    assert [each.station for each in notes.all_kept(learner)] == [SECOND, FIRST]
    html = html_of(learner_client, PAGE)
    assert "second, once more" in html
    assert html.index(SECOND.title) < html.index(FIRST.title)


def test_an_emptied_note_and_a_station_that_is_no_more_are_left_out(learner):
    notes.keep(learner, LESSON, FIRST, text="gone soon")
    notes.keep(learner, LESSON, FIRST, text=" ")
    StationNote.objects.create(learner=learner, lesson=LESSON.slug, station="nope", text="lost")
    assert notes.all_kept(learner) == []


def test_a_note_is_text_and_never_markup(learner, learner_client, at):
    notes.keep(learner, LESSON, FIRST, text="</textarea><b>x</b>")
    for address in (PAGE, at.station(FIRST.slug)):
        assert "<b>x</b>" not in html_of(learner_client, address)


def test_a_note_that_is_too_long_is_refused_and_kept_in_the_field(learner_client):
    fits = "a\r\n" * (NOTE // 2)
    assert learner_client.post(note_at(), {"text": fits}).status_code == 302
    response = learner_client.post(note_at(), {"text": "b" * (NOTE + 1)})
    assert response.status_code == 422
    html = response.content.decode()
    assert "4,000 characters at most" in html
    assert "b" * (NOTE + 1) in html
    assert StationNote.objects.get().text.startswith("a")


def test_nobody_sees_or_changes_anothers_note(learner, learner_client, another_learner_client, at):
    notes.keep(learner, LESSON, FIRST, text="mine alone", bookmarked=True)
    for address in (PAGE, at.station(FIRST.slug)):
        assert "mine alone" not in html_of(another_learner_client, address)
    another_learner_client.post(note_at(), {"text": "theirs", "bookmark": "no"})
    assert StationNote.objects.get(learner=learner).text == "mine alone"
    assert StationNote.objects.count() == 2


def test_a_visitor_has_no_notes(client, at):
    assert 'id="note"' not in html_of(client, at.station(FIRST.slug))
    assert client.post(note_at(), {"text": "x"}).status_code == 403
    assert StationNote.objects.count() == 0


def test_a_station_that_does_not_exist_takes_no_note(learner_client):
    for place in (("nope", FIRST.slug), (LESSON.slug, "nope")):
        address = reverse("you:note", args=place)
        assert learner_client.post(address, {"text": "x"}).status_code == 404
