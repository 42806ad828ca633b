"""The site's own pages, without a browser."""

import pytest
import redis
from asgiref.sync import async_to_sync
from django.conf import settings as site_settings
from django.core.handlers.asgi import ASGIHandler
from django.http import StreamingHttpResponse
from django.test import AsyncClient, Client
from django.urls import reverse
from django.views import defaults

from courseware import views
from courseware.middleware import Compressed
from courseware.models import User

pytestmark = pytest.mark.django_db

POLICY = (
    "default-src 'self'; img-src 'self' data:; connect-src 'self'; object-src 'none'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


class FakeRedis:
    def __init__(self, pulse=None, error=None):
        self.pulse, self.error = pulse, error

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def get(self, _key):
        if self.error:
            raise self.error
        return self.pulse


@pytest.fixture
def broker(monkeypatch):
    fake = FakeRedis(pulse=b"100.0")
    monkeypatch.setattr(views.redis.Redis, "from_url", lambda *_a, **_k: fake)
    monkeypatch.setattr(views.time, "time", lambda: 112.5)
    return fake


@pytest.mark.parametrize(
    "path", ["/", "/account/login/", "/account/signup/", "/account/", "/nope/", "/healthz"]
)
def test_every_answer_carries_the_strict_policy(client, path, broker):
    assert client.get(path).headers["Content-Security-Policy"] == POLICY


def test_no_page_has_an_inline_script_or_style(client, learner_client):
    for page in (client.get("/"), client.get("/account/login/"), learner_client.get("/account/")):
        text = page.content.decode()
        assert "<style" not in text
        assert " style=" not in text
        assert " onclick=" not in text
        assert text.count("<script ") == text.count("<script src=")


def test_home_invites_a_visitor_and_greets_nobody_by_mistake(client):
    text = client.get("/").content.decode()
    assert "Create an account" in text
    assert "Your account" not in text


def test_navigation_shows_reviews_only_to_those_who_review(learner_client, grader_client):
    entries = [entry.label for entry in views_navigation(learner_client)]
    assert "Review" not in entries
    assert len(views_navigation(grader_client)) >= len(entries)


def views_navigation(client):
    from courseware.navigation import NAVIGATION

    user = User.objects.get(pk=client.session["_auth_user_id"])
    return [entry for entry in NAVIGATION if entry.for_whom(user)]


def test_an_entry_without_an_address_stays_out(client, monkeypatch):
    from courseware import navigation

    entries = (navigation.Entry("Nowhere", "labs:not-built-yet"), navigation.Entry("Start", "home"))
    monkeypatch.setattr(navigation, "NAVIGATION", entries)
    text = client.get("/").content.decode()
    assert "Nowhere" not in text
    assert 'href="/" aria-current="page">Start</a>' in text


def test_the_account_page_is_for_those_who_are_signed_in(client, learner_client, learner):
    assert client.get("/account/").headers["Location"] == "/account/login/?next=/account/"
    text = learner_client.get("/account/").content.decode()
    assert learner.name in text
    assert "Learner" in text


def test_signing_up_keeps_the_name_and_makes_a_learner(client):
    answer = client.post(
        reverse("account_signup"),
        {"name": "Ada Byron", "email": "Ada@example.org", "password1": "a-long-enough-secret"},
    )
    assert answer.status_code == 302
    ada = User.objects.get()
    assert (ada.name, ada.email, ada.role) == ("Ada Byron", "ada@example.org", "learner")


def test_a_wrong_sign_up_says_what_is_wrong_beside_the_field(client):
    text = client.post(
        reverse("account_signup"), {"name": "Ada", "email": "ada", "password1": "short"}
    ).content.decode()
    assert 'id="id_email_error"' in text
    assert 'aria-invalid="true"' in text


def test_a_closed_course_takes_no_sign_ups(client, settings):
    settings.SIGN_UP_OPEN = False
    assert "Sign-up is closed" in client.get(reverse("account_signup")).content.decode()


def test_the_theme_is_a_cookie_that_the_server_writes_into_the_page(client):
    answer = client.post("/theme/", {"theme": "dark"}, headers={"referer": "http://testserver/x/"})
    assert answer.headers["Location"] == "http://testserver/x/"
    text = client.get("/").content.decode()
    assert '<html lang="en" data-theme="dark">' in text
    assert 'name="theme" value="auto"' in text


def test_a_theme_that_does_not_exist_changes_nothing(client):
    client.post("/theme/", {"theme": "<pink>"})
    assert "theme" not in client.cookies
    client.cookies["theme"] = "<pink>"
    assert "pink" not in client.get("/").content.decode()


def test_the_theme_form_sends_nobody_to_another_site(client):
    answer = client.post("/theme/", {"theme": "dark"}, headers={"referer": "http://evil.example/"})
    assert answer.headers["Location"] == "/"


def test_health_tells_how_long_ago_a_worker_worked(client, broker):
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()) == (
        200,
        {"database": "ok", "broker": "ok", "worker_pulse_age_s": 12.5},
    )


def test_health_is_503_when_the_broker_does_not_answer(client, broker):
    broker.error = redis.ConnectionError("refused")
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()["broker"]) == (503, "ConnectionError")


def test_an_unknown_address_gets_our_page_in_development_too(client, settings):
    settings.DEBUG = True
    answer = client.get("/nope/")
    assert answer.status_code == 404
    assert "There is no such page" in answer.content.decode()


@pytest.mark.parametrize(
    ("view", "words"),
    [
        (lambda r: defaults.bad_request(r, None), "could not be read"),
        (lambda r: defaults.permission_denied(r, None), "for other roles"),
        (defaults.server_error, "stopped on this request"),
        (views.csrf_failure, "without its token"),
    ],
)
def test_every_error_page_says_what_happened_and_where_to_go(rf, view, words):
    page = view(rf.get("/")).content.decode()
    assert words in page
    assert 'class="btn primary"' in page


def test_a_form_without_its_token_gets_our_page():
    answer = Client(enforce_csrf_checks=True).post("/theme/", {"theme": "dark"})
    assert answer.status_code == 403
    assert "without its token" in answer.content.decode()


def test_the_asgi_chain_serves_the_404_of_a_signed_in_person(settings, learner):
    settings.DEBUG = True

    async def ask():
        client = AsyncClient()
        await client.aforce_login(learner, backend="django.contrib.auth.backends.ModelBackend")
        return await client.get("/nope/")

    assert async_to_sync(ask)().status_code == 404


def test_the_entry_points_import():
    from courseware import asgi, celery

    assert isinstance(asgi.application, ASGIHandler)
    assert celery.app.conf.task_ignore_result is True
    assert site_settings.CELERY_BEAT_SCHEDULE["pulse"]["task"] in celery.app.tasks


def test_a_page_is_compressed_for_those_who_can_read_it(client):
    response = client.get("/", headers={"accept-encoding": "gzip"})
    assert response.headers["Content-Encoding"] == "gzip"


def test_an_event_stream_is_never_compressed(rf):
    compressed = Compressed(
        lambda _request: StreamingHttpResponse(
            iter([b"data: x\n\n"]), content_type="text/event-stream"
        )
    )
    response = compressed(rf.get("/", headers={"accept-encoding": "gzip"}))
    assert "Content-Encoding" not in response.headers


@pytest.mark.parametrize("path", ["/static/%2e%2e/manage.py", "/static/nope.css"])
@pytest.mark.parametrize("debug", [True, False])
def test_a_static_path_without_a_file_is_a_404(settings, path, debug):
    settings.DEBUG = debug
    response = async_to_sync(AsyncClient(raise_request_exception=False).get)(path)
    assert response.status_code == 404
    assert "There is no such page" in response.content.decode()


@pytest.mark.parametrize("debug", [True, False])
def test_a_body_over_the_limit_is_told_so_in_our_own_page(client, settings, debug):
    settings.DEBUG = debug
    body = {"theme": "x" * (settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)}
    for response in (
        client.post(reverse("theme"), body),
        async_to_sync(AsyncClient().post)(reverse("theme"), body),
    ):
        assert response.status_code == 413
        assert "This is too much at once" in response.content.decode()
