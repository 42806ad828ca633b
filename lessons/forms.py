"""What a learner types into a lesson."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from django import forms

from lessons.predictions import CONFIDENCES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lessons.guesses import Axes
    from lessons.predictions import Question as Prediction

_NUMBER = re.compile(r"(\d{1,3}([, \u202f]\d{3})+|\d+)(\.\d+)?")
LINE = 300


def number_of(text: str) -> float:
    """Read a number with or without thousands marks. Raises ValidationError with what to write."""
    if text[:1] in {"-", "−"} and _NUMBER.fullmatch(text[1:].lstrip()):
        raise forms.ValidationError(
            "Write a number that is not negative, such as 1200, 1,200 or 0.5.", code="negative"
        )
    if not _NUMBER.fullmatch(text):
        raise forms.ValidationError(
            "Write a number, such as 1200, 1,200 or 0.5, without a unit.", code="number"
        )
    return float(re.sub(r"[, \u202f]", "", text))


class PredictionForm(forms.Form):
    """A guess, how sure, and if one likes a line of why; ``cleaned_data["guess"]`` is what a commit holds.

    A number sends ``value``, a choice ``choice``, an order ``place-<key>`` for each item, a sketch ``at-<place>`` for
    each place on its axis, counted from 0.
    """

    confidence = forms.TypedChoiceField(
        coerce=int,
        choices=[(c, f"{c}%") for c in CONFIDENCES],
        error_messages={
            "required": "Choose how sure you are.",
            "invalid_choice": "Choose one of the five.",
        },
    )
    why = forms.CharField(
        required=False,
        max_length=LINE,
        error_messages={"max_length": f"One line is enough: {LINE} characters at most."},
    )

    def __init__(self, question: Prediction, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.question = question
        asked = {name: self.fields.pop(name) for name in list(self.fields)}
        if question.axes:
            self._ask_for_points(question.axes)
        elif question.kind == "order":
            self.fields |= places_fields(question.options)
        elif question.kind == "choice":
            self.fields["choice"] = forms.ChoiceField(
                choices=[(key, key) for key in question.options],
                error_messages={
                    "required": "Choose what you expect.",
                    "invalid_choice": "Choose among these.",
                },
            )
        else:
            self.fields["value"] = _number_field("Write the number you expect.")
        self.fields |= asked

    def _ask_for_points(self, axes: Axes) -> None:
        for place, x in enumerate(axes.xs):
            where = f"{x:g} {axes.x_title}"
            self.fields[f"at-{place}"] = _number_field(f"Draw or write a value at {where}.")

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        question = self.question
        if question.axes:
            points = [self._point(place, question.axes) for place in range(len(question.axes.xs))]
            data["guess"] = points
        elif question.kind == "order" and not self.errors:
            places = {key: int(data[f"place-{key}"]) for key in question.options}
            refuse_shared(self, places)
            data["guess"] = sorted(places, key=places.__getitem__)
        elif question.kind == "choice":
            data["guess"] = data.get("choice")
        elif question.kind == "number":
            data["guess"] = self._number("value", question.highest, question.unit)
        return data

    def _number(self, name: str, most: float, unit: str, least: float = 0.0) -> float | None:
        typed = self.cleaned_data.get(name)
        if typed is None:
            return None
        try:
            value = number_of(typed)
        except forms.ValidationError as error:
            self.add_error(name, error)
            return None
        if value > most:
            self.add_error(name, f"Write at most {most:,.0f} {unit}.")
        if value < least:
            self.add_error(name, f"Write at least {least:,.0f} {unit}.")
        return value

    def _point(self, place: int, axes: Axes) -> float | None:
        return self._number(f"at-{place}", axes.most, axes.unit, axes.least)


def _number_field(wanted: str) -> forms.CharField:
    words = {"required": wanted, "max_length": "That is too long for a number."}
    return forms.CharField(max_length=20, error_messages=words)


def places_fields(keys: Iterable[str]) -> dict[str, forms.Field]:
    """Return a field ``place-<key>`` for each item of an order, which takes its place, from 1."""
    keys = tuple(keys)
    places = [(str(place), str(place)) for place in range(1, len(keys) + 1)]
    words = {"required": "Give every item a place.", "invalid_choice": "Choose among the places."}
    return {f"place-{key}": forms.ChoiceField(choices=places, error_messages=words) for key in keys}


def refuse_shared(form: forms.Form, places: Mapping[str, int]) -> None:
    """Add an error at every item that stands at the place of another."""
    taken: set[int] = set()
    for key, place in places.items():
        if place in taken:
            form.add_error(
                f"place-{key}",
                f"Two items stand at place {place}: give each a place of its own.",
            )
        taken.add(place)


class SeenForm(forms.Form):
    """What the learner saw at the reveal."""

    seen = forms.CharField(
        max_length=LINE,
        error_messages={
            "required": "Write one line on what you saw; the explanation opens then.",
            "max_length": f"One line is enough: {LINE} characters at most.",
        },
    )
