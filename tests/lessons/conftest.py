"""Addresses and short cuts of the lessons' tests."""

from dataclasses import dataclass

import pytest
from django.urls import reverse

from lessons import content
from lessons.content import Lesson
from tests.lessons.kinds import lesson_of_kinds

LESSON = content.lessons()["failure-modes"]
HTMX = {"HTTP_HX_REQUEST": "true"}


@dataclass(frozen=True)
class Addresses:
    """Where things of the lesson are."""

    def station(self, slug: str) -> str:
        return reverse("lessons:station", args=["failure-modes", slug])

    def check(self, key: str) -> str:
        return reverse("lessons:answer", args=["failure-modes", key])

    def prediction(self, key: str) -> str:
        return reverse("lessons:prediction", args=["failure-modes", key])

    def seen(self, key: str) -> str:
        return reverse("lessons:seen", args=["failure-modes", key])

    def read(self, slug: str) -> str:
        return reverse("lessons:read", args=["failure-modes", slug])


@pytest.fixture
def at() -> Addresses:
    return Addresses()


@pytest.fixture(scope="session")
def written_kinds(tmp_path_factory) -> Lesson:
    return lesson_of_kinds(tmp_path_factory.mktemp("kinds"))


@pytest.fixture
def kinds(written_kinds, monkeypatch) -> Lesson:
    """The course has a lesson more, which asks every kind of check that no other asks."""
    known = content.lessons()
    monkeypatch.setattr(content, "lessons", lambda: {**known, "kinds": written_kinds})
    return written_kinds


@pytest.fixture
def published(monkeypatch) -> list[int]:
    """What was sent to the broker, instead of a broker."""
    from lessons import tasks

    sent: list[int] = []
    monkeypatch.setattr(tasks.compute_answer, "delay", sent.append)
    return sent
