"""The mail that says that something comes back today: off until a person wants it, one a day at most."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from django.core.mail import EmailMessage
from django.db.models import Q
from django.utils import timezone

from lessons import repeats
from lessons.models import ReviewMail
from lessons.spacing import due_on

if TYPE_CHECKING:
    from datetime import date, datetime

    from django.db.models import QuerySet

    from courseware.models import User

FIRST_HOUR = 6
"""No mail before this hour of the site's day."""
CLAIM = timedelta(minutes=10)
"""A worker that has said nothing for so long is dead: the limit of a task is below it."""
_TEXT = """\
{count} that you missed {come} back today:

{page}

You asked for this mail: one a day, and only when something is due. The button at the foot of that
page ends it.
"""


def wanted_by(learner: User) -> bool:
    return ReviewMail.objects.visible_to(learner).filter(wanted=True).exists()


def want(learner: User, *, wanted: bool, page: str) -> None:
    """Turn the mail on or off. ``page`` is the address that it leads to, as the person sees it."""
    ReviewMail.objects.update_or_create(
        learner=learner, defaults={"wanted": wanted, "page": page if wanted else ""}
    )


def waiting() -> list[int]:
    """Return the mails that nobody has looked after today; none before FIRST_HOUR."""
    if timezone.localtime().hour < FIRST_HOUR:
        return []
    return list(_wanted().filter(_open_on(timezone.localdate())).values_list("pk", flat=True))


def _wanted() -> QuerySet[ReviewMail]:
    return ReviewMail.objects.filter(wanted=True, learner__is_active=True)


def _open_on(day: date) -> Q:
    return Q(looked_on=None) | Q(looked_on__lt=day)


def remind(mail_id: int, *, now: datetime | None = None) -> bool:
    """Look once a day whether something is due, and say so by mail. Whoever comes second does nothing.

    The day is noted when the mail is out. A worker that dies before leaves a claim, which lapses, and the next beat
    sends; one that dies between the two sends again under the same Message-ID, which mail servers show once. A mail
    that could not be sent is tried again by the next beat; its error is raised.
    """
    now = now or timezone.now()
    day = timezone.localdate(now)
    free = Q(claimed_at=None) | Q(claimed_at__lt=now - CLAIM)
    rows = ReviewMail.objects.filter(pk=mail_id)
    if _wanted().filter(_open_on(day), free, pk=mail_id).update(claimed_at=now) != 1:
        return False
    row = rows.select_related("learner").get()
    mine = rows.filter(claimed_at=now)
    try:
        count = len(due_on(day, repeats.scheduled_for(row.learner)))
        is_sent = bool(count and row.learner.email) and _mail(row, count, day).send() == 1
    except Exception:
        mine.update(claimed_at=None)
        raise
    mine.update(looked_on=day, claimed_at=None)
    return is_sent


def _mail(row: ReviewMail, count: int, day: date) -> EmailMessage:
    many = count > 1
    text = _TEXT.format(
        count=f"{count} things" if many else "One thing",
        come="come" if many else "comes",
        page=row.page,
    )
    site = urlsplit(row.page).hostname or "localhost"
    return EmailMessage(
        f"Debugging LLM Serving: {count} to review",
        text,
        to=[row.learner.email],
        headers={"Message-ID": f"<review-{row.pk}-{day:%Y-%m-%d}@{site}>"},
    )
