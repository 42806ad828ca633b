"""What a learner says who asks for another look, and what they are answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms

from labs.regrades import LEAST_REASON_CHARACTERS, MOST_REASON_CHARACTERS

if TYPE_CHECKING:
    from labs.rubrics import Item


def shown(points: float) -> str:
    """Return points without a decimal that says nothing: 2, 1.5."""
    return f"{points:g}"


class _Text(forms.CharField):
    def to_python(self, value: Any) -> str:
        """Count a line's end as the browser does: as one character."""
        return (super().to_python(value) or "").replace("\r\n", "\n")


def _text(label: str, hint: str, required: str) -> forms.CharField:
    least, most = LEAST_REASON_CHARACTERS, MOST_REASON_CHARACTERS
    return _Text(
        label=label,
        help_text=hint,
        min_length=least,
        max_length=most,
        widget=forms.Textarea({"rows": 5}),
        error_messages={
            "required": required,
            "min_length": f"{least} characters at least; this has %(show_value)s. {required}",
            "max_length": f"{most:,} characters at most; this has %(show_value)s. Nothing was cut.",
        },
    )


class AskForm(forms.Form):
    """Why a learner asks for another look at one item."""

    reason = _text(
        "What was overlooked?",
        f"Point at the words or the reading that earn more. From {LEAST_REASON_CHARACTERS} to {MOST_REASON_CHARACTERS:,} characters.",
        "Say what in your text earns more points.",
    )


class AnswerForm(forms.Form):
    """The points of an item from now on, and why. The same points decline the request."""

    points = forms.TypedChoiceField(
        coerce=float,
        widget=forms.RadioSelect,
        error_messages=dict.fromkeys(("required", "invalid_choice"), "Choose the points."),
    )
    reason = _text("Why?", "The learner reads this.", "Say why: the learner reads it.")
    version = forms.IntegerField(min_value=0, widget=forms.HiddenInput)

    def __init__(self, item: Item | None, now: float | None, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        stays = now or 0.0
        choices = [(shown(stays), f"stays at {shown(stays)}: declined")]
        if item is not None and now is not None:
            more = (n for n in range(min(item.points, 0), max(item.points, 0) + 1) if n > stays)
            of = f" of {item.points}" if item.points > 0 else ""
            choices += [(shown(n), f"{n}{of}") for n in more]
        self.fields["points"].choices = choices  # type: ignore[attr-defined]
