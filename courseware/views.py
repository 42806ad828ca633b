"""Home, account, health, theme, one-time links, and the pages for errors that have a cause."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import redis
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.db import DatabaseError, connection
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from courseware.cohorts.access import seats_of
from courseware.cohorts.shown import announcements
from courseware.models import Membership, User
from courseware.navigation import THEMES
from courseware.people import learner_required, signed_in, spend_sign_in_link
from courseware.signed_out import beside, page_of_form, typed_in, typed_in_time
from courseware.tasks import PULSE_KEY

if TYPE_CHECKING:
    from django.http import HttpResponseBase

YEAR_S = 365 * 24 * 60 * 60


@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """What this is, and where a person left off.

    Each app may bring ``templates/<app>/_home.html``; one that is not there leaves no gap.
    """
    seats: list[Membership] = []
    if isinstance(request.user, User):
        seats = list(seats_of(request.user).filter(cohort__ends_on__gte=timezone.localdate()))
    context = {
        "rooms": [[f"{app}/_home.html", "_empty.html"] for app in ("lessons", "labs")],
        "seats": seats,
        "announcements": announcements([each.cohort for each in seats]) if seats else [],
    }
    return render(request, "home.html", context)


@learner_required
@require_http_methods(["GET", "HEAD"])
def account(request: HttpRequest) -> HttpResponse:
    return render(request, "account/profile.html", {"person": signed_in(request)})


@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Remember light, dark or auto in a cookie, and go back to the page."""
    chosen = request.POST.get("theme", "")
    back = request.META.get("HTTP_REFERER", "")
    here = url_has_allowed_host_and_scheme(
        back, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    response = HttpResponse(status=204) if request.htmx else redirect(back if here else "home")  # type: ignore[attr-defined]
    if chosen in THEMES:
        response.set_cookie(
            "theme", chosen, max_age=YEAR_S, samesite="Lax", secure=request.is_secure()
        )
    return response


@never_cache
@require_GET
def sign_in_link(request: HttpRequest, token: str) -> HttpResponse:
    """Sign in by a link that works once, and only while DEBUG is on."""
    if not settings.DEBUG:
        raise Http404
    user = spend_sign_in_link(token)
    if user is None:
        return render(request, "account/link_spent.html", status=410)
    login(request, user, backend="django.contrib.auth.backends.ModelBackend")
    messages.success(request, f"Signed in as {user}, {user.get_role_display().lower()}.")
    return redirect("home")


@never_cache
@require_GET
def healthz(request: HttpRequest) -> JsonResponse:  # noqa: ARG001
    """Say whether database and broker answer, and how long ago a worker last did a beat's task."""
    answer: dict[str, object] = {"database": "ok", "broker": "ok", "worker_pulse_age_s": None}
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        answer["database"] = type(error).__name__
    try:
        with redis.Redis.from_url(
            settings.REDIS_URL, socket_timeout=1, socket_connect_timeout=1
        ) as broker:
            pulse = broker.get(PULSE_KEY)
    except redis.RedisError as error:
        answer["broker"] = type(error).__name__
    else:
        if isinstance(pulse, bytes):
            answer["worker_pulse_age_s"] = round(max(0.0, time.time() - float(pulse)), 1)
    healthy = answer["database"] == answer["broker"] == "ok"
    return JsonResponse(answer, status=200 if healthy else 503)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponseBase:
    """The form was sent without its token: an old tab, or cookies are off."""
    if request.headers.get("HX-Request"):
        return beside(request, "_old_form.html", {})
    context = {"reason": reason, "typed": typed_in(request), "back": page_of_form(request)}
    return render(request, "403_csrf.html", context, status=403)


def not_there(request: HttpRequest, exception: Exception) -> HttpResponseBase:  # noqa: ARG001
    """Answer with a 404. A form for what is not there, or is not there any more, gets back what was typed."""
    return render(request, "404.html", {"typed": typed_in_time(request)}, status=404)


def not_allowed(request: HttpRequest, exception: Exception) -> HttpResponseBase:  # noqa: ARG001
    """Answer with a 403. A form whose sender has lost the right to send it gets back what was typed."""
    return render(request, "403.html", {"typed": typed_in_time(request)}, status=403)
