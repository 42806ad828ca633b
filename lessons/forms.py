"""What a learner types into a lesson."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from django import forms

from lessons.predictions import CONFIDENCES

if TYPE_CHECKING:
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
    """Value, confidence, one line of why."""

    value = forms.CharField(
        max_length=20,
        error_messages={
            "required": "Write the number you expect.",
            "max_length": "That is too long for a number.",
        },
    )
    confidence = forms.TypedChoiceField(
        coerce=int,
        choices=[(c, f"{c}%") for c in CONFIDENCES],
        error_messages={
            "required": "Choose how sure you are.",
            "invalid_choice": "Choose one of the five.",
        },
    )
    why = forms.CharField(
        max_length=LINE,
        error_messages={
            "required": "Write one line of why: you will compare it with what comes.",
            "max_length": f"One line is enough: {LINE} characters at most.",
        },
    )

    def __init__(self, question: Prediction, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.question = question

    def clean_value(self) -> float:
        value = number_of(self.cleaned_data["value"])
        if value > self.question.highest:
            raise forms.ValidationError(
                f"Write at most {self.question.highest:,.0f} {self.question.unit}.", code="high"
            )
        return value


class SeenForm(forms.Form):
    """What the learner saw at the reveal."""

    seen = forms.CharField(
        max_length=LINE,
        error_messages={
            "required": "Write one line on what you saw; the explanation opens then.",
            "max_length": f"One line is enough: {LINE} characters at most.",
        },
    )
