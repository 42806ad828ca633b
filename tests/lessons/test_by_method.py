"""An address that shows and takes: asked for its head, asked what it takes, and with the broker away."""

import pytest
from kombu.exceptions import OperationalError

from lessons import tasks
from lessons.models import PredictionCommit

pytestmark = pytest.mark.django_db
ADDRESSES = (
    "/lessons/failure-modes/predictions/cap-28/",
    "/lessons/failure-modes/checks/kv-per-rank/hint/",
    "/lessons/late-first-tokens/runs/alarm/",
    "/drills/1.1/hint/",
)


@pytest.mark.parametrize("address", ADDRESSES)
def test_its_head_is_as_its_page_and_another_method_is_told_all_three(learner_client, address):
    shown = learner_client.get(address)
    assert learner_client.head(address).status_code == shown.status_code != 405
    refused = learner_client.delete(address)
    assert refused.status_code == 405
    assert refused["Allow"] == "GET, HEAD, POST"


@pytest.mark.django_db(transaction=True)
def test_a_broker_that_is_away_stops_no_page_and_loses_no_guess(learner_client, monkeypatch):
    def away(answer_id):
        raise OperationalError("Connection refused")

    monkeypatch.setattr(tasks.compute_answer, "delay", away)
    sent = {"value": "1", "confidence": "50", "why": ""}
    address = "/lessons/failure-modes/predictions/cap-28/"
    assert learner_client.post(address, sent).status_code == 302
    assert learner_client.get(address, HTTP_HX_REQUEST="true").status_code == 200
    assert PredictionCommit.objects.get().guess == 1
