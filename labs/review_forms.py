"""What a grader sends: points for each item of the rubric, a comment, reasons, and keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django import forms

from labs import review_keys
from labs.review_points import Draft
from labs.review_queue import MOST_REASON_CHARACTERS
from labs.reviews import MOST_COMMENT_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from labs.review_points import Points
    from labs.rubrics import Rubric


MOST_COUNTED = 2**31 - 1
"""No draft has been saved, and no rubric edited, more often than its column can count."""


@dataclass(frozen=True)
class Row:
    """One item of the rubric on the page: its choices, what is chosen, and what is wrong with it."""

    place: int
    key: str
    title: str
    note: str
    of: int
    """Negative for an item that takes points away."""
    name: str
    choices: tuple[tuple[str, str], ...]
    chosen: str
    moment_name: str
    moment_chosen: str
    errors: Sequence[str]
    is_first_wrong: bool

    @property
    def takes_away(self) -> bool:
        return self.of < 0

    @property
    def most_away(self) -> int:
        return abs(self.of)


class _Comment(forms.CharField):
    def to_python(self, value: Any) -> str:
        """Count a line's end as the browser's ``maxlength`` does: as one character."""
        text = super().to_python(value) or ""
        return text.replace("\r\n", "\n")


def _hidden_number(says: str) -> forms.IntegerField:
    return forms.IntegerField(
        min_value=0,
        max_value=MOST_COUNTED,
        widget=forms.HiddenInput,
        error_messages=dict.fromkeys(("required", "invalid", "min_value", "max_value"), says),
    )


class ReviewForm(forms.Form):
    """The rubric of one lab. An item without points is allowed: it is not decided yet."""

    version = _hidden_number(
        "This page does not say which draft it shows. Load it again; copy your text first."
    )
    edition = _hidden_number(
        "This page does not say which rubric it shows. Load it again; copy your text first."
    )
    comment = _Comment(
        required=False,
        max_length=MOST_COMMENT_CHARACTERS,
        error_messages={
            "max_length": f"{MOST_COMMENT_CHARACTERS:,} characters at most; this has %(show_value)s. Nothing was cut."
        },
    )

    def __init__(
        self,
        rubric: Rubric,
        *args: Any,
        moments: Sequence[int] = (),
        **kwargs: Any,
    ) -> None:
        """``moments`` are the addresses that an item may point at."""
        super().__init__(*args, **kwargs)
        self.rubric = rubric
        for item in rubric.items:
            message = f"Give {_listed(item.choices)} points, or leave it open."
            self.fields[f"points_{item.key}"] = forms.TypedChoiceField(
                required=False,
                coerce=int,
                empty_value=None,
                choices=[("", "open"), *((str(each), str(each)) for each in item.choices)],
                error_messages={"invalid_choice": message},
            )
            self.fields[f"moment_{item.key}"] = forms.TypedChoiceField(
                required=False,
                coerce=int,
                empty_value=None,
                choices=[("", "nothing"), *((str(each), str(each)) for each in moments)],
                error_messages={
                    "invalid_choice": "The log holds no such moment: choose one of the list, or nothing."
                },
            )

    @classmethod
    def of_draft(
        cls, rubric: Rubric, draft: Draft, version: int, moments: Sequence[int]
    ) -> ReviewForm:
        """Return the form filled with a stored draft."""
        initial: dict[str, Any] = {
            "comment": draft.comment,
            "version": version,
            "edition": draft.edition,
        }
        initial |= {f"points_{key}": each for key, each in draft.points.items()}
        initial |= {f"moment_{key}": each for key, each in draft.moments.items()}
        return cls(rubric, initial=initial, moments=moments)

    def draft(self) -> Draft:
        """Return what was sent, once it is valid."""
        sent, keys = self.cleaned_data, self.rubric.keys
        moments = {key: sent[f"moment_{key}"] for key in keys}
        return Draft(
            points={key: sent[f"points_{key}"] for key in keys},
            comment=sent["comment"],
            moments={key: each for key, each in moments.items() if each is not None},
            edition=sent["edition"],
        )

    def given(self) -> Points:
        """Return what can be read of the points, whatever else is wrong with the form."""
        read: Points = {}
        for row in self.rows():
            known = {value for value, _ in row.choices if value}
            read[row.key] = int(row.chosen) if row.chosen in known else None
        return read

    def page_errors(self) -> list[str]:
        """Return what is wrong with what the page itself sends along."""
        found = (*self.errors.get("version", ()), *self.errors.get("edition", ()))
        return [str(each) for each in found[:1]]

    def ask_to_decide(self, keys: Sequence[str]) -> None:
        """Mark the items that must have points before the review can be released."""
        for key in keys:
            self.add_error(f"points_{key}", "Decide this one before you release.")

    def rows(self) -> Iterator[Row]:
        """Yield the items in the order of the rubric."""
        wrong_before = False
        for place, item in enumerate(self.rubric.items):
            points, moment = self[f"points_{item.key}"], self[f"moment_{item.key}"]
            errors = tuple(str(error) for error in (*points.errors, *moment.errors))
            yield Row(
                place=place,
                key=item.key,
                title=item.title,
                note=item.note,
                of=item.points,
                name=points.html_name,
                choices=(("", "open"), *((str(n), f"{n}".replace("-", "−")) for n in item.choices)),
                chosen=_text(points.value()),
                moment_name=moment.html_name,
                moment_chosen=_text(moment.value()),
                errors=errors,
                is_first_wrong=bool(errors) and not wrong_before,
            )
            wrong_before = wrong_before or bool(errors)


def _text(value: object) -> str:
    return "" if value is None else str(value).strip()


def _listed(choices: Sequence[int]) -> str:
    """Return numbers in words: 0, 1 or 2."""
    words = [str(each).replace("-", "−") for each in choices]
    return f"{', '.join(words[:-1])} or {words[-1]}"


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


class SettleForm(_Reason):
    """Why an instructor does without a reading."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["reason"].help_text = "It is kept, and everybody who reads sees it."


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
