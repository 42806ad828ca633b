"""The drill's page: it grows with each decision, and tells nothing before."""

import pytest

from lessons import drill_views, drilling
from lessons.drills.spec import drills
from lessons.models import DrillAttempt
from lessons.symptoms import symptoms

pytestmark = pytest.mark.django_db
SPEC = drills()["1.1"]
URL = "/drills/1.1/"


@pytest.fixture
def ada(client, django_user_model):
    user = django_user_model.objects.create_user("ada@example.org")
    client.force_login(user)
    return user


def post(client, step, **data):
    return client.post(f"{URL}{step}/", data)


def shown(client):
    return client.get(URL).content.decode()


def through(client):
    """Every page of a drill from its beginning until before its end."""
    client.post(f"{URL}begin/")
    yield shown(client)
    post(client, "first", measurement="counters", confidence="70", why="differs")
    yield shown(client)
    post(client, "more", measurement="last-minute")
    yield shown(client)
    post(client, "strike", struck=["longer", "template"])
    yield shown(client)
    post(client, "mechanism", mechanism="more_load")
    yield shown(client)


def test_a_visitor_reads_the_scene_and_is_told_how_to_begin(client):
    page = shown(client)
    assert "/account/login/?next=/drills/1.1/" in page
    assert client.post(f"{URL}begin/").status_code == 302
    assert not DrillAttempt.objects.exists()


def test_a_drill_goes_from_the_first_measurement_to_the_debrief(client, ada):
    for _ in through(client):
        pass
    world = SPEC.suspects[SPEC.world_of(DrillAttempt.objects.get().seed)]
    assert post(client, "fix", fix=world.fix).status_code == 302
    page = shown(client)
    assert f"The world was: {world.title}." in page
    assert "it holds" in page
    assert "yours" in page


def test_no_page_before_the_end_tells_the_world_or_what_a_measurement_is_worth(client, ada):
    for page in through(client):
        attempt = DrillAttempt.objects.get()
        assert str(attempt.seed) not in page
        assert "bits a minute" not in page
        assert "The world was" not in page


def test_no_reading_is_in_a_page_before_it_was_taken(client, ada):
    client.post(f"{URL}begin/")
    prints = drilling.observed(DrillAttempt.objects.get()).prints
    lines = {key: each[-1] for key, each in prints.items()}
    assert not any(line in shown(client) for line in lines.values())
    post(client, "first", measurement="counters", confidence="70", why="differs")
    page = shown(client)
    assert [key for key, line in lines.items() if line in page] == ["counters"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"confidence": "70", "why": "kept"}, "Choose what you would measure first."),
        ({"measurement": "counters", "why": "kept"}, "Choose how sure you are."),
        ({"measurement": "counters", "confidence": "70", "why": " "}, "Write one line of why"),
        ({"measurement": "nope", "confidence": "70", "why": "kept"}, "no such measurement"),
        ({"measurement": "counters", "confidence": "71", "why": "kept"}, "Choose 50, 70 or 90 %."),
        ({"measurement": "counters", "confidence": "70", "why": "x" * 301}, "One line is enough"),
    ],
)
def test_what_is_missing_is_said_and_nothing_typed_is_lost(client, ada, data, words):
    client.post(f"{URL}begin/")
    answer = post(client, "first", **data)
    page = answer.content.decode()
    assert answer.status_code == 422
    assert words in page
    assert "Nothing was stored." in page
    if data["why"] == "kept":
        assert ">kept</textarea>" in page
    if data.get("measurement") == "counters":
        assert 'value="counters" checked' in page
    assert DrillAttempt.objects.get().stage == "measure"


@pytest.mark.parametrize("step", ["first", "more", "strike", "mechanism", "fix", "hint"])
def test_a_step_of_a_drill_that_is_not_under_way_says_so_and_keeps_what_was_written(
    client, ada, step
):
    page = client.post(f"{URL}{step}/", {"why": "it <differs>"}, follow=True).content.decode()
    assert "this drill is not under way for you" in page
    assert "You wrote: “it &lt;differs&gt;”" in page
    assert not DrillAttempt.objects.exists()


@pytest.mark.parametrize("step", ["strike", "mechanism", "fix"])
def test_a_step_that_is_not_due_changes_nothing_and_says_so(client, ada, step):
    client.post(f"{URL}begin/")
    answer = client.post(f"{URL}{step}/", {"fix": "reorder", "struck": "tea leaves"}, follow=True)
    page = answer.content.decode()
    assert "is not due yet" in page
    assert "How sure that no other is better?" in page
    assert 'name="confidence"' in page
    assert DrillAttempt.objects.get().stage == "measure"


def test_a_decision_sent_twice_is_taken_once_and_the_second_time_says_so(client, ada):
    client.post(f"{URL}begin/")
    post(client, "first", measurement="counters", confidence="70", why="x")
    sent = {"measurement": "last-minute", "confidence": "90", "why": "y"}
    assert (
        "What was decided first stands"
        in client.post(f"{URL}first/", sent, follow=True).content.decode()
    )
    assert DrillAttempt.objects.get().taken == ["counters"]
    client.post(f"{URL}more/", {"measurement": "last-minute"})
    again = client.post(f"{URL}more/", {"measurement": "last-minute"}, follow=True)
    assert "Nothing was taken: you have that reading" in again.content.decode()


def test_a_hint_asked_for_in_a_tab_of_an_earlier_decision_costs_nothing(client, ada):
    client.post(f"{URL}begin/")
    post(client, "first", measurement="counters", confidence="70", why="x")
    stale = client.post(f"{URL}hint/?stage=measure", {"hint": "1"}, HTTP_HX_REQUEST="true")
    assert stale["HX-Redirect"] == f"{URL}#now"
    assert DrillAttempt.objects.get().hints == []


def test_an_attempt_at_a_drill_that_was_rewritten_is_begun_anew_and_stops_no_page(client, ada):
    client.post(f"{URL}begin/")
    DrillAttempt.objects.update(taken=["tea-leaves"], stage="strike")
    assert "Begin" in shown(client)
    client.post(f"{URL}begin/")
    assert DrillAttempt.objects.get().taken == []
    DrillAttempt.objects.update(version=99, stage="done", fix="tea-leaves")
    assert "Begin" in shown(client)


def test_an_unknown_measurement_is_refused_in_words(client, ada):
    client.post(f"{URL}begin/")
    post(client, "first", measurement="counters", confidence="70", why="x")
    answer = client.post(f"{URL}more/", {"measurement": "tea leaves"}, follow=True)
    assert "no such measurement" in answer.content.decode()
    assert DrillAttempt.objects.get().taken == ["counters"]


def test_a_drill_is_as_closed_as_its_symptom(client, ada, monkeypatch, settings):
    from dataclasses import replace

    settings.OPEN_ENROLMENT = False
    locked = {"1.1": replace(symptoms()["1.1"], tier="enrolled")}
    monkeypatch.setattr(drill_views, "symptoms", lambda: locked)
    assert "Your instructor has the code" in shown(client)
    client.post(f"{URL}begin/")
    assert not DrillAttempt.objects.exists()


@pytest.mark.parametrize("number", ["9.9", "x"])
def test_a_drill_that_is_not_there_is_a_404(client, number):
    assert client.get(f"/drills/{number}/").status_code == 404


def test_a_symptom_leads_to_its_drill_and_says_when_it_has_none(client, ada):
    assert 'href="/drills/1.1/"' in client.get("/symptoms/1.1/").content.decode()


# ------------------------------------------------------------------------------------------------ hints

HTMX = {"HTTP_HX_REQUEST": "true"}
FIRST, SECOND = SPEC.hints["measure"]


def test_a_hint_is_nowhere_before_it_is_open_and_its_price_is_on_the_button(client, ada):
    client.post(f"{URL}begin/")
    page = shown(client)
    assert "Ask for a hint <small>1 point</small>" in page
    waiting = client.post(f"{URL}hint/", {"hint": "1"}, **HTMX).content.decode()
    assert "opens in 20&nbsp;s" in waiting
    for html in (page, waiting, shown(client)):
        assert FIRST not in html
    DrillAttempt.objects.update(hints=[["measure", "2026-01-01T00:00:00+00:00"]])
    page = client.get(f"{URL}hint/", **HTMX).content.decode()
    assert FIRST in page
    assert SECOND not in page
    assert "Ask for another hint" in page


def test_only_asking_tells_that_a_drill_has_no_other_hint(client, ada):
    client.post(f"{URL}begin/")
    DrillAttempt.objects.update(hints=[["measure", "2026-01-01T00:00:00+00:00"]] * 2)
    assert "Ask for another hint" in shown(client)
    page = client.post(f"{URL}hint/", {"hint": "3"}, **HTMX).content.decode()
    assert "There is no other hint here. Nothing was spent." in page


def test_a_hint_without_javascript_keeps_what_stands_in_the_form(client, ada):
    client.post(f"{URL}begin/")
    said = {"hint": "1", "measurement": "counters", "why": "It differs."}
    response = client.post(f"{URL}hint/", said)
    page = response.content.decode()
    assert response.status_code == 200
    assert "It differs." in page
    assert 'value="counters" checked' in page
    assert "Choose how sure you are" not in page
    assert DrillAttempt.objects.get().stage == "measure"


def test_looking_for_a_hint_without_javascript_leads_to_the_decision(client, ada):
    client.post(f"{URL}begin/")
    assert client.get(f"{URL}hint/")["Location"] == f"{URL}#now"
