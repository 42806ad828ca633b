"""What an instructor gives one part of a mark by hand, and why."""

from __future__ import annotations

from typing import Any

from django import forms

from labs.marking.constants import WEIGHTS

MOST_REASON_CHARACTERS = 1000
_PARTS = [(name, f"{name.capitalize()}, of {weight}") for name, weight in WEIGHTS.items()]


class _Said(forms.Form):
    part = forms.ChoiceField(
        choices=_PARTS,
        error_messages={
            "required": "Choose a part.",
            "invalid_choice": "Choose a part of the mark.",
        },
    )
    reason = forms.CharField(
        label="Why?",
        help_text="The learner reads this.",
        widget=forms.Textarea({"rows": 3}),
        max_length=MOST_REASON_CHARACTERS,
        error_messages={
            "required": "Say why: the learner reads it beside the points.",
            "max_length": f"{MOST_REASON_CHARACTERS:,} characters at most; this has %(show_value)s.",
        },
    )
    version = forms.IntegerField(min_value=0, widget=forms.HiddenInput)


class TakeBackForm(_Said):
    """Which part's points are the rule's again."""


class PointsForm(_Said):
    """Points for one part, in place of the rule's."""

    points = forms.DecimalField(
        min_value=0,
        max_digits=4,
        decimal_places=1,
        widget=forms.TextInput({"inputmode": "decimal", "autocomplete": "off"}),
        error_messages={
            "required": "Write the points, such as 12.5.",
            "invalid": "Write the points as a number, such as 12.5.",
            "min_value": "Points are 0 or more.",
            "max_decimal_places": "Points have one decimal at most, such as 12.5.",
            "max_digits": "Write the points as a number of at most four digits, such as 12.5.",
            "max_whole_digits": "Write the points as a number of at most four digits, such as 12.5.",
        },
    )
    field_order = ("part", "points", "reason", "version")

    def clean(self) -> dict[str, Any]:
        """Hold the points within what the part can earn."""
        said: dict[str, Any] = super().clean() or {}
        part, points = said.get("part"), said.get("points")
        if part in WEIGHTS and points is not None:
            if points > WEIGHTS[part]:
                self.add_error(
                    "points", f"{part.capitalize()} earns {WEIGHTS[part]} points at most."
                )
            said["points"] = float(points)
        return said
