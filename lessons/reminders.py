"""The mail that says that something comes back today: off until a person wants it, one a day at most."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.core.mail import send_mail
from django.db.models import Q
from django.utils import timezone

from lessons import repeats
from lessons.models import ReviewMail

if TYPE_CHECKING:
    from courseware.models import User

FIRST_HOUR = 6
"""No mail before this hour of the site's day."""
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
    rows = ReviewMail.objects.filter(_open_today(), wanted=True, learner__is_active=True)
    return list(rows.values_list("pk", flat=True))


def _open_today() -> Q:
    return Q(looked_on=None) | Q(looked_on__lt=timezone.localdate())


def remind(mail_id: int) -> bool:
    """Look once a day whether something is due, and say so by mail. Whoever comes second does nothing.

    A mail that could not be sent is tried again by the next beat; its error is raised.
    """
    rows = ReviewMail.objects.filter(pk=mail_id, wanted=True)
    if rows.filter(_open_today()).update(looked_on=timezone.localdate()) != 1:
        return False
    row = rows.select_related("learner").get()
    count = len(repeats.due_today(row.learner))
    if not count:
        return False
    many = count > 1
    text = _TEXT.format(
        count=f"{count} things" if many else "One thing",
        come="come" if many else "comes",
        page=row.page,
    )
    try:
        send_mail(f"Debugging LLM Serving: {count} to review", text, None, [row.learner.email])
    except OSError:
        rows.update(looked_on=None)
        raise
    return True
