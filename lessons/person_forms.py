"""What a person types for themselves."""

from __future__ import annotations

from typing import Any

from django import forms

from lessons.repeats import SAME, WHY

NOTE = 4000


class _Lines(forms.CharField):
    """Text of several lines, whose ends count as one character, as they do in the browser."""

    def to_python(self, value: Any) -> str:
        return (super().to_python(value) or "").replace("\r\n", "\n")


class NoteForm(forms.Form):
    """A note at a station, where empty takes it away, and its bookmark if that button was pressed."""

    text = _Lines(
        required=False,
        max_length=NOTE,
        error_messages={
            "max_length": f"Not saved: a note holds {NOTE:,} characters at most. Shorten it here; what you wrote is kept in the field."
        },
    )
    bookmark = forms.ChoiceField(choices=[("yes", "set"), ("no", "taken away")], required=False)


class RepeatForm(forms.Form):
    """The answer to a prediction that came back."""

    answer = forms.ChoiceField(
        choices=[(WHY, "I know why"), (SAME, "I would say the same")],
    )


class MailForm(forms.Form):
    """Whether the mail of the day is wanted."""

    wanted = forms.ChoiceField(choices=[("yes", "on"), ("no", "off")])
