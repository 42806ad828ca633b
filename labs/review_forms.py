"""What a grader sends: points for each item of the rubric, a comment, reasons, and keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django import forms

from labs import review_keys
from labs.review_queue import MOST_REASON_CHARACTERS
from labs.reviews import MOST_COMMENT_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from labs.review_points import Points
    from labs.specs import Rubric


@dataclass(frozen=True)
class Row:
    """One item of the rubric on the page: its choices, what is chosen, and what is wrong with it."""

    place: int
    title: str
    of: int
    name: str
    choices: tuple[tuple[str, str], ...]
    chosen: str
    errors: Sequence[str]
    is_first_wrong: bool


class _Comment(forms.CharField):
    def to_python(self, value: Any) -> str:
        """Count a line's end as the browser's ``maxlength`` does: as one character."""
        text = super().to_python(value) or ""
        return text.replace("\r\n", "\n")


class ReviewForm(forms.Form):
    """The rubric of one lab. An item without points is allowed: it is not decided yet."""

    version = forms.IntegerField(
        min_value=0,
        widget=forms.HiddenInput,
        error_messages={
            "required": "This page does not say which draft it shows. Load it again; copy your text first.",
            "invalid": "This page does not say which draft it shows. Load it again; copy your text first.",
        },
    )
    comment = _Comment(
        required=False,
        max_length=MOST_COMMENT_CHARACTERS,
        error_messages={
            "max_length": f"{MOST_COMMENT_CHARACTERS:,} characters at most; this has %(show_value)s. Nothing was cut."
        },
    )

    def __init__(self, rubric: Sequence[Rubric], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.rubric = rubric
        for place, item in enumerate(rubric):
            allowed = _listed(item.points)
            message = f"Give {allowed} points, or leave it open."
            self.fields[f"points_{place}"] = forms.IntegerField(
                required=False,
                min_value=0,
                max_value=item.points,
                error_messages=dict.fromkeys(("invalid", "min_value", "max_value"), message),
            )

    @classmethod
    def of_draft(
        cls, rubric: Sequence[Rubric], points: Points, comment: str, version: int
    ) -> ReviewForm:
        """Return the form filled with a stored draft."""
        initial: dict[str, Any] = {"comment": comment, "version": version}
        initial |= {f"points_{place}": each for place, each in enumerate(points)}
        return cls(rubric, initial=initial)

    def points(self) -> Points:
        return [self.cleaned_data[f"points_{place}"] for place in range(len(self.rubric))]

    def sent(self) -> Points:
        """Return what can be read of the points, whatever else is wrong with the form."""
        read = []
        for row in self.rows():
            known = {value for value, _ in row.choices if value}
            read.append(int(row.chosen) if row.chosen in known else None)
        return read

    def ask_to_decide(self, places: Sequence[int]) -> None:
        """Mark the items that must have points before the review can be released."""
        for place in places:
            self.add_error(f"points_{place}", "Decide this one before you release.")

    def rows(self) -> Iterator[Row]:
        """Yield the items in the order of the rubric."""
        wrong_before = False
        for place, item in enumerate(self.rubric):
            bound = self[f"points_{place}"]
            value = bound.value()
            yield Row(
                place=place,
                title=item.title,
                of=item.points,
                name=bound.html_name,
                choices=(("", "open"), *((str(n), str(n)) for n in range(item.points + 1))),
                chosen="" if value is None else str(value).strip(),
                errors=tuple(str(error) for error in bound.errors),
                is_first_wrong=bool(bound.errors) and not wrong_before,
            )
            wrong_before = wrong_before or bool(bound.errors)


def _listed(most: int) -> str:
    """Return the whole numbers up to ``most`` in words: 0, 1 or 2."""
    return f"{', '.join(str(n) for n in range(most))} or {most}"


class _Reason(forms.Form):
    """Why a review goes back unread."""

    reason = forms.CharField(
        label="Why?",
        max_length=MOST_REASON_CHARACTERS,
        widget=forms.TextInput({"autocomplete": "off", "autofocus": True}),
        error_messages={
            "required": "Say why, in a few words.",
            "max_length": f"{MOST_REASON_CHARACTERS} characters at most; this has %(show_value)s.",
        },
    )


class SkipForm(_Reason):
    """Why a grader does not read this one."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields[
            "reason"
        ].help_text = "Instructors read it. Such as: I know who wrote this; it is not in a language that I read."


class FreeForm(_Reason):
    """Why an instructor takes a review from its holder."""

    holder = forms.IntegerField(
        widget=forms.HiddenInput,
        min_value=1,
        max_value=2**63 - 1,
        error_messages=dict.fromkeys(
            ("required", "invalid", "min_value", "max_value"),
            "This page does not say who holds it. Copy your reason, then load the page again.",
        ),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["reason"].help_text = "Its holder reads it, and it is kept."


class KeysForm(forms.Form):
    """A key for each action, one character or none; no key does two things."""

    def __init__(self, *args: Any, stored: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for each in review_keys.bindings(stored):
            self.fields[each.action] = forms.CharField(
                label=each.title,
                required=False,
                initial=each.key,
                widget=forms.TextInput(
                    {
                        "autocomplete": "off",
                        "autocapitalize": "none",
                        "spellcheck": "false",
                        "size": 3,
                    }
                ),
            )

    def clean(self) -> dict[str, Any]:
        """Take capitals as the same key."""
        chosen = {action: str(key).lower() for action, key in self.cleaned_data.items()}
        for action, sentence in review_keys.faults(chosen).items():
            self.add_error(action, sentence)
        return chosen
