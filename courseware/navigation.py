"""What every page shows around itself: the main navigation and the theme."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.urls import NoReverseMatch, reverse

from courseware.people import may_author, may_read_explanations
from courseware.studio.trials import under_way

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest

THEMES = ("auto", "light", "dark")
THEME_WORDS = {
    "auto": "Theme: as the system",
    "light": "Theme: light",
    "dark": "Theme: dark",
}


def _everyone(_user: object) -> bool:
    return True


@dataclass(frozen=True)
class Entry:
    """One entry of the top bar. It stays out while its address does not exist yet."""

    label: str
    url_name: str
    for_whom: Callable[[Any], bool] = _everyone
    also: str = ""
    """The name of further addresses that belong to it, below another entry's."""


NAVIGATION = (
    Entry("Lessons", "lessons:index"),
    Entry("Symptoms", "lookup:symptoms"),
    Entry("Labs", "labs:index"),
    Entry("Review", "labs:review-queue", may_read_explanations, also="labs:rubrics"),
    Entry("Cohorts", "cohorts:index", may_author),
    Entry("Studio", "studio:index", may_author),
)


def theme_of(request: HttpRequest) -> str:
    """Return the theme that the visitor chose; anything else in the cookie means "auto"."""
    chosen = request.COOKIES.get("theme", "auto")
    return chosen if chosen in THEMES else "auto"


def _entries(request: HttpRequest) -> list[dict[str, Any]]:
    user = getattr(request, "user", None)
    shown: list[dict[str, Any]] = []
    for entry in NAVIGATION:
        if not entry.for_whom(user):
            continue
        try:
            url = reverse(entry.url_name)
        except NoReverseMatch:
            continue
        places = (url, reverse(entry.also)) if entry.also else (url,)
        fits = max((len(each) for each in places if request.path.startswith(each)), default=0)
        shown.append({"label": entry.label, "url": url, "fits": fits, "current": False})
    # /labs/reviews/ lies under /labs/ too: the longest address that fits is the current one.
    fitting = [item for item in shown if item["fits"]]
    if fitting:
        max(fitting, key=lambda item: item["fits"])["current"] = True
    return shown


def frame(request: HttpRequest) -> dict[str, Any]:
    """Context processor: ``navigation``, ``theme`` and what its button does next."""
    theme = theme_of(request)
    following = THEMES[(THEMES.index(theme) + 1) % len(THEMES)]
    return {
        "navigation": _entries(request),
        "theme": theme,
        "theme_words": THEME_WORDS[theme],
        "next_theme": following,
        "trial": under_way(request),
    }
