"""The pages in which one looks things up: open to all, and locked where a tier says so."""

import pytest

from courseware.glossary import glossary
from lessons import lookup
from lessons.symptoms import symptoms

pytestmark = pytest.mark.django_db


def page(client, address, **headers):
    answer = client.get(address, headers=headers)
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_index_shows_every_symptom_with_its_first_measurement(client):
    shown = page(client, "/symptoms/")
    for number in symptoms():
        assert f'href="/symptoms/{number}/"' in shown
    assert shown.count("Measure first:") == len(symptoms())


def test_layers_narrow_the_index_and_an_unknown_one_does_not(client):
    rows = [each for each in symptoms().values() if each.layer == "overload"]
    assert page(client, "/symptoms/?layer=overload").count("Measure first:") == len(rows)
    assert page(client, "/symptoms/?layer=kitchen").count("Measure first:") == len(symptoms())


@pytest.mark.parametrize("number", list(symptoms()))
def test_every_symptom_has_a_page_for_who_is_signed_in(client, django_user_model, number):
    client.force_login(django_user_model.objects.create_user("ada@example.org"))
    shown = page(client, f"/symptoms/{number}/")
    assert "Seen elsewhere" in shown


def tiered(monkeypatch, tier):
    from dataclasses import replace

    found = {"1.1": replace(symptoms()["1.1"], tier=tier)}
    monkeypatch.setattr(lookup, "symptoms", lambda: found)


@pytest.mark.parametrize("tier", ["signed-in", "enrolled"])
def test_a_tier_locks_the_mechanism_and_not_the_first_measurement(client, monkeypatch, tier):
    tiered(monkeypatch, tier)
    shown = page(client, "/symptoms/1.1/")
    assert "Measure first:" in shown
    assert "Seen elsewhere" not in shown
    assert "/account/login/?next=/symptoms/1.1/" in shown


def test_without_open_enrolment_an_account_does_not_open_what_is_for_the_enrolled(
    client, monkeypatch, django_user_model, settings
):
    settings.OPEN_ENROLMENT = False
    tiered(monkeypatch, "enrolled")
    client.force_login(django_user_model.objects.create_user("ada@example.org"))
    assert "your instructor has the code" in page(client, "/symptoms/1.1/")


@pytest.mark.parametrize("number", ["9.9", "1.1.1", "x"])
def test_a_symptom_that_is_not_there_is_a_404(client, number):
    assert client.get(f"/symptoms/{number}/").status_code == 404


def test_the_glossary_shows_every_term_once(client):
    shown = page(client, "/glossary/")
    for term in glossary().values():
        assert shown.count(f'<div id="{term.slug}">') == 1


def test_a_search_is_a_page_and_while_typing_a_fragment(client):
    whole, part = (
        page(client, "/search/?q=preempt"),
        page(client, "/search/?q=preempt", **{"HX-Request": "true"}),
    )
    assert "<html" in whole
    assert "<html" not in part
    for shown in (whole, part):
        assert 'href="/glossary/#preemption"' in shown
        assert "found for “preempt”" in shown


def test_a_search_for_nothing_that_is_here_says_how_to_go_on(client):
    assert "Try fewer words" in page(client, "/search/?q=zebra+crossing")


@pytest.mark.parametrize("query", ["<script>", "%00", "x" * 5000, "“", "a b c d e f g h i j k l"])
def test_whatever_is_typed_is_answered(client, query):
    assert (
        "<script>" not in page(client, f"/search/?q={query}").split("<main")[1].split("</main")[0]
    )
