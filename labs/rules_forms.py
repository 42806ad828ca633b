"""What an instructor says of how explanations are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from django import forms

from labs.models import ReadingRules
from labs.reading_rules import FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterator

WHOLE = "Write a whole number{range}."
_RANGES = {
    "second_percent": " from 0 to 100",
    "most_difference": " from 0 to 100",
    "regrade_days": " from 0 to 365",
    "regrade_tokens": " from 0 to 50",
}
_GROUPS = (
    (
        "Names",
        "Without a tick, an attempt goes by four signs of its address, and its readers by none.",
        ("graders_see_names", "instructors_see_names", "learners_see_readers"),
    ),
    (
        "A second reading",
        "Chance decides which attempts are read twice. The second reader sees nothing of the first until both are done. Differences are counted item by item; beyond what you allow, a third reader sees both and decides.",
        ("second_percent", "most_difference"),
    ),
    (
        "Training",
        "A grader gives points to the lab's training set before its queue opens to them, and passes when their points lie close enough to the reference, on average over all items. A lab without a set asks nobody to train.",
        ("needs_training", "training_most_off"),
    ),
    (
        "After the release",
        "A learner may ask for another look at one item. Each request takes one of theirs, and it comes back when the points change.",
        ("regrade_days", "regrade_tokens"),
    ),
)


class RulesForm(forms.ModelForm):  # type: ignore[type-arg]  # no generic when it runs
    """The rules of one lab, or of every lab; only the latter say how many requests a learner has."""

    class Meta:
        model = ReadingRules
        fields: ClassVar[list[str]] = [*FIELDS]
        labels: ClassVar[dict[str, str]] = {
            "second_percent": "Read twice, %",
            "most_difference": "Points apart, at most",
            "regrade_days": "Days to ask",
            "regrade_tokens": "Requests each",
        }

    def __init__(self, *args: Any, is_of_lab: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if is_of_lab:
            del self.fields["regrade_tokens"]
        for name, between in _RANGES.items():
            if name in self.fields:
                said = WHOLE.format(range=between)
                self._refuse_with(name, said)
        self._refuse_with("training_most_off", "Write points such as 0.5, from 0 to 5.")
        field = self.fields["training_most_off"]
        field.widget = forms.TextInput({"inputmode": "decimal", "autocomplete": "off"})
        field.error_messages |= dict.fromkeys(
            ("max_digits", "max_decimal_places", "max_whole_digits"),
            "Write points such as 0.5 or 0.75, from 0 to 5.",
        )

    def _refuse_with(self, name: str, sentence: str) -> None:
        codes = ("required", "invalid", "min_value", "max_value")
        self.fields[name].error_messages |= dict.fromkeys(codes, sentence)

    def groups(self) -> Iterator[tuple[str, str, list[forms.BoundField]]]:
        """Yield the fields by what they are about: a heading, a hint, the fields."""
        for legend, hint, names in _GROUPS:
            yield legend, hint, [self[name] for name in names if name in self.fields]

    def said(self) -> dict[str, Any]:
        """Return what was typed, by field, once it is valid."""
        return {name: self.cleaned_data[name] for name in FIELDS if name in self.cleaned_data}
