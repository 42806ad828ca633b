"""Which lab and whose attempt: what is not there, or another's, is a 404."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import Http404

from courseware.people import own_or_404, signed_in
from labs.catalogue import labs
from labs.models import Attempt

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpRequest

    from labs.specs import LabSpec


def spec_or_404(slug: str) -> LabSpec:
    try:
        return labs()[slug]
    except KeyError:
        raise Http404 from None


def attempt_or_404(request: HttpRequest, public_id: UUID) -> Attempt:
    """Return one's own attempt. Another's is a 404: that it exists is not said."""
    attempt = own_or_404(
        Attempt.objects.all(), signed_in(request), owner="learner", public_id=public_id
    )
    try:
        _ = attempt.spec
    except LookupError:
        raise Http404 from None
    return attempt
