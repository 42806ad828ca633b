"""The story of an attempt for its graders, under its sign."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from courseware.people import reader_required
from labs.review_desk import pseudonym
from labs.review_rows import review_or_404
from labs.story_page import story_page

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpRequest, HttpResponseBase


@require_safe
@never_cache
@reader_required
def show(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Show an attempt that waits to be read, or was, at one of its moments."""
    review = review_or_404(request, public_id)
    address = reverse("labs:review-story", args=[review.public_id])
    name = pseudonym(review.attempt.public_id)
    back = {"href": reverse("labs:review", args=[review.public_id]), "name": name}
    return story_page(request, review.attempt, address=address, back=back)
