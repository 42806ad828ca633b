"""What a learner sends at a check: a try, a line of why, a problem with the question."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Any

from django import forms
from django.forms.utils import ErrorDict

from lessons.forms import LINE, number_of, places_fields, refuse_shared
from lessons.text_checks import LONGEST_TEXT_CHARACTERS, bare

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lessons.match_checks import Matching
    from lessons.questions import Question

# From the first character that can be no part of a number: what stands there is a unit.
_WITH_UNIT = re.compile(r"(?P<number>[-−]?[\d.,\s]*\d)\s*(?P<unit>[^\d.,\s][^\d.,]*)")
_AMONG = "Choose among these answers."
_RELOAD = "This form does not say which try it is. Reload the page, then answer again."


def quantity_of(text: str, unit: str) -> float:
    """Read a number, with or without its unit. Raises ValidationError with the unit that is wanted."""
    match = _WITH_UNIT.fullmatch(text)
    if match is None or not unit:
        return number_of(text)
    typed = match["unit"].strip()
    if not _is_unit(typed, unit):
        raise forms.ValidationError(f"Write the number in {unit}, not in {typed}.", code="unit")
    return number_of(match["number"])


def _is_unit(typed: str, unit: str) -> bool:
    """Tell whether two units are one. Capitals count, for Gb is not GB; without any they do not."""
    typed, unit = ("".join(unicodedata.normalize("NFKC", u).split()) for u in (typed, unit))
    if typed == "%":
        return unit in {"%", "percent"}
    return typed in {unit, unit.lower()}


class CheckForm(forms.Form):
    """One try at a check; ``cleaned_data["answer"]`` is the list of texts that a try holds.

    A choice sends ``answer``, one or several keys; a number or a text sends it as typed. A match sends
    ``pair-<left>``, an order ``place-<item>``. ``settled`` are the pairs of an earlier try that
    stay: key of the right item by key of the left.
    """

    def __init__(
        self,
        question: Question,
        *args: Any,
        settled: Mapping[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.question = question
        self.settled = settled or {}
        if question.matching:
            self._ask_for_pairs(question.matching)
        elif question.ordering:
            self.fields |= places_fields(item.key for item in question.ordering.offered)
        else:
            self.fields["answer"] = self._answer()
        # Which try the page asks for: what is sent twice counts once.
        self.fields["try"] = forms.IntegerField(
            required=False,
            min_value=1,
            error_messages=dict.fromkeys(("invalid", "min_value"), _RELOAD),
        )

    def _answer(self) -> forms.Field:
        question = self.question
        if question.kind == "number":
            return forms.CharField(
                max_length=40,
                error_messages={
                    "required": "Write a number first.",
                    "max_length": "That is too long for a number.",
                },
            )
        if question.kind == "text":
            return forms.CharField(
                max_length=LONGEST_TEXT_CHARACTERS,
                error_messages={
                    "required": "Write your answer first.",
                    "max_length": f"A few words are enough: {LONGEST_TEXT_CHARACTERS} characters at most.",
                },
            )
        choices = [(option.key, option.text) for option in question.options]
        wanted = "Choose an answer first." if question.kind == "one" else "Choose at least one."
        kind = forms.ChoiceField if question.kind == "one" else forms.MultipleChoiceField
        return kind(choices=choices, error_messages={"required": wanted, "invalid_choice": _AMONG})

    def _ask_for_pairs(self, matching: Matching) -> None:
        choices = [(choice.key, choice.text) for choice in matching.choices]
        words = {"required": "Choose one for each.", "invalid_choice": _AMONG}
        for pair in matching.pairs:
            if pair.key not in self.settled:
                field = forms.ChoiceField(choices=choices, error_messages=words)
                self.fields[f"pair-{pair.key}"] = field

    def clean_answer(self) -> list[str]:
        answer = self.cleaned_data["answer"]
        if self.question.kind == "number":
            return [f"{quantity_of(answer, self.question.unit):.15g}"]
        if self.question.kind == "text" and not bare(answer):
            raise forms.ValidationError("Write your answer first.", code="required")
        return [answer] if isinstance(answer, str) else list(answer)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if self.errors:
            return data
        if matching := self.question.matching:
            rights = {
                p.key: self.settled.get(p.key) or data[f"pair-{p.key}"] for p in matching.pairs
            }
            data["answer"] = [f"{left}:{right}" for left, right in rights.items()]
        if ordering := self.question.ordering:
            places = {item.key: int(data[f"place-{item.key}"]) for item in ordering.items}
            refuse_shared(self, places)
            data["answer"] = sorted(places, key=places.__getitem__)
        return data


class UnjudgedForm(CheckForm):
    """What stands in the fields of a check, with nothing said against it."""

    @property
    def errors(self) -> ErrorDict:
        return ErrorDict()


class HintForm(forms.Form):
    """The number of the hint that the page asks for, from 1."""

    hint = forms.IntegerField(min_value=1)


class WhyForm(forms.Form):
    """Why the answer is right, in the learner's own words."""

    why = forms.CharField(
        max_length=LINE,
        error_messages={
            "required": "Write one line first.",
            "max_length": f"One line is enough: {LINE} characters at most.",
        },
    )


class ProblemForm(forms.Form):
    """What is wrong with a question."""

    problem = forms.CharField(
        max_length=LINE,
        error_messages={
            "required": "Write one line on what is wrong.",
            "max_length": f"One line is enough: {LINE} characters at most.",
        },
    )
