"""What a worker does for an attempt: a command, a restart with flags, its cancelling, and what failed taken up again."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from django.http import Http404, HttpResponse
from django.views.decorators.http import require_GET, require_POST

from courseware.people import learner_required
from labs import attempts, leases, room
from labs.forms import FlagsForm
from labs.models import Action, Attempt
from labs.views.access import attempt_or_404
from labs.views.answers import BUSY, INVALID, done, take
from labs.views.room_page import is_htmx, room_page

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpRequest, HttpResponseBase

SOON_S = 0.5
"""Most readings are there within so long: then they come with the answer to the click, and without a flicker."""
LOOK_EVERY_S = 0.02


@require_POST
@learner_required
def command(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Take a typed or clicked command."""
    attempt = attempt_or_404(request, public_id)
    line = request.POST.get("command", "")
    if _not_predicted(attempt):
        return room_page(request, attempt, status=BUSY, problem="Commit your prediction first.")
    found: list[Action] = []

    def do() -> None:
        found.append(attempts.command(attempt, line))
        _wait_a_moment(found[0])

    response = take(request, attempt, do, "#console", line=line)
    if found and found[0].status == Action.Status.REFUSED and not is_htmx(request):
        return room_page(request, attempt, status=INVALID, line=line)
    return response


def _wait_a_moment(action: Action) -> None:
    """Return when an action is over, or after SOON_S: the page is told of the rest by its stream."""
    until = time.monotonic() + SOON_S
    rows = Action.objects.filter(pk=action.pk).under_way()
    while time.monotonic() < until and rows.exists():
        time.sleep(LOOK_EVERY_S)


def _not_predicted(attempt: Attempt) -> bool:
    return not attempt.actions.filter(kind=Action.Kind.PREDICT, status=Action.Status.DONE).exists()


@require_POST
@learner_required
def restart(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Take the small form of engine flags: the same as typing its restart line."""
    attempt = attempt_or_404(request, public_id)
    form = FlagsForm(request.POST)
    if not form.is_valid():
        return room_page(request, attempt, status=INVALID, flags=form)
    if _not_predicted(attempt):
        return room_page(request, attempt, status=BUSY, problem="Commit your prediction first.")
    line = form.line()
    return take(
        request,
        attempt,
        lambda: _wait_a_moment(attempts.command(attempt, line)),
        "#console",
        form="flags",
        flags=form,
        line="",
    )


@require_GET
@learner_required
def price(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Say what a typed line would cost, before it is run."""
    attempt = attempt_or_404(request, public_id)
    return HttpResponse(
        room.price(attempt.spec, request.GET.get("command", "")), content_type="text/plain"
    )


@require_POST
@learner_required
def cancel(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Cancel what is under way. If it has just finished, the page shows that."""
    attempt = attempt_or_404(request, public_id)
    action = attempt.actions.filter(seq=_seq(request)).first()
    if action is None:
        raise Http404
    attempts.cancel(action)
    return done(request, attempt, "#console")


@require_POST
@learner_required
def again(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Take up again what failed: bringing the world to its page, or the marking."""
    attempt = attempt_or_404(request, public_id)

    def do() -> None:
        if attempt.status == Attempt.Status.NOT_GRADED:
            attempts.mark_again(attempt)
        elif attempt.is_live:
            leases.ask(attempt)
        else:
            attempts.take_up_again(attempt)

    return take(request, attempt, do)


def _seq(request: HttpRequest) -> int:
    try:
        return int(request.POST.get("seq", ""))
    except ValueError:
        raise Http404 from None
