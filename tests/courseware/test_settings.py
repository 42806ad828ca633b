"""The readers of the environment, and the checks of a deployment."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from courseware import checks
from courseware.settings import BASE_DIR, database, env_bool, env_int, env_list


@pytest.mark.parametrize(
    ("raw", "value"), [("true", True), ("1", True), ("No", False), ("0", False), ("", True)]
)
def test_a_switch_is_read(monkeypatch, raw, value):
    monkeypatch.setenv("SWITCH", raw)
    assert env_bool("SWITCH", default=True) is value


def test_a_misspelt_switch_raises_instead_of_meaning_off(monkeypatch):
    monkeypatch.setenv("SWITCH", "ture")
    with pytest.raises(ImproperlyConfigured, match="SWITCH='ture': write true or false"):
        env_bool("SWITCH", default=True)


@pytest.mark.parametrize(
    ("raw", "words"), [("seven", "write a whole number"), ("4", "the least it can be is 5")]
)
def test_a_number_out_of_range_or_no_number_raises(monkeypatch, raw, words):
    monkeypatch.setenv("NUMBER", raw)
    with pytest.raises(ImproperlyConfigured, match=words):
        env_int("NUMBER", default=9, minimum=5)


def test_a_list_forgives_spaces_and_a_last_comma(monkeypatch):
    monkeypatch.setenv("HOSTS", " a.example, b.example ,")
    assert env_list("HOSTS") == ["a.example", "b.example"]


def test_sqlite_is_opened_for_many_writers():
    options = database("sqlite:///course.sqlite3")["OPTIONS"]
    assert options["transaction_mode"] == "IMMEDIATE"
    assert "journal_mode=WAL" in options["init_command"]


def test_an_sqlite_path_is_relative_to_the_checkout_unless_it_starts_with_a_slash():
    assert database("sqlite:///course.sqlite3")["NAME"] == BASE_DIR / "course.sqlite3"
    assert str(database("sqlite:////srv/course.sqlite3")["NAME"]) == "/srv/course.sqlite3"


def test_a_postgres_url_is_taken_apart():
    read = database("postgres://ada:p%40ss@db.internal:5433/course?sslmode=require")
    assert (read["USER"], read["PASSWORD"], read["HOST"], read["PORT"], read["NAME"]) == (
        ("ada", "p@ss", "db.internal", "5433", "course")
    )
    assert read["OPTIONS"] == {"sslmode": "require"}


@pytest.mark.parametrize("url", ["mysql://db/course", "postgres://db", "sqlite://", "course.db"])
def test_a_database_that_cannot_be_meant_raises(url):
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL"):
        database(url)


def _found(settings) -> list[str]:
    return [error.id for error in checks.production_is_configured(None)]


def test_a_bare_checkout_passes(settings):
    settings.DEBUG = True
    assert _found(settings) == []


def test_production_on_bare_settings_is_refused_with_a_hint_for_each(settings, monkeypatch):
    monkeypatch.delenv("REDIS_URL", raising=False)
    settings.DEBUG = False
    settings.SECRET_KEY = settings.INSECURE_SECRET_KEY
    settings.ALLOWED_HOSTS = []
    found = checks.production_is_configured(None)
    assert [error.id for error in found] == [f"courseware.E00{n}" for n in (1, 2, 3)]
    assert all(error.hint for error in found)


def test_production_with_a_star_for_hosts_is_refused(settings, monkeypatch):
    monkeypatch.setenv("REDIS_URL", "redis://broker:6379/0")
    settings.DEBUG = False
    settings.SECRET_KEY = "x" * 60
    settings.ALLOWED_HOSTS = ["*"]
    assert _found(settings) == ["courseware.E004"]


def test_production_that_is_configured_passes(settings, monkeypatch):
    monkeypatch.setenv("REDIS_URL", "redis://broker:6379/0")
    settings.DEBUG = False
    settings.SECRET_KEY = "x" * 60
    settings.ALLOWED_HOSTS = ["course.example.org"]
    assert _found(settings) == []


def test_a_message_is_not_delivered_again_while_its_task_may_still_run(settings):
    hard_limit = settings.CELERY_TASK_TIME_LIMIT
    assert hard_limit > settings.CELERY_TASK_SOFT_TIME_LIMIT
    assert settings.CELERY_BROKER_TRANSPORT_OPTIONS["visibility_timeout"] > hard_limit
