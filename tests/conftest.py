"""People, signed-in clients, and nothing else: an app's own fixtures stand beside its tests."""

from collections.abc import Iterator

import pytest
from django.conf import settings as django_settings
from django.test import Client

from courseware import served
from courseware.models import User
from tests.factories import UserFactory


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of the suites that are not everybody's.

    ``--every-look``: browser tests in each theme at each width, not in two of the four.
    ``--live``: the tests of tests/live, which start real engines (`make test-live`).
    """
    parser.addoption("--every-look", action="store_true", help="every theme at every width")
    parser.addoption("--live", action="store_true", help="tests on a real engine, in tests/live")


django_settings.CONTENT_LOOK_EVERY_S = 0
"""No test, and no module that one imports, looks for a newer course unless it says so."""


@pytest.fixture(autouse=True)
def _own_course() -> Iterator[None]:
    """Each test is served the checkout's course, whatever the one before published."""
    yield
    served.serve(served.CHECKOUT)


@pytest.fixture
def learner(db) -> User:
    return UserFactory()


@pytest.fixture
def another_learner(db) -> User:
    return UserFactory()


@pytest.fixture
def instructor(db) -> User:
    return UserFactory(role=User.Role.INSTRUCTOR)


@pytest.fixture
def grader(db) -> User:
    return UserFactory(role=User.Role.GRADER)


def _client(user: User) -> Client:
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


@pytest.fixture
def learner_client(learner) -> Client:
    return _client(learner)


@pytest.fixture
def another_learner_client(another_learner) -> Client:
    return _client(another_learner)


@pytest.fixture
def instructor_client(instructor) -> Client:
    return _client(instructor)


@pytest.fixture
def grader_client(grader) -> Client:
    return _client(grader)
