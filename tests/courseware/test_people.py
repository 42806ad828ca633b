"""Roles, and the links that sign one in."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.core.management import CommandError, call_command
from django.db import IntegrityError
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils import timezone

from courseware import people
from courseware.models import SignInLink, User
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def development(settings):
    settings.DEBUG = True


def test_graders_and_instructors_may_review_and_only_instructors_may_author():
    may = {role: UserFactory(role=role) for role in User.Role.values}
    assert [role for role, user in may.items() if people.may_review(user)] == [
        "instructor",
        "grader",
    ]
    assert [role for role, user in may.items() if people.may_author(user)] == ["instructor"]


def test_a_visitor_and_someone_shut_out_may_do_nothing():
    assert not people.may_review(AnonymousUser())
    assert not people.may_author(UserFactory(role="instructor", is_active=False))


def test_a_superuser_may_do_everything():
    boss = User.objects.create_superuser("boss@example.org", "a-long-enough-secret")
    assert people.may_review(boss)
    assert people.may_author(boss)


def test_a_guarded_view_sends_visitors_to_sign_in_and_refuses_other_roles(rf, learner, grader):
    view = people.grader_required(lambda _request: HttpResponse("the queue"))
    request = rf.get("/labs/reviews/")
    request.user = AnonymousUser()
    assert view(request).headers["Location"].startswith(reverse("account_login"))
    request.user = learner
    with pytest.raises(PermissionDenied):
        view(request)
    request.user = grader
    assert view(request).content == b"the queue"


def test_anothers_row_is_a_404(learner, another_learner):
    people.new_sign_in_link(learner)
    links = SignInLink.objects.all()
    assert people.own_or_404(links, learner, owner="user") == links.get()
    with pytest.raises(Http404):
        people.own_or_404(links, another_learner, owner="user")


def test_an_address_belongs_to_one_person_in_any_case():
    UserFactory(email="ada@example.org")
    with pytest.raises(IntegrityError):
        UserFactory(email="Ada@Example.org")


@pytest.mark.parametrize(
    ("name", "email", "initials"),
    [
        ("Maya Lindqvist", "m@example.org", "ML"),
        ("Ada King Noel Byron", "a@example.org", "AB"),
        ("Plato", "p@example.org", "P"),
        ("", "grace.hopper@example.org", "GH"),
    ],
)
def test_initials_fit_into_the_top_bar(name, email, initials):
    assert User(name=name, email=email).initials == initials


def test_a_link_signs_its_person_in_once(client, learner):
    address = reverse("sign-in-link", args=[people.new_sign_in_link(learner)])
    assert client.get(address).headers["Location"] == "/"
    assert client.session["_auth_user_id"] == str(learner.pk)
    again = client.get(address)
    assert again.status_code == 410
    assert b"works once" in again.content


def test_an_expired_link_signs_nobody_in(client, learner):
    token = people.new_sign_in_link(learner)
    SignInLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert client.get(reverse("sign-in-link", args=[token])).status_code == 410
    assert "_auth_user_id" not in client.session


def test_the_table_holds_no_token(learner):
    token = people.new_sign_in_link(learner)
    row = SignInLink.objects.get()
    assert token not in str(vars(row))


def test_production_makes_no_links_and_takes_none(settings, client, learner):
    token = people.new_sign_in_link(learner)
    settings.DEBUG = False
    assert people.spend_sign_in_link(token) is None
    assert client.get(reverse("sign-in-link", args=[token])).status_code == 404
    with pytest.raises(PermissionDenied):
        people.new_sign_in_link(learner)
    with pytest.raises(CommandError):
        call_command("sign_in_link", "learner")


def test_demo_people_are_made_once():
    assert people.demo_people() == people.demo_people()
    assert User.objects.count() == 3


def test_an_operator_can_change_a_role(learner, capsys):
    call_command("set_role", learner.email.upper(), "grader")
    learner.refresh_from_db()
    assert learner.role == "grader"
    with pytest.raises(CommandError, match="Nobody"):
        call_command("set_role", "nobody@example.org", "grader")
