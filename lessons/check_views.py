"""Checks: a try, a line of why, a report of a problem; and the reports, for instructors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.http import Http404
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from courseware.people import instructor_required, learner_required, signed_in
from lessons import check_lines, content, hints, progress, views
from lessons.by_method import by_method
from lessons.check_cards import check_card, text_of
from lessons.check_forms import CheckForm, HintForm, ProblemForm, UnjudgedForm, WhyForm
from lessons.checks_marking import is_resolved
from lessons.match_checks import settled

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponseBase

    from lessons.check_cards import CheckCard
    from lessons.content import Lesson, Station
    from lessons.hint_cards import Asked
    from lessons.models import CheckTry, ProblemReport
    from lessons.questions import Question

MOST_DONE = 50
"""So many reports that are done stand on the page; the rest is kept."""


@require_POST
@learner_required
def answer(request: HttpRequest, lesson: str, check: str) -> HttpResponseBase:
    """Take one try at a check."""
    found, here, question = _check_or_404(lesson, check)
    tries = _tries(request, found, question)
    stays = settled(question.matching, tries[-1].answer) if question.matching and tries else None
    form = CheckForm(question, request.POST, settled=stays)
    if not form.is_valid():
        return _check(request, found, here, question, form=form)
    said = form.cleaned_data
    try:
        progress.answer_check(
            signed_in(request), found, question, said["answer"], number=said["try"]
        )
    except progress.AnsweredFirstError:
        return _check(request, found, here, question, form=form, is_second=True)
    except progress.AlreadyResolvedError:
        # A resolved card says so itself: it shows every try and the explanation.
        pass
    return _check(request, found, here, question, fresh=True)


@learner_required
def _ask_hint(request: HttpRequest, lesson: str, check: str) -> HttpResponseBase:
    found, here, question = _check_or_404(lesson, check)
    form = HintForm(request.POST)
    number = form.cleaned_data["hint"] if form.is_valid() else 0
    try:
        hints.ask_hint(signed_in(request), found, question, number)
    except hints.NoHintError:
        return _hints(
            request, found, here, question, "none" if number > len(question.hints) else ""
        )
    return _hints(request, found, here, question, "now")


@learner_required
def _hints_now(request: HttpRequest, lesson: str, check: str) -> HttpResponseBase:
    found, here, question = _check_or_404(lesson, check)
    if not views.is_htmx(request):
        return redirect(views.address(found, here) + f"#check-{question.key}")
    return _hints(request, found, here, question, "")


hint = by_method(show=_hints_now, take=_ask_hint)


def _hints(
    request: HttpRequest, found: Lesson, here: Station, question: Question, asked: Asked
) -> HttpResponseBase:
    """Answer with the hints alone or, without JavaScript, with the page and what stands in its form."""
    if not question.hints:
        raise Http404
    if views.is_htmx(request):
        context = {"card": _card(request, found, question, asked=asked)}
        return render(request, "lessons/_check_hints.html", context)
    kept = UnjudgedForm(question, request.POST)
    card = _card(request, found, question, asked=asked, form=kept)
    return views.station_page(request, found, here, replaced={question.key: card})


@require_POST
@learner_required
def why(request: HttpRequest, lesson: str, check: str) -> HttpResponseBase:
    """Keep why the answer is right, once, when the check is resolved."""
    found, here, question = _resolved_or_404(request, lesson, check)
    form = WhyForm(request.POST)
    if not form.is_valid():
        return _check(request, found, here, question, why_form=form)
    check_lines.say_why(signed_in(request), found, question, form.cleaned_data["why"])
    return _check(request, found, here, question, told="why")


@require_POST
@learner_required
def problem(request: HttpRequest, lesson: str, check: str) -> HttpResponseBase:
    """Keep a report of what is wrong with a question, when the check is resolved."""
    found, here, question = _resolved_or_404(request, lesson, check)
    form = ProblemForm(request.POST)
    if not form.is_valid():
        return _check(request, found, here, question, problem_form=form)
    check_lines.report_problem(signed_in(request), found, question, form.cleaned_data["problem"])
    return _check(request, found, here, question, told="problem")


def _check(
    request: HttpRequest, found: Lesson, here: Station, question: Question, **shown: Any
) -> HttpResponseBase:
    """Answer with the fragment or, without JavaScript, with the page; ``shown`` is for the card."""
    is_bad = any(name in shown for name in ("form", "why_form", "problem_form"))
    if not is_bad and not views.is_htmx(request):
        return redirect(views.address(found, here) + f"#check-{question.key}")
    card = _card(request, found, question, **shown)
    status = 422 if is_bad else 200
    if views.is_htmx(request):
        mine = progress.progress_of(request.user, found)
        untried = views.untried_in(here, mine)
        context = {"card": card, "untried": untried, "read": here.slug in mine.read}
        return render(request, "lessons/_check_answered.html", context, status=status)
    return views.station_page(request, found, here, replaced={question.key: card}, status=status)


def _card(request: HttpRequest, found: Lesson, question: Question, **shown: Any) -> CheckCard:
    mine = progress.progress_of(request.user, found)
    lines = check_lines.lines_of(request.user, found)
    return check_card(
        found,
        question,
        mine.tries.get(question.key, []),
        hints=mine.hints.get(question.key, []),
        why=lines.whys.get(question.key),
        problem=lines.problems.get(question.key),
        **shown,
    )


def _check_or_404(lesson: str, check: str) -> tuple[Lesson, Station, Question]:
    found = views.lesson_or_404(lesson)
    here = found.with_check(check)
    if here is None:
        raise Http404
    return found, here, here.checks[check]


def _resolved_or_404(
    request: HttpRequest, lesson: str, check: str
) -> tuple[Lesson, Station, Question]:
    found, here, question = _check_or_404(lesson, check)
    if not is_resolved(question, [row.right for row in _tries(request, found, question)]):
        raise Http404
    return found, here, question


def _tries(request: HttpRequest, found: Lesson, question: Question) -> list[CheckTry]:
    return progress.tries_at(signed_in(request), found, question)


# ------------------------------------------------------------------------------- for instructors


@dataclass(frozen=True)
class ReportRow:
    """One report, and the question as the course asks it now."""

    report: ProblemReport
    lesson: Lesson | None
    """None once the course has it no more; so for the station."""
    station: Station | None
    question: str


@never_cache
@require_safe
@instructor_required
def reports(request: HttpRequest) -> HttpResponseBase:
    """Show what people reported of questions, the newest first."""
    context = {
        "open": [_report_row(row) for row in check_lines.reports(done=False)],
        "done": [_report_row(row) for row in check_lines.reports(done=True)[:MOST_DONE]],
    }
    return render(request, "lessons/reports.html", context)


@require_POST
@instructor_required
def finish_report(request: HttpRequest, report: int) -> HttpResponseBase:
    """Note that a report is done; the page says so if another instructor was faster."""
    if check_lines.finish_report(report, signed_in(request)):
        messages.success(request, "Done. Whoever reported it may report the question again.")
    else:
        messages.info(request, "That report was done already, or is gone. Nothing has changed.")
    return redirect("lessons:reports")


def _report_row(report: ProblemReport) -> ReportRow:
    found = content.lessons().get(report.lesson)
    here = found.with_check(report.check_key) if found else None
    question = text_of(here.checks[report.check_key].text) if here else ""
    return ReportRow(report, found, here, question)
