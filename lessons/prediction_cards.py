"""A prediction for one reader: text, commit and rows to what the template shows.

What is not revealed is left out here: before the commit nothing of the answer is in the card, and nothing of what
others said; the explanation waits for what the reader saw.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from labs.charts.numbers import bound
from lessons import guesses, predictions, sketches
from lessons.check_cards import inline, number_words, plain, text_of
from lessons.cohort import cohort_of
from lessons.cohort_cards import cohort_card
from lessons.forms import PredictionForm, SeenForm
from lessons.guesses import Axes, Distance

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from django.forms import Form

    from lessons.cohort import Cohort
    from lessons.cohort_cards import CohortCard
    from lessons.content import Lesson, PredictionText
    from lessons.guesses import Guess
    from lessons.models import PredictionCommit
    from lessons.sketches import Drawn, Plane

_FACT = re.compile(r"⟦(?P<name>[a-z0-9_]+)⟧")


@dataclass(frozen=True)
class Confidence:
    """One of the five keys."""

    value: int
    chosen: bool


@dataclass(frozen=True)
class ItemRow:
    """One option of a choice, or one item of an order."""

    key: str
    html: str
    plain: str
    """Without markup, for the names of buttons."""
    chosen: str
    """The place that stands chosen in the form; of a choice "yes" or empty."""
    is_wrong: bool
    """The form refuses it."""
    reading: str = ""
    """What was measured of it; empty until revealed, as all that follows."""
    yours: bool = False
    computed: bool = False
    your_place: int = 0


@dataclass(frozen=True)
class PredictionCard:
    """A prediction for one reader: open, waiting, failed, revealed or explained."""

    lesson: Lesson
    key: str
    kind: str
    state: str
    ask: str
    setting: str
    unit: str
    form: Form
    seen_form: Form
    confidences: tuple[Confidence, ...]
    is_long: bool
    errors: tuple[str, ...]
    """What the form refuses of a choice, an order or a sketch, each sentence once."""
    items: tuple[ItemRow, ...] = ()
    """Until revealed as the page lists them; then an order as it was computed."""
    plane: Plane | None = None
    """Of a sketch, to be drawn on."""
    commit: PredictionCommit | None = None
    said: str = ""
    """HTML."""
    progress: Any = None
    result: dict[str, Any] = field(default_factory=dict)
    """Empty until revealed."""
    distance: Distance | None = None
    drawn: Drawn | None = None
    cohort: CohortCard | None = None
    """Empty until revealed, and while fewer than five people have committed."""
    explanation: str = ""
    """Empty until the reader has said what they saw."""
    fresh: bool = False


def prediction_card(
    lesson: Lesson,
    text: PredictionText,
    commit: PredictionCommit | None,
    *,
    cohort: Sequence[Guess] = (),
    form: Form | None = None,
    seen_form: Form | None = None,
    fresh: bool = False,
) -> PredictionCard:
    """Return a prediction as its reader may see it; ``cohort`` holds everybody's guesses at the same answer."""
    question = predictions.QUESTIONS[text.key]
    form = form or PredictionForm(question)
    picked = str(form.data.get("confidence", "")) if form.is_bound else ""
    card = PredictionCard(
        lesson=lesson,
        key=text.key,
        kind=question.kind,
        state="open",
        ask=inline(text.ask),
        setting=text_of(text.setting),
        unit=question.unit,
        form=form,
        seen_form=seen_form or SeenForm(),
        confidences=tuple(Confidence(c, str(c) == picked) for c in predictions.CONFIDENCES),
        is_long=question.is_long,
        errors=_errors(form),
        items=tuple(_item(key, source, form) for key, source in text.items.items()),
        plane=_plane(question.axes, form) if question.axes else None,
        commit=commit,
        fresh=fresh,
    )
    if commit is None:
        return card
    said = said_words(commit.guess, text.items)
    card = replace(card, said=said, progress=commit.answer.progress)
    if not commit.answer.is_done:
        return replace(card, state="failed" if commit.answer.is_failed else "waiting")
    return _revealed(card, commit, text, cohort)


def _revealed(
    card: PredictionCard,
    commit: PredictionCommit,
    text: PredictionText,
    everybody: Sequence[Guess],
) -> PredictionCard:
    result = dict(commit.answer.result or {})
    result["plots"] = plots(f"prediction-{card.key}", result)
    for name in ("beside", "method"):
        result[name] = bound(result.get(name) or "")
    known = cohort_of(everybody, commit.guess, result, list(text.items))
    card = replace(
        card,
        state="revealed",
        result=result,
        distance=guesses.distance(commit.guess, result),
        items=_revealed_items(text.items, commit.guess, result),
        drawn=_drawn(commit.guess, result, known),
        cohort=cohort_card(known, text.items, card.unit) if known else None,
    )
    if commit.seen_at is None:
        return card
    explanation = _filled(text_of(text.explanation), result["facts"])
    return replace(card, state="explained", explanation=explanation)


def _errors(form: Form) -> tuple[str, ...]:
    names = [name for name in form.errors if name not in ("value", "confidence", "why")]
    points = [name for name in form.fields if name.startswith("at-")]
    if form.is_bound and points and not any(form.data.get(n, "").strip() for n in points):
        return ("Draw the curve, or write a value at each place.",)
    return tuple(dict.fromkeys(str(word) for name in names for word in form.errors[name]))


def _item(key: str, source: str, form: Form) -> ItemRow:
    name = f"place-{key}"
    chosen = ""
    if form.is_bound:
        chosen = form.data.get(name, "") or ("yes" if form.data.get("choice") == key else "")
    wrong = name in form.errors or "choice" in form.errors
    return ItemRow(key, inline(source), plain(source), chosen, wrong)


def _plane(axes: Axes, form: Form) -> Plane:
    names = [f"at-{place}" for place in range(len(axes.xs))]
    typed = [form.data.get(name, "").strip() if form.is_bound else "" for name in names]
    return sketches.plane(axes, typed, [n for n, name in enumerate(names) if name in form.errors])


def _revealed_items(
    items: Mapping[str, str], guess: Any, result: Mapping[str, Any]
) -> tuple[ItemRow, ...]:
    """Return the options as computed; what is no longer offered stands by its key."""
    answer = result["answer"]
    is_order = isinstance(answer, list) and not result.get("axes")
    if not is_order and not isinstance(answer, str):
        return ()
    readings = result.get("readings") or {}
    return tuple(
        ItemRow(
            key=key,
            html=inline(items.get(key, key)),
            plain="",
            chosen="",
            is_wrong=False,
            reading=bound(readings.get(key, "")),
            yours=guess == key,
            computed=answer == key,
            your_place=guess.index(key) + 1 if isinstance(guess, list) and key in guess else 0,
        )
        for key in (answer if is_order else dict.fromkeys([*items, answer]))
    )


def _drawn(guess: Any, result: Mapping[str, Any], known: Cohort | None) -> Drawn | None:
    if not result.get("axes"):
        return None
    axes = Axes.of(result["axes"])
    if guesses.sketch_error(guess, result["answer"], axes) is None:
        return None
    band = known.band if known else ()
    return sketches.drawn(axes, guess, result["answer"], result.get("curve") or (), band)


def said_words(guess: Guess, items: Mapping[str, str]) -> str:
    """Return a guess or an answer in a line, HTML; ``items`` are the texts of options by their key."""
    if isinstance(guess, int | float):
        return number_words(guess)
    if isinstance(guess, str):
        return inline(items.get(guess, guess))
    if all(isinstance(each, str) for each in guess):
        return "; ".join(f"{n}. {inline(items.get(str(key), str(key)))}" for n, key in enumerate(guess, 1))  # fmt: skip
    return sketches.as_typed(guess)


def _filled(source: str, facts: dict[str, str]) -> str:
    return bound(_FACT.sub(lambda match: html.escape(facts.get(match["name"], "…")), source))


def plots(prefix: str, result: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a result's charts, each with an id of its own on the page."""
    return [{**plot, "id": f"{prefix}-{i}"} for i, plot in enumerate(result.get("plots") or ())]


# -------------------------------------------------------------------------------- the front page


@dataclass(frozen=True)
class Committed:
    """One row of a reader's predictions on the lesson's front page."""

    slug: str
    """Of the station."""
    key: str
    ask: str
    said: str
    unit: str
    confidence: int
    computed: str
    """Empty while it is not computed."""
    distance: Distance | None


def committed(lesson: Lesson, commits: Mapping[str, PredictionCommit]) -> list[Committed]:
    """Return what the reader has predicted, in the order of the lesson."""
    return [
        _committed(station.slug, text, commits[key])
        for station in lesson.stations
        for key, text in station.predictions.items()
        if key in commits
    ]


def _committed(slug: str, text: PredictionText, commit: PredictionCommit) -> Committed:
    result = commit.answer.result if commit.answer.is_done else None
    return Committed(
        slug=slug,
        key=text.key,
        ask=inline(text.ask),
        said=said_words(commit.guess, text.items),
        unit=unit_of(text.key),
        confidence=commit.confidence,
        computed=(result["shown"] or said_words(result["answer"], text.items)) if result else "",
        distance=guesses.distance(commit.guess, result) if result else None,
    )


def unit_of(key: str) -> str:
    """Return the unit in which a number or the values of a sketch are said."""
    question = predictions.QUESTIONS[key]
    return question.axes.unit if question.axes else question.unit
