"""Mails about an account: our own words, the page to open, and what to do if it was not you."""

import pytest
from django.core import mail
from django.urls import reverse

from courseware.models import User

pytestmark = pytest.mark.django_db
ADDRESS = "ada@example.org"


def sign_up(client):
    said = {"name": "Ada", "email": ADDRESS, "password1": "a long and odd passphrase"}
    return client.post(reverse("account_signup"), said, follow=True)


def test_who_signs_up_is_told_so_and_gets_a_page_that_confirms_the_address(client):
    page = sign_up(client).content.decode()
    assert f"A mail is on its way to {ADDRESS}" in page
    (sent,) = mail.outbox
    assert sent.subject == "Debugging LLM Serving: confirm your e-mail address"
    assert "/account/confirm-email/" in sent.body
    assert "If it was not you, do nothing" in sent.body
    assert "Thank you for using" not in sent.body


@pytest.mark.parametrize(
    ("known", "subject", "says"),
    [
        (True, "set a new password", "your password stays as it is"),
        (False, "there is no account with this address", "/account/signup/"),
    ],
)
def test_who_forgot_a_password_is_told_what_to_open(client, known, subject, says):
    if known:
        User.objects.create_user(ADDRESS, "a long and odd passphrase")
    client.post(reverse("account_reset_password"), {"email": ADDRESS})
    (sent,) = mail.outbox
    assert sent.subject == f"Debugging LLM Serving: {subject}"
    assert says in sent.body
