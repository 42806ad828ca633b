"""The hints of a check for one reader: what is open, what waits, and what the next one costs.

What is not open is left out here, and so is how many there are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from courseware.served import remembered
from lessons.markdown import inline_html
from lessons.spacing import LADDER_DAYS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from lessons.models import CheckHint, CheckTry
    from lessons.questions import Question


type Asked = Literal["", "now", "none"]
"""Whether a hint was asked for just now, so that what it says takes the focus, or there was no other one."""
inline = remembered(inline_html)


@dataclass(frozen=True)
class HintCard:
    """The hints of one check, as its reader may see them."""

    opened: tuple[str, ...]
    """HTML, the first one first."""
    waits_s: int
    """Whole seconds until the one that was asked for opens; 0 if none waits."""
    number: int
    """Of the hint that the button asks for; 0 without a button."""
    wait_s: int
    """How long it would take to open; 0 at once."""
    costs: bool
    """Whether opening it costs the check something still."""
    days: int
    """After so many days a check with a hint comes back."""
    asked: Asked


def hint_card(
    question: Question,
    tries: Sequence[CheckTry],
    hints: Sequence[CheckHint],
    now: datetime,
    *,
    resolved: bool,
    asked: Asked = "",
) -> HintCard | None:
    """Return the hints of a check; None if it has none, or is resolved and none was opened."""
    wrong = sum(not row.right for row in tries)
    rows = hints[: len(question.hints)]
    opened = [hint for hint in rows if hint.is_open(now, wrong)]
    if not question.hints or (resolved and not opened):
        return None
    waiting = [] if resolved else rows[len(opened) :]
    number = len(rows) + 1
    return HintCard(
        opened=tuple(inline(question.hints[hint.number - 1]) for hint in opened),
        waits_s=math.ceil((waiting[0].opens_at - now).total_seconds()) if waiting else 0,
        # The button stays when there is none left: only asking tells.
        number=0 if resolved or waiting or asked == "none" else number,
        wait_s=0 if wrong >= number else question.wait_s,
        costs=not tries and not opened,
        days=LADDER_DAYS[0],
        asked=asked,
    )
