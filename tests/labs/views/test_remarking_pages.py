"""The pages of a round: who gets in, what each button does, and that what was typed stays."""

import pytest
from django.urls import reverse

from labs import outbox, remarking
from labs.marking.constants import WEIGHTS
from labs.models import Attempt, MarkChange, PlannedMark, Remarking
from tests.factories import AttemptFactory

pytestmark = pytest.mark.django_db
INDEX = "/labs/remarkings/"


@pytest.fixture(autouse=True)
def _no_broker(monkeypatch):
    monkeypatch.setattr(outbox, "publish", lambda task, object_id: None)


def mark(total, mechanism):
    parts = [
        {
            "name": name,
            "earned": float(mechanism if name == "mechanism" else 0),
            "weight": weight,
            "reason": name,
            "details": {},
        }
        for name, weight in WEIGHTS.items()
    ]
    return {
        "graded": True,
        "total": total,
        "passed": False,
        "reason": "",
        "parts": parts,
        "debrief": {},
    }


@pytest.fixture
def attempt(db):
    return AttemptFactory(
        mark=mark(10.0, 10), total=10, mark_version=1, learner__name="Maya Lindqvist"
    )


@pytest.fixture
def ready(attempt, instructor):
    found = remarking.ask([attempt.lab_slug], by=instructor)
    PlannedMark.objects.create(
        remarking=found, attempt=attempt, from_version=1, status="marked", mark=mark(12.5, 12.5),
        total=12.5, rules="new",
    )  # fmt: skip
    Remarking.objects.update(status="ready", looked_at=1)
    found.refresh_from_db()
    return found


def page(client, found):
    return client.get(reverse("labs:remarking", args=[found.public_id])).content.decode()


def press(client, found, name, **data):
    return client.post(reverse(f"labs:remarking-{name}", args=[found.public_id]), data)


def test_only_instructors_mark_anew(learner_client, grader_client, instructor_client, ready):
    address = reverse("labs:remarking", args=[ready.public_id])
    for client in (learner_client, grader_client):
        assert client.get(INDEX).status_code == 403
        assert client.get(address).status_code == 403
        assert press(client, ready, "apply", reason="mine").status_code == 403
    assert instructor_client.get(INDEX).status_code == 200
    assert (
        instructor_client.get("/labs/remarkings/00000000-0000-0000-0000-000000000000/").status_code
        == 404
    )


def test_a_round_is_asked_for_and_has_its_page(instructor_client, attempt):
    shown = instructor_client.get(INDEX).content.decode()
    assert "Slow first tokens on atlas-70b: 1 attempt" in shown
    answer = instructor_client.post(INDEX, {"labs": [attempt.lab_slug]})
    found = Remarking.objects.get()
    assert answer.url == reverse("labs:remarking", args=[found.public_id])
    assert "0 of 1 attempts looked at" in page(instructor_client, found)


def test_without_a_lab_it_is_told_what_is_missing(instructor_client, attempt):
    answer = instructor_client.post(INDEX, {"simulate": "on"})
    assert answer.status_code == 422
    assert "Choose at least one lab." in answer.content.decode()
    assert not Remarking.objects.exists()


def test_without_a_mark_there_is_nothing_to_ask(instructor_client):
    assert "No attempt has been marked yet." in instructor_client.get(INDEX).content.decode()


def test_a_ready_round_shows_each_mark_that_would_move(instructor_client, ready):
    shown = page(instructor_client, ready)
    for words in (
        "Moves 1 mark, mean +2.5.",
        "Maya Lindqvist",
        "mechanism 10 → 12.5",
        "Change 1 mark",
    ):
        assert words in shown


def test_nothing_is_applied_without_a_reason_and_what_was_typed_stays(instructor_client, ready):
    answer = press(instructor_client, ready, "apply", reason=" ")
    assert answer.status_code == 422
    assert "Say why" in answer.content.decode()
    long = "x" * 1001
    answer = press(instructor_client, ready, "apply", reason=long)
    assert long in answer.content.decode()
    assert Remarking.objects.get().status == "ready"


def test_applied_it_writes_on_the_worker_and_can_be_undone(instructor_client, ready):
    from labs import remarker

    press(instructor_client, ready, "apply", reason="the table was wrong")
    assert "The marks are being written" in page(instructor_client, ready)
    remarker.carry_on(ready.pk)
    shown = page(instructor_client, ready)
    assert "“the table was wrong”" in shown
    assert "mechanism 10 → 12.5" in shown
    assert float(Attempt.objects.get().total) == 12.5
    press(instructor_client, ready, "undo")
    remarker.carry_on(ready.pk)
    assert float(Attempt.objects.get().total) == 10
    assert "Undone" in page(instructor_client, ready)


def test_while_another_round_writes_it_waits_and_keeps_the_reason(instructor_client, ready):
    Remarking.objects.create(status="applying")
    answer = press(instructor_client, ready, "apply", reason="the table was wrong")
    assert answer.status_code == 409
    shown = answer.content.decode()
    assert "Another round is writing marks." in shown
    assert "\nthe table was wrong</textarea>" in shown


def test_a_button_of_an_old_page_does_nothing_and_says_so(instructor_client, ready):
    press(instructor_client, ready, "cancel")
    for name, words in (("undo", "Nothing was taken back"), ("cancel", "Nothing was cancelled")):
        press(instructor_client, ready, name)
        assert words in page(instructor_client, ready)
    press(instructor_client, ready, "apply", reason="late")
    assert "Nothing was written" in page(instructor_client, ready)
    assert not MarkChange.objects.exists()


def test_for_htmx_only_what_changes_is_sent(instructor_client, ready):
    address = reverse("labs:remarking", args=[ready.public_id])
    part = instructor_client.get(address, headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in part
    assert "hx-trigger" not in part  # It is ready: nothing asks again.
    Remarking.objects.update(status="counting")
    assert 'hx-trigger="every 1s"' in instructor_client.get(address).content.decode()


def test_an_attempt_that_could_not_be_judged_is_named(instructor_client, ready):
    Remarking.objects.update(faults=[{"attempt": 4, "message": "KeyError: 'reading'"}])
    assert "1 attempt could not be judged" in page(instructor_client, ready)
