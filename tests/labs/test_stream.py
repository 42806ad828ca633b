"""The stream of one attempt: who may listen, what a ring says, and what a broken broker does."""

import asyncio

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import AnonymousUser
from django.http import Http404
from django.test import AsyncRequestFactory
from django.urls import reverse
from redis.exceptions import ConnectionError as NoBroker

from labs import doorbell, stream
from labs.models import Attempt

pytestmark = pytest.mark.django_db


class FakePubSub:
    def __init__(self, messages, error=None):
        self.messages, self.error = list(messages), error
        self.channels, self.closed = [], False

    async def subscribe(self, channel):
        if self.error:
            raise self.error
        self.channels.append(channel)

    async def get_message(self, timeout):  # noqa: ASYNC109
        return self.messages.pop(0) if self.messages else None

    async def aclose(self):
        self.closed = True


class FakeBroker:
    def __init__(self, pubsub):
        self._pubsub = pubsub

    def pubsub(self, **_):
        return self._pubsub

    async def aclose(self):
        return None


@pytest.fixture
def broker(monkeypatch):
    def install(*messages, error=None):
        pubsub = FakePubSub(messages, error)
        monkeypatch.setattr(
            stream.redis.asyncio.Redis, "from_url", lambda *_, **__: FakeBroker(pubsub)
        )
        return pubsub

    return install


@pytest.fixture
def attempt(learner):
    return Attempt.objects.create(
        learner=learner, lab_slug="preemption-storm", lab_version=1, seed=2000009, number=1
    )


async def first(count):
    found = []
    async for event in stream.moved(7):
        found.append(event)
        if len(found) == count:
            break
    return found


def test_a_listener_is_told_to_look_once_at_once_and_at_each_ring(broker):
    pubsub = broker({"type": "message"}, None, {"type": "message"}, {"type": "message"}, None)
    told = async_to_sync(first)(3)
    assert pubsub.channels == [doorbell.channel(7)]
    assert told[0].endswith("event: moved\ndata: open\n\n")
    assert told[1] == "event: moved\ndata: log\n\n"
    # Two rings of one moment are one look.
    assert told[2] == "event: moved\ndata: log\n\n"
    assert pubsub.messages == []


def test_silence_keeps_the_line_open_with_comments(broker):
    broker()
    assert async_to_sync(first)(2)[1].startswith(":")


def test_a_stream_ends_by_itself(broker, monkeypatch):
    monkeypatch.setattr(stream, "LASTS_S", 0.0)
    pubsub = broker()
    assert len(async_to_sync(first)(99)) == 1
    assert pubsub.closed


def test_without_a_broker_the_stream_ends_quietly(broker):
    pubsub = broker(error=NoBroker("away"))
    assert async_to_sync(first)(99) == [": no broker\n\n"]
    assert pubsub.closed


def test_a_listener_who_leaves_frees_the_line(broker):
    pubsub = broker()

    async def leave():
        stream_of = stream.moved(7)
        await anext(stream_of)
        await stream_of.aclose()

    asyncio.run(leave())
    assert pubsub.closed


def _open(user, attempt):
    async def ask():
        request = AsyncRequestFactory().get(reverse("labs:events", args=[attempt.public_id]))

        async def auser():
            return user

        request.auser = auser
        response = await stream.events(request, public_id=attempt.public_id)
        said = await anext(aiter(response.streaming_content))
        return response, said.decode()

    return async_to_sync(ask)()


def test_the_learner_may_listen_and_no_proxy_may_hold_events_back(broker, learner, attempt):
    broker()
    response, said = _open(learner, attempt)
    assert response.headers["Content-Type"] == "text/event-stream"
    assert response.headers["X-Accel-Buffering"] == "no"
    assert response.headers["Cache-Control"] == "no-store"
    assert "event: moved" in said


def test_another_learner_and_a_visitor_get_a_404(broker, another_learner, attempt):
    broker()
    for user in (another_learner, AnonymousUser()):
        with pytest.raises(Http404):
            _open(user, attempt)
