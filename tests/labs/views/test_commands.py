"""Commands, clicked and typed: done, refused, cancelled, failed, taken back."""

import pytest

from labs import attempts, worker
from labs.models import Action, Attempt
from labs.views import commands
from tests.labs.in_the_room import HTMX, Kind, Status, text, url

pytestmark = pytest.mark.django_db


def test_a_command_before_the_prediction_is_refused(learner_client, begun):
    response = learner_client.post(url("command", begun), {"command": "kv-ledger"})
    assert response.status_code == 409
    assert "Commit your prediction first" in text(response)
    assert begun.actions.filter(kind=Kind.COMMAND).count() == 0


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
    monkeypatch.setattr(commands, "SOON_S", 5.0)
    slept = []

    def work_meanwhile(seconds):
        slept.append(seconds)
        worker.execute_action(Action.objects.get(status=Status.QUEUED).pk)

    monkeypatch.setattr(commands.time, "sleep", work_meanwhile)
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


def test_a_bad_flag_is_marked_where_it_was_typed(learner_client, attempt):
    response = learner_client.post(url("restart", attempt), {"max_num_seqs": "-1"})
    assert response.status_code == 422
    page = text(response)
    assert 'value="-1" aria-invalid="true" aria-describedby="max_num_seqs-error"' in page
    assert "Write an integer from 1 to 1024." in page
    assert not attempt.actions.filter(kind=Kind.COMMAND).exists()


def test_what_could_not_be_graded_is_no_zero_and_can_be_marked_again(learner_client, attempt):
    Attempt.objects.update(status="not_graded", mark={"reason": "The engine was lost."})
    page = text(learner_client.get(url("room", attempt)))
    assert "Could not be graded" in page
    assert "The engine was lost. This is not a zero" in page
    learner_client.post(url("again", attempt))
    attempt.refresh_from_db()
    assert attempt.status == "marking"
