"""What instructors and learners type about cohorts."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError

from courseware.cohorts import assigned, roster
from courseware.models import Announcement, Assignment, Cohort, Membership, Override

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_CSV_BYTES = 1_000_000
_MOMENT = "%Y-%m-%dT%H:%M"
_MOMENTS = ("opens_at", "due_at", "late_until")
_COUNTS = ("late_credit_percent", "most_attempts", "wait_min", "extra_time_percent")
_TERMS = ("opens_at", "due_at", "late_until", "late_credit_percent", "most_attempts", "wait_min")
_YEARS = range(2000, 2101)
_NO_YEAR = f"Write a year from {_YEARS[0]} to {_YEARS[-1]}."
_NO_DATE = "Write a date and a time, such as 2027-03-01 09:00."
_NO_DAY = "Write a day, such as 2027-03-01."
_NO_NUMBER = "Write a whole number."


def _day() -> forms.DateInput:
    return forms.DateInput({"type": "date"}, format="%Y-%m-%d")


def _refuse_far_years(form: forms.BaseForm, names: Iterable[str], said: dict[str, Any]) -> None:
    """Refuse a mistyped year; beyond them, extra time would leave the calendar."""
    for name in names:
        at = said.get(name)
        if at is not None and at.year not in _YEARS:
            form.add_error(name, _NO_YEAR)


class JoinForm(forms.Form):
    """A join code, as it was read from a wall."""

    code = forms.CharField(
        label="Code",
        max_length=40,
        widget=forms.TextInput({"autocomplete": "off", "autocapitalize": "characters"}),
        error_messages={"required": "Write the code that your instructor gave you."},
    )


class _SeenForm(forms.ModelForm):  # type: ignore[type-arg]  # no generic when it runs
    """A form that knows what its page showed: it overwrites nothing that its sender has not seen."""

    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["seen"].initial = self._stands = self._digest()

    def _digest(self) -> str:
        """Return what tells apart what is stored, as the fields show it."""
        own = {
            name: str(self.get_initial_for_field(field, name))
            for name, field in self.fields.items()
        }
        return hashlib.sha256(repr(sorted(own.items())).encode()).hexdigest()[:16]

    def clean(self) -> dict[str, Any]:
        said: dict[str, Any] = super().clean() or {}
        seen = said.pop("seen", "")
        if self.instance.pk and seen and seen != self._stands:
            self.add_error(None, self._changed())
            # Whoever sends it again has read what stands there.
            self.data = {**dict(self.data.items()), "seen": self._stands}
        return said

    def _changed(self) -> str:
        now = "; ".join(
            f"{self[name].label.lower()}: {self.get_initial_for_field(self.fields[name], name) or 'nothing'}"
            for name in self.changed_data
            if name != "seen"
        )
        return (
            "Not saved: somebody changed this after your page was opened. "
            + (f"Where yours differs, it says now: {now}. " if now else "")
            + "Your entries stand here; save again to put them in its place."
        )


class CohortForm(_SeenForm):
    class Meta:
        model = Cohort
        fields: ClassVar[list[str]] = ["name", "starts_on", "ends_on", "is_open"]
        widgets: ClassVar[dict[str, Any]] = {"starts_on": _day(), "ends_on": _day()}
        error_messages: ClassVar[dict[str, Any]] = {
            "name": {"required": "Give it a name that its people will know it by."},
            "starts_on": {"required": _NO_DAY, "invalid": _NO_DAY},
            "ends_on": {"required": _NO_DAY, "invalid": _NO_DAY},
        }
        labels: ClassVar[dict[str, str]] = {"is_open": "People may join with the code"}

    def clean(self) -> dict[str, Any]:
        said: dict[str, Any] = super().clean() or {}
        first, last = said.get("starts_on"), said.get("ends_on")
        _refuse_far_years(self, ("starts_on", "ends_on"), said)
        if first and last and last < first:
            self.add_error("ends_on", "The last day lies before the first.")
        return said


class _TermsForm(_SeenForm):
    """Dates and limits, the same for an assignment and for an override."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in _MOMENTS:
            field = self.fields[name]
            field.widget = forms.DateTimeInput({"type": "datetime-local"}, format=_MOMENT)
            field.error_messages["invalid"] = _NO_DATE
        for name in _COUNTS:
            if name in self.fields:
                self.fields[name].error_messages["invalid"] = _NO_NUMBER
                self.fields[name].widget.attrs["inputmode"] = "numeric"
        self.fields["most_attempts"].widget.attrs["min"] = 1

    def clean_most_attempts(self) -> int | None:
        most: int | None = self.cleaned_data["most_attempts"]
        if most == 0:
            raise ValidationError("One attempt is the least. To allow none, let it open later.")
        return most

    def clean(self) -> dict[str, Any]:
        said: dict[str, Any] = super().clean() or {}
        opens, due, until = (said.get(name) for name in _MOMENTS)
        _refuse_far_years(self, _MOMENTS, said)
        if opens and due and due <= opens:
            self.add_error("due_at", "It is due before it opens.")
        if due and until and until <= due:
            self.add_error("late_until", "Late work ends before it begins: that is when it is due.")
        return said


class AssignmentForm(_TermsForm):
    """What a cohort does, and by when."""

    item = forms.ChoiceField(
        label="What",
        error_messages={
            "required": "Choose a lab, a lesson or a drill.",
            "invalid_choice": "The course has nothing of that name. Choose from the list.",
        },
    )

    class Meta:
        model = Assignment
        fields: ClassVar[list[str]] = list(_TERMS)

    field_order = ("item",)

    def __init__(self, *args: Any, cohort: Cohort, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.cohort = cohort
        if self.instance.pk is not None:
            del self.fields["item"]
            return
        offered = list(assigned.items().values())
        groups = (("Labs", "lab"), ("Lessons", "lesson"), ("Drills", "drill"))
        choices: list[Any] = [("", "Choose …")]
        choices += [
            (title, [(each.key, each.title) for each in offered if each.kind == kind])
            for title, kind in groups
        ]
        item = self.fields["item"]
        if isinstance(item, forms.ChoiceField):
            item.choices = choices

    def clean_item(self) -> str:
        kind, _, slug = str(self.cleaned_data["item"]).partition(":")
        if self.cohort.assignments.filter(kind=kind, slug=slug).exists():
            raise ValidationError("This cohort has it already. Change that one instead.")
        self.instance.cohort, self.instance.kind, self.instance.slug = self.cohort, kind, slug
        return f"{kind}:{slug}"

    def clean(self) -> dict[str, Any]:
        said = super().clean()
        if said.get("late_credit_percent") is not None and not said.get("late_until"):
            self.add_error("late_until", "Say until when late work is taken, if it earns credit.")
        if self.instance.kind in {"lesson", "drill"}:
            for name in ("most_attempts", "wait_min"):
                if said.get(name) is not None:
                    self.add_error(name, "Only attempts at labs are counted. Leave it empty.")
        return said


class _AssignmentField(forms.ModelChoiceField):  # type: ignore[type-arg]  # no generic when it runs
    def label_from_instance(self, obj: Any) -> str:
        return assigned.item_of(obj).title


class OverrideForm(_TermsForm):
    """Other terms for a person or a label."""

    assignment = _AssignmentField(
        Assignment.objects.none(), label="In", required=False, empty_label="The whole cohort"
    )

    class Meta:
        model = Override
        fields: ClassVar[list[str]] = [
            "membership",
            "label",
            "assignment",
            "order",
            *_TERMS,
            "extra_time_percent",
        ]
        labels: ClassVar[dict[str, str]] = {
            "membership": "A person",
            "label": "or everyone with the label",
            "order": "Order",
        }

    def __init__(self, *args: Any, cohort: Cohort, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.instance.cohort = cohort
        membership, assignment = self.fields["membership"], self.fields["assignment"]
        if isinstance(membership, forms.ModelChoiceField):
            membership.queryset = cohort.memberships.present().select_related("person")
            membership.empty_label = "Nobody in particular"
        if isinstance(assignment, forms.ModelChoiceField):
            assignment.queryset = cohort.assignments.all()

    def clean_label(self) -> str:
        found = roster.labels_in(self.cleaned_data["label"])
        if len(found) > 1:
            raise ValidationError("One label an override. Make another for the next.")
        return found[0] if found else ""

    def clean(self) -> dict[str, Any]:
        said = super().clean()
        if "label" in said and bool(said.get("membership")) == bool(said["label"]):
            both = "Choose a person or write a label, not both."
            neither = "Say for whom: choose a person, or write a label."
            self.add_error("membership", both if said["label"] else neither)
        if not self.errors and all(said.get(name) is None for name in (*_TERMS, _COUNTS[-1])):
            self.add_error(None, "An override that overrides nothing: fill at least one field.")
        return said


class MemberForm(_SeenForm):
    labels = forms.CharField(
        required=False,
        max_length=400,
        help_text="Words with spaces or commas between them.",
    )

    class Meta:
        model = Membership
        fields: ClassVar[list[str]] = ["name", "role", "labels", "extra_time_percent"]
        labels: ClassVar[dict[str, str]] = {"name": "Name on the roster"}
        error_messages: ClassVar[dict[str, Any]] = {
            "extra_time_percent": {"required": "Write 0 for none.", "invalid": _NO_NUMBER}
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["labels"] = ", ".join(self.instance.labels)
        self.fields["seen"].initial = self._stands = self._digest()

    def clean_labels(self) -> list[str]:
        found = list(roster.labels_in(self.cleaned_data["labels"]))
        if long := [each for each in found if len(each) > roster.MOST_LABEL_CHARACTERS]:
            raise ValidationError(
                f"“{long[0]}” has {len(long[0])} characters; {roster.MOST_LABEL_CHARACTERS} fit."
            )
        return found

    def clean_role(self) -> str:
        role = str(self.cleaned_data["role"])
        if self.instance.person_id is None and role != Membership.Role.LEARNER:
            raise ValidationError(
                f"Nobody has signed up as {self.instance.email} yet, and only somebody with an account can become {role}."
            )
        return role


class RosterForm(forms.Form):
    """A roster, pasted or as a file. What comes as a file is put into the text, so that it can be mended there."""

    text = forms.CharField(
        label="People, one a row",
        required=False,
        strip=False,
        widget=forms.Textarea({"rows": 10, "spellcheck": "false", "class": "text mono"}),
    )
    file = forms.FileField(label="or a file", required=False)

    def clean_file(self) -> str:
        sent = self.cleaned_data["file"]
        if not sent:
            return ""
        if sent.size > MOST_CSV_BYTES:
            raise ValidationError(
                f"{sent.size:,} bytes are more than the {MOST_CSV_BYTES:,} taken."
            )
        try:
            return str(sent.read().decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            raise ValidationError(
                f"{sent.name} is not UTF-8 text (byte {error.start:,}). Save the table as CSV UTF-8, or paste it."
            ) from error

    def clean(self) -> dict[str, Any]:
        said: dict[str, Any] = super().clean() or {}
        typed, text = said.get("text", ""), said.get("file") or said.get("text", "")
        if said.get("file") and typed.strip() not in {"", ",".join(roster.COLUMNS)}:
            self.add_error(
                "file", "There are rows above, too. They are kept; the file was not read. Send one."
            )
            text = typed
        if not self.errors and not text.strip():
            self.add_error("text", "Paste the rows, or choose a file.")
        return {**said, "text": text}


class AnnouncementForm(forms.ModelForm):  # type: ignore[type-arg]  # no generic when it runs
    class Meta:
        model = Announcement
        fields: ClassVar[list[str]] = ["text"]
        labels: ClassVar[dict[str, str]] = {"text": "What do you tell them?"}
        help_texts: ClassVar[dict[str, str]] = {
            "text": "Markdown: paragraphs, lists, links, <code>code</code>. It stands on their home page."
        }
        widgets: ClassVar[dict[str, Any]] = {"text": forms.Textarea({"rows": 5})}
        error_messages: ClassVar[dict[str, Any]] = {
            "text": {"required": "There is nothing to announce yet."}
        }


def fields_of(form: forms.BaseForm, names: Iterable[str]) -> list[forms.BoundField]:
    """Return the named fields that a form has, for a group on the page."""
    return [form[name] for name in names if name in form.fields]
