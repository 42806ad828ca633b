"""What authors type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms

from courseware.studio.pieces import NoPiece, piece_at
from courseware.studio.starts import CLONED

if TYPE_CHECKING:
    from collections.abc import Iterable

PATHS = {
    "lab": "labs/{}",
    "lesson": "lessons/{}",
    "unit": "lessons/{}/unit.toml",
    "drill": "lessons/drills/{}",
    "symptom": "lessons/symptoms/{}.md",
}
KINDS = (
    ("lesson", "A lesson"),
    ("lab", "A lab"),
    ("symptom", "A symptom"),
    ("drill", "A drill"),
    ("unit", "A unit, which lessons stand in"),
)
NAMES = {
    "lab": "small letters, digits and hyphens, such as slow-after-midnight",
    "lesson": "its unit and its own folder, such as 02-playbook/31-my-lesson",
    "unit": "a number and a name, such as 04-fleets",
    "drill": "the number of its symptom, such as 4.2",
    "symptom": "its group and number, such as 1.7",
}
MOST_NOTE_CHARACTERS = 1000


class NewPieceForm(forms.Form):
    """A piece that the course does not have yet."""

    kind = forms.ChoiceField(label="What", choices=KINDS)
    name = forms.CharField(
        label="Name",
        max_length=120,
        help_text="A lab: slow-after-midnight. A lesson: 02-playbook/31-my-lesson. A symptom or a drill: 1.7.",
        error_messages={"required": "Say what it is called: its address follows from it."},
    )
    clone_of = forms.ChoiceField(
        label="Begin with",
        required=False,
        help_text="Labs and drills begin as a clone: change one that works, and prove it at each step.",
    )

    def __init__(self, pieces: Iterable[tuple[str, str]], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        groups: dict[str, list[tuple[str, str]]] = {}
        for path, title in pieces:
            kind = piece_at(path).kind
            if kind in PATHS:
                groups.setdefault(f"A clone of a {kind}", []).append((path, title))
        field = self.fields["clone_of"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101  (for the type checker)
        field.choices = [("", "A template: the least that can be shown"), *groups.items()]

    def clean(self) -> dict[str, Any]:
        """Join kind and name to a path."""
        found: dict[str, Any] = super().clean() or {}
        kind, name = found.get("kind"), str(found.get("name", "")).strip()
        if kind and name:
            path = PATHS[kind].format(name)
            try:
                is_right = piece_at(path).kind == kind
            except NoPiece:
                is_right = False
            if not is_right:
                self.add_error("name", f"“{name}” is no name of a {kind}: write {NAMES[kind]}.")
            found["path"] = path
        if kind in CLONED and not found.get("clone_of"):
            self.add_error("clone_of", f"Choose the {kind} that it begins as.")
        elif kind and found.get("clone_of") and piece_at(found["clone_of"]).kind != kind:
            self.add_error("clone_of", f"That is no {kind}: choose one, or the template.")
        return found


class PublishForm(forms.Form):
    """What a version says of itself."""

    note = forms.CharField(
        label="What changed, and why",
        help_text="Whoever reads the history of this piece reads it.",
        widget=forms.Textarea({"rows": 3}),
        max_length=MOST_NOTE_CHARACTERS,
        error_messages={
            "required": "Say what changed and why: the history shows it beside the version.",
            "max_length": f"{MOST_NOTE_CHARACTERS:,} characters at most; this has %(show_value)s.",
        },
    )
    version = forms.IntegerField(widget=forms.HiddenInput, min_value=0)
