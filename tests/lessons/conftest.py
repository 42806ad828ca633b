"""Addresses and short cuts of the lessons' tests."""

from dataclasses import dataclass

import pytest
from django.urls import reverse

from lessons import content

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


@pytest.fixture
def published(monkeypatch) -> list[int]:
    """What was sent to the broker, instead of a broker."""
    from lessons import tasks

    sent: list[int] = []
    monkeypatch.setattr(tasks.compute_answer, "delay", sent.append)
    return sent
