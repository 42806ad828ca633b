"""What a form, or a part of a page, is answered when nobody is signed in any more: what was typed stays, and the way back is named."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import BadRequest, SuspiciousOperation
from django.http.multipartparser import MultiPartParserError
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse, HttpResponseBase

STOP_POLLING = 286
"""htmx swaps what comes with it, and asks no more by the clock."""
_NOT_TYPED = (
    "asked_from",
    "bookmark",
    "csrfmiddlewaretoken",
    "do",
    "edition",
    "hint",
    "next",
    "then",
    "try",
    "version",
    "wanted",
)
_LONGEST_SHOWN = 5000


def typed_in(request: HttpRequest) -> list[tuple[str, str]]:
    """Return name and text of what a form sent, for its sender to copy. Never a password."""
    return [
        (name, text[:_LONGEST_SHOWN])
        for name, texts in request.POST.lists()
        if name not in _NOT_TYPED and "password" not in name
        for text in texts
        if text.strip()
    ]


def typed_in_time(request: HttpRequest) -> list[tuple[str, str]]:
    """Return what ``typed_in`` does; nothing for a request without a form, or with one that cannot be read."""
    if request.method != "POST":
        return []
    try:
        return typed_in(request)
    except (BadRequest, SuspiciousOperation, MultiPartParserError, OSError):
        return []


def page_of_form(request: HttpRequest) -> str:
    """Return path and query of the page of this site that the request comes from; empty if it is none."""
    came_from = request.META.get("HTTP_REFERER", "")
    if not url_has_allowed_host_and_scheme(
        came_from, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    ):
        return ""
    parts = urlsplit(came_from)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


def signed_out(request: HttpRequest) -> HttpResponseBase:
    """Say that nobody is signed in: in place, for a part of a page; else as a page that holds what was typed, if anything was.

    Sending a form's address to the sign-in page would end in a 405, since it takes nothing but forms.
    """
    back = page_of_form(request)
    context: dict[str, object] = {"back": back, "typed": typed_in(request)}
    if request.headers.get("HX-Request"):
        return beside(request, "_signed_out.html", context)
    if not context["typed"]:
        return redirect_to_login(back or reverse("home"))
    return render(request, "signed_out.html", context, status=HTTPStatus.FORBIDDEN)


def beside(request: HttpRequest, template: str, context: dict[str, object]) -> HttpResponse:
    """Say something to htmx above the page, and leave the form as it stands."""
    status = STOP_POLLING if request.method == "GET" else HTTPStatus.UNPROCESSABLE_ENTITY
    answer = render(request, template, context, status=status)
    answer["HX-Retarget"] = "#unanswered"
    answer["HX-Reswap"] = "innerHTML"
    return answer
