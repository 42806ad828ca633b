"""Whoever was signed out while they typed loses nothing, and is told where to go on."""

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db
NOTE = "/you/notes/failure-modes/classify/"
PAGE = "/lessons/failure-modes/classify/"
HTMX = {"HTTP_HX_REQUEST": "true"}


def test_a_form_of_someone_signed_out_comes_back_with_what_was_typed_and_the_way_to_its_page(
    client,
):
    response = client.post(
        NOTE, {"text": "the queue <grew>"}, HTTP_REFERER=f"http://testserver{PAGE}?demo=x"
    )
    page = response.content.decode()
    assert response.status_code == 403
    assert "You are signed out" in page
    assert "the queue &lt;grew&gt;</textarea>" in page
    assert f"/account/login/?next={PAGE}%3Fdemo%3Dx" in page


def test_a_button_of_someone_signed_out_leads_to_sign_in_and_back(client):
    response = client.post(f"{PAGE}read/", HTTP_REFERER=f"http://testserver{PAGE}")
    assert response["Location"] == f"/account/login/?next={PAGE}"


def test_a_page_elsewhere_is_no_way_back(client):
    page = client.post(NOTE, {"text": "x"}, HTTP_REFERER="https://evil.example/")
    assert "evil" not in page.content.decode()


def test_a_part_of_a_page_is_answered_beside_the_form_that_stays(client):
    response = client.post("/lessons/failure-modes/checks/cold-rollout/", {"answer": "x"}, **HTMX)
    assert response.status_code == 422
    assert response["HX-Retarget"] == "#unanswered"
    assert "You are signed out, so nothing was sent" in response.content.decode()


def test_a_card_that_asks_by_the_clock_asks_no_more(client):
    response = client.get("/lessons/failure-modes/predictions/cap-28/", **HTMX)
    assert response.status_code == 286
    assert "<html" not in response.content.decode()


def test_a_form_without_its_token_shows_what_was_typed_but_no_password():
    strict = Client(enforce_csrf_checks=True)
    page = strict.post(NOTE, {"text": "mine", "password": "secret"}).content.decode()
    assert "mine</textarea>" in page
    assert "secret" not in page
    part = strict.post(NOTE, {"text": "mine"}, **HTMX)
    assert part.status_code == 422
    assert "older than your sign-in" in part.content.decode()
