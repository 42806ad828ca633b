"""The labs' pages, with rows for a worker: who sees what, what is refused and kept, and what stays hidden."""

import json
import re

import pytest
from django.urls import reverse

from labs import attempts, doorbell, incident, outbox, pool, room, views, worker, worlds
from labs.models import Action, Attempt, Review

pytestmark = pytest.mark.django_db
Kind, Status = Action.Kind, Action.Status
SLUG = "preemption-storm"
HTMX = {"HX-Request": "true"}
DIAGNOSIS = {
    "scope": "fault",
    "slos": ["ttft", "gap"],
    "layer": "memory",
    "components": ["kv_pool"],
    "mechanism": "demand_exceeds_pool",
    "parameter": "1.14",
    "confidence": "80",
}
PREDICTION = {"value": "60", "confidence": "70", "why": "nothing mends itself"}


@pytest.fixture(autouse=True)
def published(monkeypatch, seeds, at_page):
    """No broker: what would be sent is noted, and nobody is rung. Worlds come from one simulation a session."""
    sent = []
    at_page("demand")
    monkeypatch.setattr(outbox, "publish", lambda task, pk: sent.append(pk))
    monkeypatch.setattr(doorbell, "ring", lambda attempt_id: None)
    monkeypatch.setattr(views, "SOON_S", 0.0)
    monkeypatch.setattr(incident, "begin", lambda spec, seed, **_: at_page("demand"))
    monkeypatch.setattr(pool, "admitted", lambda slug: (seeds["demand"],))
    return sent


@pytest.fixture
def work(published, django_capture_on_commit_callbacks):
    """Be the worker: perform everything that was queued."""

    def do():
        for action in Action.objects.filter(status=Status.QUEUED):
            worker.execute_action(action.pk)

    return do


@pytest.fixture
def begun(learner, spec, seeds, work):
    """An attempt at its page, before its prediction."""
    attempt = attempts.start_attempt(learner=learner, spec=spec)
    work()
    attempt.refresh_from_db()
    return attempt


@pytest.fixture
def attempt(begun):
    """An attempt whose prediction is committed."""
    attempts.record(begun, Kind.PREDICT, {"value": 60.0, "confidence": 70, "why": "…"})
    return begun


def url(name, attempt):
    return reverse(f"labs:{name}", args=[attempt.public_id])


def text(response):
    return response.content.decode()


# -------------------------------------------------------------------------------- index and front page


def test_a_visitor_sees_the_labs_and_a_way_to_sign_in(client):
    page = text(client.get(reverse("labs:index")))
    assert "Slow first tokens on atlas-70b" in page
    assert "Sign in to handle one" in page
    assert "Sign in to take the page" in text(client.get(reverse("labs:lab", args=[SLUG])))


def test_an_open_attempt_is_offered_first_and_the_kept_score_is_shown(
    learner, learner_client, attempt
):
    Attempt.objects.create(
        learner=learner,
        lab_slug=SLUG,
        lab_version=1,
        seed=1,
        number=9,
        status="marked",
        total="88.5",
    )
    page = text(learner_client.get(reverse("labs:index")))
    assert f'href="{attempt.get_absolute_url()}">Continue' in page
    assert "kept score 88.5" in page


def test_the_front_page_has_the_brief_and_earlier_attempts_and_no_word_of_the_debrief(
    learner, learner_client
):
    Attempt.objects.create(
        learner=learner, lab_slug=SLUG, lab_version=1, seed=1, number=1, status="given_up"
    )
    page = text(learner_client.get(reverse("labs:lab", args=[SLUG])))
    assert "You are paged for <strong>atlas-70b</strong>" in page
    assert "Given up" in page
    assert "One face, two worlds" not in page


def test_an_unknown_lab_is_a_404(client):
    assert client.get(reverse("labs:lab", args=["no-such-lab"])).status_code == 404


def test_starting_queues_the_begin_and_goes_to_the_room(
    learner_client, published, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        response = learner_client.post(reverse("labs:start", args=[SLUG]))
    attempt = Attempt.objects.get()
    assert response.headers["Location"] == attempt.get_absolute_url()
    assert published == [attempt.actions.get().pk]


def test_starting_twice_gives_the_same_attempt(learner_client):
    first = learner_client.post(reverse("labs:start", args=[SLUG]))
    second = learner_client.post(reverse("labs:start", args=[SLUG]))
    assert first.headers["Location"] == second.headers["Location"]
    assert Attempt.objects.count() == 1


def test_a_lab_that_is_not_proved_says_so_and_loses_nothing(learner_client, monkeypatch):
    def unproved(slug):
        raise pool.NotProved(slug)

    monkeypatch.setattr(pool, "admitted", unproved)
    assert "takes no attempts now" in text(learner_client.get(reverse("labs:lab", args=[SLUG])))
    response = learner_client.post(reverse("labs:start", args=[SLUG]), follow=True)
    assert "being proved anew" in text(response)
    assert not Attempt.objects.exists()


def test_a_visitor_who_starts_is_sent_to_sign_in(client):
    response = client.post(reverse("labs:start", args=[SLUG]))
    assert response.status_code == 302
    assert "/account/login/" in response.headers["Location"]


# ---------------------------------------------------------------------------------- whose attempt it is


@pytest.mark.parametrize("name", ["room", "parts", "price", "debrief", "give-up"])
def test_another_learners_attempt_is_a_404_to_read(another_learner_client, attempt, name):
    assert another_learner_client.get(url(name, attempt)).status_code == 404


@pytest.mark.parametrize(
    "name",
    [
        "command",
        "restart",
        "predict",
        "beliefs",
        "diagnose",
        "explain",
        "finish",
        "cancel",
        "again",
        "give-up",
    ],
)
def test_another_learners_attempt_is_a_404_to_act_on(another_learner_client, attempt, name):
    before = attempt.actions.count()
    response = another_learner_client.post(url(name, attempt), {"command": "kv-ledger", "seq": "0"})
    assert response.status_code == 404
    assert attempt.actions.count() == before


@pytest.mark.parametrize("name", ["room", "parts", "debrief"])
def test_a_visitor_is_sent_to_sign_in(client, attempt, name):
    assert "/account/login/" in client.get(url(name, attempt)).headers["Location"]


# ------------------------------------------------------------------------------ before the world is shown


def test_a_new_attempt_says_that_it_is_being_prepared(learner, learner_client, spec):
    attempt = attempts.start_attempt(learner=learner, spec=spec)
    page = text(learner_client.get(url("room", attempt)))
    assert "The incident is being brought to its page" in page
    assert "A worker takes it next." in page


def test_the_queue_says_how_many_people_are_before_one(
    learner, another_learner, learner_client, spec
):
    attempts.start_attempt(learner=another_learner, spec=spec)
    attempt = attempts.start_attempt(learner=learner, spec=spec)
    assert "One person is before you; a few seconds." in text(
        learner_client.get(url("room", attempt))
    )


def test_before_the_prediction_nothing_of_the_world_is_in_the_page(learner_client, begun):
    page = text(learner_client.get(url("room", begun)))
    assert "What is p95 TTFT, over the five minutes before" in page
    assert "f-ttft" not in page
    assert "gauge" not in page
    for _, value in begun.panel["ttft"]:
        assert value is None or repr(value) not in page


def test_a_command_before_the_prediction_is_refused(learner_client, begun):
    response = learner_client.post(url("command", begun), {"command": "kv-ledger"})
    assert response.status_code == 409
    assert "Commit your prediction first" in text(response)
    assert begun.actions.filter(kind=Kind.COMMAND).count() == 0


def test_a_committed_prediction_opens_the_room_and_is_made_once(learner_client, begun):
    response = learner_client.post(url("predict", begun), PREDICTION)
    assert response.status_code == 302
    assert "f-ttft" in text(learner_client.get(url("room", begun)))
    learner_client.post(url("predict", begun), {**PREDICTION, "value": "400"})
    (made,) = begun.actions.filter(kind=Kind.PREDICT)
    assert made.payload == {"value": 60.0, "confidence": 70, "why": "nothing mends itself"}


def test_a_prediction_that_cannot_be_read_keeps_what_was_typed(learner_client, begun):
    response = learner_client.post(url("predict", begun), {**PREDICTION, "value": "plenty"})
    assert response.status_code == 422
    page = text(response)
    assert 'value="plenty"' in page
    assert "nothing mends itself" in page
    assert re.search(r'value="70" checked', page)


# --------------------------------------------------------------------------------------------- commands


def test_a_clicked_tool_is_the_same_as_its_typed_command(learner_client, attempt, spec, work):
    page = text(learner_client.get(url("room", attempt)))
    for tool in spec.instruments.values():
        assert f'value="{tool.command}"'.replace("'", "&#x27;") in page
    response = learner_client.post(url("command", attempt), {"command": "kv-ledger"})
    assert response.status_code == 302
    work()
    page = text(learner_client.get(url("room", attempt)))
    assert "held by no live request" in page
    assert "at 0:30 · cost 0:30" in page


def test_a_quick_reading_comes_with_the_answer_to_its_click(learner_client, attempt, monkeypatch):
    monkeypatch.setattr(views, "SOON_S", 5.0)
    slept = []

    def work_meanwhile(seconds):
        slept.append(seconds)
        worker.execute_action(Action.objects.get(status=Status.QUEUED).pk)

    monkeypatch.setattr(views.time, "sleep", work_meanwhile)
    page = text(
        learner_client.post(url("command", attempt), {"command": "kv-ledger"}, headers=HTMX)
    )
    assert "held by no live request" in page
    assert "every 1s" not in page
    assert len(slept) == 1


def test_a_command_under_way_shows_its_progress_and_how_to_stop_it(learner_client, attempt):
    learner_client.post(url("command", attempt), {"command": "wait 5m"})
    Action.objects.filter(status=Status.QUEUED).update(
        status=Status.RUNNING, progress=0.4, doing="Simulating 2:00 of 5:00"
    )
    page = text(learner_client.get(url("room", attempt)))
    assert '<progress max="1" value="0.400"' in page
    assert "Simulating 2:00 of 5:00" in page
    assert "Cancel</button>" in page
    assert "One thing at a time: wait 5m" in page
    assert page.count('aria-disabled="true"') > 20


def test_a_second_click_is_told_what_still_runs_and_keeps_what_was_typed(learner_client, attempt):
    learner_client.post(url("command", attempt), {"command": "wait 5m"})
    response = learner_client.post(url("command", attempt), {"command": "kv-ledger"})
    assert response.status_code == 409
    page = text(response)
    assert "One thing at a time: “wait 5m” is still running. Nothing was charged." in page
    assert 'value="kv-ledger" hx-preserve' in page
    assert attempt.actions.filter(kind=Kind.COMMAND).count() == 1


@pytest.mark.parametrize("name", ["diagnose", "explain", "beliefs", "finish", "restart"])
def test_nothing_else_is_taken_while_something_runs(learner_client, attempt, name):
    learner_client.post(url("command", attempt), {"command": "wait 5m"})
    data = {**DIAGNOSIS, "text": "my own words"}
    response = learner_client.post(url(name, attempt), data)
    assert response.status_code == 409
    assert "One thing at a time" in text(response)


def test_a_line_that_is_not_understood_is_kept_in_the_field_and_charged_nothing(
    learner_client, attempt
):
    response = learner_client.post(url("command", attempt), {"command": "kubectl get pods"})
    assert response.status_code == 422
    page = text(response)
    assert "There is no kubectl here" in page
    assert "refused, nothing charged" in page
    assert 'value="kubectl get pods" hx-preserve' in page
    assert Attempt.objects.get().clock_s == 0


def test_a_command_that_the_world_refuses_is_kept_in_the_field_too(learner_client, attempt, work):
    line = "promql &#x27;no_such_metric&#x27;"
    learner_client.post(url("command", attempt), {"command": "promql 'no_such_metric'"})
    work()
    page = text(learner_client.get(url("room", attempt)))
    assert "refused, nothing charged" in page
    assert f'value="{line}" hx-preserve' in page


def test_a_cancelled_command_says_so(learner_client, attempt):
    learner_client.post(url("command", attempt), {"command": "wait 5m"})
    seq = attempt.actions.last().seq
    learner_client.post(url("cancel", attempt), {"seq": seq})
    page = text(learner_client.get(url("room", attempt)))
    assert "cancelled, nothing charged" in page
    assert "aria-disabled" not in page


@pytest.mark.parametrize("seq", ["", "x", "99"])
def test_what_is_not_there_cannot_be_cancelled(learner_client, attempt, seq):
    assert learner_client.post(url("cancel", attempt), {"seq": seq}).status_code == 404


def test_a_failed_command_offers_itself_again(learner_client, attempt):
    learner_client.post(url("command", attempt), {"command": "kv-ledger"})
    attempt.actions.filter(status=Status.QUEUED).update(status=Status.FAILED)
    page = text(learner_client.get(url("room", attempt)))
    assert "The worker stopped while it did this. Your attempt is intact" in page
    assert 'name="command" value="kv-ledger">Try again' in page


def test_a_failed_begin_can_be_taken_up_again(learner, learner_client, spec):
    attempt = attempts.start_attempt(learner=learner, spec=spec)
    attempt.actions.update(status=Status.FAILED)
    assert "The worker stopped before the page" in text(learner_client.get(url("room", attempt)))
    learner_client.post(url("again", attempt))
    assert [each.status for each in attempt.actions.all()] == [Status.FAILED, Status.QUEUED]


def test_the_price_of_a_line_is_known_before_it_is_run(learner_client, attempt):
    def price(line):
        return text(learner_client.get(url("price", attempt), {"command": line}))

    assert price("kv-ledger") == "0:30"
    assert price("wait 10m") == "10:00"
    assert price("flags") == "free"
    assert price("restart --max-num-seqs 28") == "1:20"
    assert price("kubectl") == ""
    assert price("promql 'no_such_metric'") == ""


def test_a_change_is_in_force_until_it_is_taken_back(learner_client, attempt, work):
    learner_client.post(url("command", attempt), {"command": "shed 20%"})
    work()
    page = text(learner_client.get(url("room", attempt)))
    assert "1, in force since 0:30" in page
    assert 'value="undo 1"' in page
    assert 'id="change-shed"' not in page
    learner_client.post(url("command", attempt), {"command": "undo 1"})
    work()
    page = text(learner_client.get(url("room", attempt)))
    assert "in force since" not in page
    assert 'id="change-shed"' in page


def test_the_form_of_flags_is_the_same_as_typing_the_restart(learner_client, attempt):
    learner_client.post(url("restart", attempt), {"max_num_seqs": "28", "kv_cache_dtype": "fp8"})
    assert attempt.actions.last().payload == {
        "line": "restart --max-num-seqs 28 --kv-cache-dtype fp8"
    }


# --------------------------------------------------------------------------------------------- fragments


def test_a_page_that_has_seen_everything_gets_204(learner_client, attempt):
    seen = room.room_of(attempt).version
    assert (
        learner_client.get(url("parts", attempt), {"seen": seen}, headers=HTMX).status_code == 204
    )


def test_a_page_that_has_not_gets_the_working_parts_without_a_frame(learner_client, attempt):
    response = learner_client.get(url("parts", attempt), {"seen": "old"}, headers=HTMX)
    page = text(response)
    assert "<html" not in page
    assert 'id="see-h"' in page
    assert "no-store" in response.headers["Cache-Control"]


def test_a_page_that_waits_gets_only_the_progress(learner_client, attempt):
    learner_client.post(url("command", attempt), {"command": "wait 5m"})
    seen = room.room_of(attempt).version
    response = learner_client.get(url("parts", attempt), {"seen": seen}, headers=HTMX)
    assert response.headers["HX-Retarget"] == "#under-way"
    assert "see-h" not in text(response)


def test_only_an_action_under_way_makes_the_page_poll(learner_client, attempt):
    assert "every 1s" not in text(learner_client.get(url("room", attempt)))
    learner_client.post(url("command", attempt), {"command": "wait 5m"})
    assert "every 1s" in text(learner_client.get(url("room", attempt)))


# ------------------------------------------------------------------------------------------------ thinking


def test_beliefs_are_kept_and_a_zero_strikes_out(learner_client, attempt):
    response = learner_client.post(
        url("beliefs", attempt), {"belief-demand": "75", "belief-router": "0"}, headers=HTMX
    )
    page = text(response)
    assert "<s>The router holds requests back</s>" in page
    assert 'id="see-h"' not in page
    assert attempt.actions.last().payload == {"demand": 75, "router": 0}


def test_the_notebook_sets_a_reading_beside_the_healthy_value(
    learner_client, attempt, work, monkeypatch
):
    monkeypatch.setattr(room, "healthy_medians", lambda slug: {"gap_p95_s": 0.08})
    learner_client.post(url("command", attempt), {"command": "request-log --last 5m --gaps"})
    work()
    page = text(learner_client.get(url("room", attempt)))
    assert "p95 of each stream&#x27;s longest gap" in page
    assert "healthy 0.08" in page


def test_the_gap_gauge_stays_empty_until_the_learner_measures_it(learner_client, attempt, work):
    assert "not measured yet" in text(learner_client.get(url("room", attempt)))
    learner_client.post(url("command", attempt), {"command": "request-log --last 5m --gaps"})
    work()
    assert "not measured yet" not in text(learner_client.get(url("room", attempt)))


def test_a_diagnosis_that_lacks_something_keeps_the_rest(learner_client, attempt):
    response = learner_client.post(
        url("diagnose", attempt), {**DIAGNOSIS, "components": [], "parameter": "lots"}
    )
    assert response.status_code == 422
    page = text(response)
    assert "Name at least one component." in page
    assert 'value="lots"' in page
    assert re.search(r'value="memory" checked', page)
    assert re.search(r'value="demand_exceeds_pool" selected', page)


def test_a_diagnosis_cites_ones_own_readings_and_can_be_revised(learner_client, attempt, work):
    learner_client.post(url("command", attempt), {"command": "kv-ledger"})
    work()
    cite = {"cite-1-unaccounted_share": "rules_out:leak"}
    learner_client.post(url("diagnose", attempt), {**DIAGNOSIS, **cite})
    assert attempt.actions.last().payload["citations"] == [
        {"reading": 1, "signal": "unaccounted_share", "role": "rules_out", "rival": "leak"}
    ]
    learner_client.post(url("diagnose", attempt), {**DIAGNOSIS, **cite, "layer": "overload"})
    page = text(learner_client.get(url("room", attempt)))
    assert "revised" in page
    assert "Overload: KV block pool." in page


def test_readings_after_the_first_diagnosis_cannot_be_cited(learner_client, attempt, work):
    learner_client.post(url("diagnose", attempt), DIAGNOSIS)
    learner_client.post(url("command", attempt), {"command": "kv-ledger"})
    work()
    assert room.room_of(attempt).citable == []


def test_a_missed_verification_opens_another_round(learner_client, attempt, work):
    learner_client.post(url("command", attempt), {"command": "kv-ledger"})
    work()
    learner_client.post(url("diagnose", attempt), DIAGNOSIS)
    for line in ("shed 20%", "verify"):
        learner_client.post(url("command", attempt), {"command": line})
        work()
    attempt.refresh_from_db()
    found = room.room_of(attempt)
    states = {phase.name: phase.state for phase in found.phases}
    assert (states["Diagnose"], states["Change"], states["Verify"]) == ("now", "tried", "tried")
    assert "Another round." in text(learner_client.get(url("room", attempt)))


# --------------------------------------------------------------------------------------------- the end


def test_an_empty_explanation_is_refused_and_a_later_one_replaces_the_first(
    learner_client, attempt
):
    assert learner_client.post(url("explain", attempt), {"text": " "}).status_code == 422
    learner_client.post(url("explain", attempt), {"text": "first words"})
    learner_client.post(url("explain", attempt), {"text": "better words"})
    page = text(learner_client.get(url("room", attempt)))
    assert "better words" in page
    assert "first words" not in page


def test_closing_warns_of_what_is_judged_and_of_what_is_missing(learner_client, attempt):
    page = text(learner_client.get(url("room", attempt)))
    assert "judged over the 15 minutes that follow" in page
    assert "No diagnosis is committed." in page
    assert "No explanation is kept." in page


def test_closing_has_the_attempt_marked(learner_client, attempt):
    learner_client.post(url("finish", attempt))
    attempt.refresh_from_db()
    assert attempt.status == "marking"
    page = text(learner_client.get(url("room", attempt)))
    assert "Your attempt is being marked" in page
    assert "Cancel</button>" not in page
    response = learner_client.post(url("command", attempt), {"command": "kv-ledger"})
    assert response.status_code == 409


def test_an_older_attempt_is_not_marked_again_while_another_is_open(
    learner, learner_client, attempt
):
    old = Attempt.objects.create(
        learner=learner, lab_slug=SLUG, lab_version=1, seed=1, number=9, status="not_graded"
    )
    response = learner_client.post(url("again", old))
    assert response.status_code == 409
    assert "another attempt at this lab" in text(response)


def test_what_could_not_be_graded_is_no_zero_and_can_be_marked_again(learner_client, attempt):
    Attempt.objects.update(status="not_graded", mark={"reason": "The engine was lost."})
    page = text(learner_client.get(url("room", attempt)))
    assert "Could not be graded" in page
    assert "The engine was lost. This is not a zero" in page
    learner_client.post(url("again", attempt))
    attempt.refresh_from_db()
    assert attempt.status == "marking"


def test_giving_up_asks_first(learner_client, attempt):
    assert "Give this attempt up?" in text(learner_client.get(url("give-up", attempt)))
    attempt.refresh_from_db()
    assert attempt.is_open
    response = learner_client.post(url("give-up", attempt), follow=True)
    assert "Attempt 1 is given up. It has no mark." in text(response)
    assert "This attempt was given up" in text(learner_client.get(url("room", attempt)))


def test_giving_up_waits_for_what_runs(learner_client, attempt):
    learner_client.post(url("command", attempt), {"command": "wait 5m"})
    response = learner_client.post(url("give-up", attempt))
    assert response.status_code == 409
    assert "Cancel it or let it finish" in text(response)


# ------------------------------------------------------------------------------------------ the debrief


@pytest.fixture
def marked(attempt):
    from tests.labs.test_debrief import MARK

    attempts.record(attempt, Kind.EXPLAIN, {"text": "A queue must grow."})
    Attempt.objects.update(status="marked", mark=MARK, total="65.6", clock_s=1720)
    attempt.refresh_from_db()
    return attempt


def test_the_room_of_a_marked_attempt_is_its_debrief(learner_client, marked):
    assert learner_client.get(url("room", marked)).headers["Location"] == url("debrief", marked)
    response = learner_client.get(url("parts", marked), headers=HTMX)
    assert response.headers["HX-Redirect"] == url("debrief", marked)


def test_an_attempt_that_is_not_marked_has_no_debrief(learner_client, attempt):
    assert learner_client.get(url("debrief", attempt)).headers["Location"] == url("room", attempt)


def test_the_debrief_reveals_the_world_its_seed_and_the_answer(learner_client, marked):
    page = text(learner_client.get(url("debrief", marked)))
    assert "Requests want more KV than the pool holds" in page
    assert "seed 2000009" in page
    assert "<output>550</output> s" in page
    assert "One face, two worlds" in page
    figures = re.findall(
        r'<script id="f-\w+" type="application/json">(.*?)</script>', page, re.DOTALL
    )
    assert len([json.loads(figure) for figure in figures]) == 2


def test_a_review_is_shown_once_it_is_released(learner_client, marked):
    review = Review.objects.create(attempt=marked, points=[2, 2, 1, 0, 1], comment="Clear.")
    assert "Clear." not in text(learner_client.get(url("debrief", marked)))
    review.released_at = review.created_at
    review.save()
    page = text(learner_client.get(url("debrief", marked)))
    assert "Clear." in page
    assert "6 of 9" in page


# ------------------------------------------------------------------------- what is not revealed is not there


def test_no_response_before_the_debrief_tells_the_world_the_seed_or_the_predictions_answer(
    learner_client, begun, spec, seeds, work
):
    seed, truth = seeds["demand"], worlds.hypothesis_of(spec, seeds["demand"])
    untouched = incident.begin(spec, seed)
    incident.advance(untouched, spec.prediction.at_s)
    answer = incident.ttft_series(untouched, from_s=spec.prediction.at_s)[-1][1]
    pages = [text(learner_client.get(url("room", begun)))]

    def post(name, data):
        for headers in ({}, HTMX):
            pages.append(text(learner_client.post(url(name, begun), data, headers=headers)))
            work()
            pages.append(text(learner_client.get(url("room", begun))))
            pages.append(text(learner_client.get(url("parts", begun), headers=HTMX)))

    post("predict", PREDICTION)
    for line in ("help", "flags", "kv-ledger", "request-log --last 12m --summary", "verify"):
        post("command", {"command": line})
    post("beliefs", {"belief-demand": "75"})
    post("diagnose", DIAGNOSIS)
    post("command", {"command": "shed 20%"})
    post("explain", {"text": "words"})
    pages.append(text(learner_client.get(reverse("labs:lab", args=[SLUG]))))
    pages.append(text(learner_client.get(reverse("labs:index"))))
    pages.append(text(learner_client.get(url("debrief", begun), follow=True)))
    assert len(pages) > 30
    for found in pages:
        assert str(seed) not in found
        assert repr(answer) not in found
        # The truth stands among its rivals, as often as each of them, and in no other way.
        page = re.sub(
            r'<pre .*?</pre>|<textarea.*?</textarea>|value="\d+"', "", found, flags=re.DOTALL
        )
        counts = {key: page.count(f"belief-{key}") for key in spec.hypotheses}
        assert len(set(counts.values())) == 1, counts
        told = {key: page.count(f"rules_out:{key}") for key in spec.hypotheses}
        assert len(set(told.values())) == 1, told
        assert f'"{truth}"' not in page
