"""What a drill asks: each form knows the choices of its drill, and says what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.forms.utils import ErrorDict

if TYPE_CHECKING:
    from lessons.drills.spec import DrillSpec

CONFIDENCES = (50, 70, 90)
WHY_CHARACTERS = 300


class _OfADrill(forms.Form):
    """A form whose one list comes from a table of the drill."""

    choices_from: ClassVar[tuple[str, str]]
    """The field, and the table of the spec that it chooses from."""

    def __init__(self, spec: DrillSpec, *args: Any, judged: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.judged = judged
        field, table = self.choices_from
        titles = [(key, each.title) for key, each in getattr(spec, table).items()]
        self.fields[field].choices = titles  # type: ignore[attr-defined]

    @property
    def errors(self) -> ErrorDict:
        """None while what stands in the fields is not sent to be judged."""
        return super().errors if self.judged else ErrorDict()


class CommitForm(_OfADrill):
    """The first measurement, how sure, and one line of why."""

    choices_from = ("measurement", "measurements")
    measurement = forms.ChoiceField(
        error_messages={
            "required": "Choose what you would measure first.",
            "invalid_choice": "This drill has no such measurement: choose one of the list.",
        }
    )
    confidence = forms.TypedChoiceField(
        coerce=int,
        choices=[(level, f"{level} %") for level in CONFIDENCES],
        error_messages={
            "required": "Choose how sure you are.",
            "invalid_choice": "Choose 50, 70 or 90 %%.",
        },
    )
    why = forms.CharField(
        max_length=WHY_CHARACTERS,
        error_messages={
            "required": "Write one line of why: which answer would tell you what?",
            "max_length": f"One line is enough: {WHY_CHARACTERS} characters at most.",
        },
    )


class StrikeForm(_OfADrill):
    """Suspects that the evidence leaves no room for; none is an answer too."""

    choices_from = ("struck", "suspects")
    struck = forms.MultipleChoiceField(
        required=False,
        error_messages={"invalid_choice": "This drill has no such suspect: choose from the list."},
    )


class MechanismForm(_OfADrill):
    """One statement of what happens."""

    choices_from = ("mechanism", "mechanisms")
    mechanism = forms.ChoiceField(
        error_messages={
            "required": "Choose what happens here.",
            "invalid_choice": "This drill has no such statement: choose one of the list.",
        }
    )


class FixForm(_OfADrill):
    """What to turn, or nothing."""

    choices_from = ("fix", "fixes")
    fix = forms.ChoiceField(
        error_messages={
            "required": "Choose what you would do.",
            "invalid_choice": "This drill has no such fix: choose one of the list.",
        }
    )
