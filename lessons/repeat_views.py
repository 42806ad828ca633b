"""What comes back today: the page, and the answers to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.http import Http404
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from courseware.people import learner_required, signed_in
from lessons import reminders, repeat_pages, repeats
from lessons.check_forms import CheckForm
from lessons.person_forms import MailForm, RepeatForm
from lessons.spacing import Item, due_on

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse, HttpResponseBase


@require_safe
@never_cache
@learner_required
def today(request: HttpRequest) -> HttpResponseBase:
    """Show what comes back today, and what was answered of it."""
    return _page(request)


def _page(
    request: HttpRequest, *, bound: tuple[Item, CheckForm] | None = None, status: int = 200
) -> HttpResponse:
    learner, day = signed_in(request), timezone.localdate()
    scheduled = repeats.scheduled_for(learner)
    ahead = [each.due for each in scheduled if each.due and each.due > day]
    context = {
        "due": repeat_pages.due_cards(learner, due_on(day, scheduled), day, bound=bound),
        "done": repeat_pages.done_cards(learner, repeats.answered_on(learner, day), scheduled),
        "missed": len(scheduled),
        "next_on": min(ahead, default=None),
        "next_count": ahead.count(min(ahead)) if ahead else 0,
        "mail": reminders.wanted_by(learner),
        "ladder": repeat_pages.ladder_words(),
    }
    return render(request, "lessons/review.html", context, status=status)


@require_POST
@learner_required
def check(request: HttpRequest, lesson: str, key: str) -> HttpResponseBase:
    """Take today's answer to a check."""
    item = _item_or_404("check", lesson, key)
    _, station = repeat_pages.place_of(item)
    question = station.checks[key]
    form = CheckForm(question, request.POST)
    if not form.is_valid():
        return _page(request, bound=(item, form), status=422)
    try:
        repeats.answer_check(signed_in(request), item, question, form.cleaned_data["answer"])
    except repeats.NotDueError:
        return _not_due(request)
    return _answered(item)


@require_POST
@learner_required
def prediction(request: HttpRequest, lesson: str, key: str) -> HttpResponseBase:
    """Take today's answer to a prediction that was missed."""
    item = _item_or_404("prediction", lesson, key)
    form = RepeatForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Press one of the two buttons below it. Nothing was stored.")
        return _answered(item)
    try:
        repeats.answer_prediction(signed_in(request), item, form.cleaned_data["answer"])
    except repeats.NotDueError:
        return _not_due(request)
    return _answered(item)


@require_POST
@learner_required
def mail(request: HttpRequest) -> HttpResponseBase:
    """Turn the mail on or off."""
    form = MailForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Press the button to turn the mail on or off. Nothing was changed.")
        return redirect(reverse("you:review") + "#mail")
    page = request.build_absolute_uri(reverse("you:review"))
    reminders.want(signed_in(request), wanted=form.cleaned_data["wanted"] == "yes", page=page)
    return redirect(reverse("you:review") + "#mail")


def _answered(item: Item) -> HttpResponseBase:
    return redirect(reverse("you:review") + f"#{repeat_pages.anchor_of(item)}")


def _not_due(request: HttpRequest) -> HttpResponseBase:
    messages.info(
        request, "That does not come back today, or you have answered it. Nothing changed."
    )
    return redirect("you:review")


def _item_or_404(kind: str, lesson: str, key: str) -> Item:
    item = Item("check" if kind == "check" else "prediction", lesson, key)
    if not repeats.question_known(item):
        raise Http404
    return item
