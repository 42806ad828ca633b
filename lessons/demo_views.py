"""The address at which a demonstration is computed anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import Http404
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from lessons.demo_cards import ASKED, demo_card
from lessons.views import address, is_htmx, lesson_or_404

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponseBase


@require_safe
def demo(request: HttpRequest, lesson: str, demo: str) -> HttpResponseBase:
    """Show a demonstration where the query puts its controls: the result and what is wrong with each field."""
    found = lesson_or_404(lesson)
    here = found.with_demo(demo)
    if here is None:
        raise Http404
    if not is_htmx(request):
        query = request.GET.copy()
        query[ASKED] = demo
        return redirect(f"{address(found, here)}?{query.urlencode()}#demo-{demo}")
    card = demo_card(found, here, demo, request.GET.dict())
    status = 422 if card.has_fault else 200
    answer = render(request, "lessons/_demo_answer.html", {"card": card}, status=status)
    if card.has_fault:
        # The last good result stays; the sentences beside the fields come out of band.
        answer["HX-Reswap"] = "none"
    return answer
