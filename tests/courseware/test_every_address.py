"""Odd input at every address of the site: each is answered, none with a fault of ours."""

import re

import pytest
from django.test import Client
from django.urls import URLResolver, get_resolver

from tests.factories import AttemptFactory

pytestmark = pytest.mark.django_db

ODD = ("\x00", "1e999 <script>\u202e{{ 7*7 }} ' OR 1=1 -- %00%ff")
FIELDS = (
    "q", "value", "text", "why", "confidence", "version", "note", "body", "choice", "reason", "labs",
    "part", "points", "line", "seq", "station", "key", "page", "next", "answer", "url", "email",
)  # fmt: skip
LEFT_OUT = ("static/", "healthz", "account/logout/")
"""Files; what is a fault while no broker runs; what would sign out whoever asks."""
KINDS = {"slug": "failure-modes", "int": "1", "str": "x"}
NAMES = {
    "number": "1.1",
    "station": "classify",
    "station_slug": "classify",
    "lesson_slug": "failure-modes",
}


def routes(patterns, before=""):
    for each in patterns:
        route = before + str(each.pattern)
        if isinstance(each, URLResolver):
            yield from routes(each.url_patterns, route)
        else:
            yield route


@pytest.fixture
def addresses(learner):
    """Every address of the site, with the learner's own open attempt where one is asked for."""
    known = {**KINDS, "uuid": str(AttemptFactory(learner=learner, status="open").public_id)}

    def filled(found):
        kind, _, name = found[1].rpartition(":")
        return NAMES.get(name, known.get(kind, "1.1"))

    every = [each for each in routes(get_resolver().url_patterns) if not each.startswith(LEFT_OUT)]
    assert len(every) > 70
    return ["/" + re.sub(r"<([^>]+)>", filled, each).strip("^$") for each in every]


@pytest.mark.slow
@pytest.mark.parametrize("who", ["visitor", "learner", "instructor"])
def test_no_address_answers_odd_input_with_a_fault(who, addresses, request):
    client = Client() if who == "visitor" else request.getfixturevalue(f"{who}_client")
    client.raise_request_exception = False
    faults = []

    def look(method, address, *sent, **how):
        status = getattr(client, method)(address, *sent, **how).status_code
        if status >= 500:
            faults.append((method, address, sent, status))

    for address in addresses:
        for odd in ODD:
            look("get", address, dict.fromkeys(FIELDS, odd))
            look("post", address, dict.fromkeys(FIELDS, odd))
        if who == "visitor":
            look("post", address, data="--x", content_type="multipart/form-data; boundary=x")
            for method in ("head", "options", "put"):
                look(method, address)
    assert not faults
