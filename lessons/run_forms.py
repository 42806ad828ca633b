"""What a learner types into a step of a walkthrough."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms

from labs import console
from lessons.forms import LINE
from lessons.walkthroughs import why_not

if TYPE_CHECKING:
    from lessons.walkthroughs import Step, Walkthrough


class RunForm(forms.Form):
    """A line of the console; and before the step itself is run, what the learner expects of it."""

    command = forms.CharField(
        max_length=console.MAX_LINE_CHARACTERS,
        error_messages={
            "required": "Type a line of the console, or `help` for the list.",
            "max_length": f"This console reads {console.MAX_LINE_CHARACTERS} characters at most.",
        },
    )
    expected = forms.CharField(
        max_length=LINE,
        required=False,
        error_messages={"max_length": f"One line is enough: {LINE} characters at most."},
    )

    def __init__(self, walk: Walkthrough, step: Step, *args: Any, asks: bool = False) -> None:
        """``asks`` is true where the lesson asks what to expect and the step was not run yet."""
        super().__init__(*args)
        self.walk, self.step, self.asks = walk, step, asks

    def clean_command(self) -> str:
        line: str = self.cleaned_data["command"].removeprefix("$ ").strip()
        refusal = why_not(self.walk, self.step, line)
        if refusal:
            raise forms.ValidationError(refusal, code="refused")
        return self.step.line if console.parse(line) == self.step.command else line

    def clean(self) -> None:
        own = self.cleaned_data.get("command") == self.step.line
        if self.asks and own and not self.errors and not self.cleaned_data.get("expected"):
            self.add_error("expected", "Write what you expect first: one line is enough.")
