"""Points for each item of a rubric, in training and as the reference of a training set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django import forms

from labs.training import MOST_NOTE_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from labs.moderation import Given
    from labs.rubrics import Item


@dataclass(frozen=True)
class Row:
    """One item on the page: its choices, what is chosen, and what is wrong with it."""

    key: str
    title: str
    of: int
    name: str
    choices: tuple[str, ...]
    chosen: str
    errors: Sequence[str]


class PointsForm(forms.Form):
    """Points for every item of a rubric; each must be decided."""

    def __init__(
        self, items: Sequence[Item], *args: Any, given: Given | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.items = items
        for item in items:
            now = (given or {}).get(item.key)
            values = {*range(min(item.points, 0), max(item.points, 0) + 1)}
            values |= {now} if now is not None else set()
            self.fields[f"points_{item.key}"] = forms.TypedChoiceField(
                choices=[(f"{each:g}", f"{each:g}") for each in sorted(values)],
                coerce=float,
                initial=None if now is None else f"{now:g}",
                error_messages=dict.fromkeys(
                    ("required", "invalid_choice"), "Give points to this item."
                ),
            )

    def rows(self) -> Iterator[Row]:
        """Yield the items in the order of the rubric."""
        for item in self.items:
            bound = self[f"points_{item.key}"]
            value = bound.value()
            field: Any = bound.field
            yield Row(
                item.key,
                item.title,
                item.points,
                bound.html_name,
                tuple(key for key, _ in field.choices),
                "" if value is None else str(value),
                tuple(str(error) for error in bound.errors),
            )

    def points(self) -> dict[str, float | None]:
        """Return the points by item, once they are valid: whole numbers as such."""
        said = {item.key: self.cleaned_data[f"points_{item.key}"] for item in self.items}
        return {key: int(each) if each == int(each) else each for key, each in said.items()}


class CaseForm(PointsForm):
    """The reference of a case, and why."""

    note = forms.CharField(
        label="Why these points?",
        help_text="Whoever trains reads it after they gave theirs. Say what decides each item that people differ on.",
        max_length=MOST_NOTE_CHARACTERS,
        widget=forms.Textarea({"rows": 5}),
        error_messages={
            "required": "Say why: it is what people learn from.",
            "max_length": f"{MOST_NOTE_CHARACTERS:,} characters at most; this has %(show_value)s. Nothing was cut.",
        },
    )
