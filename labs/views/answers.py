"""Answers to the forms of the room: taken, or not now and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.shortcuts import redirect

from labs import attempts
from labs.models import Attempt
from labs.room import room_of
from labs.views.room_page import is_htmx, room_page

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest, HttpResponseBase

BUSY, INVALID = 409, 422


def done(
    request: HttpRequest, attempt: Attempt, anchor: str = "", *, taken: str = ""
) -> HttpResponseBase:
    """Answer a form that was taken: the working parts anew, or back to the room."""
    if is_htmx(request):
        attempt.refresh_from_db()
        return room_page(request, attempt, taken=taken)
    return redirect(f"{attempt.get_absolute_url()}{anchor}")


def take(
    request: HttpRequest,
    attempt: Attempt,
    do: Callable[[], object],
    anchor: str = "",
    *,
    form: str = "",
    **typed: Any,
) -> HttpResponseBase:
    """Do what a form asks for; while something is under way or the attempt is closed, say so and keep the input."""
    try:
        do()
    except attempts.Busy:
        attempt.refresh_from_db()
        busy = room_of(attempt).under_way
        problem = (
            f"One thing at a time: “{busy.what}” is still running. Nothing was charged."
            if busy
            else "You have another attempt at this lab under way. Close it or give it up first."
            if attempt.status == Attempt.Status.NOT_GRADED
            else "One thing at a time: something else was just taken. Try again."
        )
        return room_page(request, attempt, status=BUSY, problem=problem, **typed)
    except attempts.Closed:
        attempt.refresh_from_db()
        problem = "This attempt is closed and takes no more actions."
        return room_page(request, attempt, status=BUSY, problem=problem, **typed)
    except attempts.NotNow as refusal:
        attempt.refresh_from_db()
        return room_page(request, attempt, status=BUSY, problem=str(refusal), **typed)
    return done(request, attempt, anchor, taken=form)
