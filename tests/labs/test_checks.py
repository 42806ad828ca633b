"""Broken lab content is a system check, and a broker that is away is no error."""

import pytest
import redis

from labs import checks, doorbell, plays, pool
from labs.specs import SpecError


def ids():
    return [found.id for found in checks.content_check(None)]


def test_the_labs_as_they_are_pass():
    assert ids() == []


def test_each_fault_of_a_spec_is_an_error_of_its_own(monkeypatch):
    def broken():
        raise SpecError("a/lab.toml: x: one\na/lab.toml: y: two")

    monkeypatch.setattr(checks, "labs", broken)
    assert ids() == ["labs.E001", "labs.E001"]


def test_a_play_that_cannot_be_read_is_an_error(monkeypatch):
    def broken(slug, name):
        raise plays.PlayError("plays/x.toml: title is missing")

    monkeypatch.setattr(plays, "load_play", broken)
    assert set(ids()) == {"labs.E002", "labs.E008"}


def test_files_of_another_code_are_an_error_that_says_what_to_run(monkeypatch):
    def broken(slug):
        raise pool.NotProved("pool.json is missing")

    monkeypatch.setattr(pool, "table", broken)
    found = checks.content_check(None)
    assert {each.id for each in found} == {"labs.E003", "labs.E008"}
    assert all("manage.py prove" in each.hint for each in found)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[item]]\n", "rubric.toml:1: item 1, key: missing"),
        (
            '[[item]]\nkey = "a"\ntitle = "{{ hypotheses }}"\npoints = 1\n',
            "rubric.toml:3: item 1, title: there is no {{ hypotheses }}; there are: hypothesis",
        ),
    ],
)
def test_a_rubric_that_cannot_be_used_is_an_error_with_file_and_line(monkeypatch, text, says):
    read = checks.text_of
    monkeypatch.setattr(
        checks, "text_of", lambda slug, name: text if name == "rubric.toml" else read(slug, name)
    )
    found = checks.content_check(None)
    assert {each.id for each in found} == {"labs.E006"}
    assert any(each.msg.startswith(f"preemption-storm/{says}") for each in found)


def test_a_lab_without_a_rubric_is_an_error(monkeypatch):
    read = checks.text_of

    def missing(slug, name):
        if (slug, name) == ("preemption-storm", "rubric.toml"):
            raise FileNotFoundError
        return read(slug, name)

    monkeypatch.setattr(checks, "text_of", missing)
    assert ids() == ["labs.E006"]


@pytest.mark.parametrize("error", [redis.ConnectionError, redis.TimeoutError])
def test_a_ring_without_a_broker_is_lost_and_raises_nothing(monkeypatch, error):
    class Away:
        def publish(self, channel, message):
            raise error

    monkeypatch.setattr(doorbell, "_broker", Away)
    doorbell.ring(7)
