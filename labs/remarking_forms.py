"""What an instructor asks of a round of marking anew, and why it is applied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms

from labs.catalogue import labs

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_REASON_CHARACTERS = 1000


class AskForm(forms.Form):
    """Which labs' attempts are looked at: those that have marks."""

    labs = forms.MultipleChoiceField(
        label="Labs with marks",
        widget=forms.CheckboxSelectMultiple,
        error_messages={
            "required": "Choose at least one lab.",
            "invalid_choice": "%(value)s is not a lab with marks. Choose from the list.",
        },
    )
    simulate = forms.BooleanField(
        required=False,
        label="Also simulate attempts whose re-runs were not kept, some seconds each",
    )

    def __init__(self, stored: Mapping[str, int], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["labs"]
        assert isinstance(field, forms.MultipleChoiceField)  # noqa: S101  (for the type checker)
        field.choices = [
            (slug, f"{spec.title}: {stored[slug]:,} attempt{'' if stored[slug] == 1 else 's'}")
            for slug, spec in labs().items()
            if stored.get(slug)
        ]


class ApplyForm(forms.Form):
    """Why marks are changed. The learners whose marks move read it."""

    reason = forms.CharField(
        label="Why do marks change?",
        help_text="Learners whose marks move read this.",
        widget=forms.Textarea({"rows": 3}),
        max_length=MOST_REASON_CHARACTERS,
        error_messages={
            "required": "Say why: the learners whose marks move read it beside the change.",
            "max_length": f"{MOST_REASON_CHARACTERS:,} characters at most; this has %(show_value)s.",
        },
    )
