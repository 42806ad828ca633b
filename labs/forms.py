"""What a learner commits in a lab: a prediction, beliefs, a diagnosis, an explanation; and the flags of a restart."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

from django import forms

from labs.console import ENGINE_FLAGS, Refusal, parse
from labs.room import LETTERS
from labs.specs import LAYERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from labs.room import Belief, Citable
    from labs.specs import LabSpec

LINE = 300
TEXT = 6000
MOST_CITATIONS = 6
MOST_COMPONENTS = 3
PREDICTION_CONFIDENCES = (50, 70, 90)
DIAGNOSIS_CONFIDENCES = (50, 60, 70, 80, 90)
_NUMBER = re.compile(r"(\d{1,3}([, \u202f]\d{3})+|\d+)(\.\d+)?|\.\d+")


def number_of(text: str, such_as: str) -> float:
    """Read a number with or without thousands marks. Raises ValidationError with what to write."""
    if not _NUMBER.fullmatch(text):
        raise forms.ValidationError(
            f"Write a number without its unit, such as {such_as}.", code="number"
        )
    return float(re.sub(r"[, \u202f]", "", text))


class _Form(forms.Form):
    """A form whose choices know whether they are chosen, so that a template can draw them its own way."""

    @property
    def options(self) -> dict[str, list[dict[str, Any]]]:
        """Return the choices of each field that has some: value, label, and whether it is chosen."""
        found: dict[str, list[dict[str, Any]]] = {}
        for name, field in self.fields.items():
            if not isinstance(field, forms.ChoiceField):
                continue
            value = self[name].value()
            chosen = value if isinstance(value, list | tuple) else [value]
            chosen = ["" if each is None else str(each) for each in chosen]
            found[name] = [
                {"value": key, "label": label, "chosen": str(key) in chosen}
                for key, label in cast("list[tuple[str, str]]", list(field.choices))  # type: ignore[arg-type]
            ]
        return found


class PredictionForm(_Form):
    """Value, confidence, one line of why. A share is a number from 0 to 1."""

    def __init__(self, *args: Any, is_share: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.is_share = is_share

    value = forms.CharField(
        max_length=16,
        error_messages={
            "required": "Write the number you expect.",
            "max_length": "That is too long for a number.",
        },
    )
    confidence = forms.TypedChoiceField(
        coerce=int,
        choices=[(level, f"{level}%") for level in PREDICTION_CONFIDENCES],
        error_messages={
            "required": "Choose how sure you are.",
            "invalid_choice": "Choose 50, 70 or 90 %%.",
        },
    )
    why = forms.CharField(
        max_length=LINE,
        error_messages={
            "required": "Write one line of why: you will compare it with what comes.",
            "max_length": f"One line is enough: {LINE} characters at most.",
        },
    )

    def clean_value(self) -> float:
        value = number_of(self.cleaned_data["value"], "60 or 0.5")
        if not 0 < value <= 1e6:  # noqa: PLR2004
            raise forms.ValidationError("Write a number above 0.", code="range")
        if self.is_share and value > 1:
            raise forms.ValidationError("A share lies between 0 and 1: 0.6 is 60 %.", code="range")
        return value


class BeliefsForm(forms.Form):
    """How likely hypotheses are, in per cent; 0 is ruled out. They need not add up: they are the learner's own."""

    def __init__(self, beliefs: Sequence[Belief], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.beliefs = beliefs
        for each in beliefs:
            self.fields[each.field] = forms.IntegerField(
                min_value=0, max_value=100, required=False, initial=each.slider
            )

    def moved(self) -> dict[str, int]:
        """Return what was set, by hypothesis. A slider sends its value unmoved too, and that says nothing."""
        return {
            each.key: self.cleaned_data[each.field]
            for each in self.beliefs
            if each.field in self.changed_data and self.cleaned_data[each.field] is not None
        }


class DiagnosisForm(_Form):
    """Scope, hurt objectives, layer, components, mechanism, parameter, citations, confidence."""

    scope = forms.ChoiceField(
        choices=[("fault", "There is a fault"), ("nothing", "Nothing is wrong")],
        error_messages={"required": "Say whether there is a fault at all."},
    )
    layer = forms.ChoiceField(choices=[(each, each) for each in LAYERS], required=False)
    parameter = forms.CharField(
        max_length=16,
        required=False,
        error_messages={"max_length": "That is too long for a number."},
    )
    confidence = forms.TypedChoiceField(
        coerce=int,
        choices=[(level, f"{level}%") for level in DIAGNOSIS_CONFIDENCES],
        error_messages={
            "required": "Choose how sure you are.",
            "invalid_choice": "Choose one of the five.",
        },
    )

    def __init__(
        self, spec: LabSpec, citable: Sequence[Citable], *args: Any, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.citable = citable
        unknown = {"invalid_choice": "Choose among those on the page."}
        self.fields["slos"] = forms.MultipleChoiceField(
            choices=[(key, slo.title) for key, slo in spec.slos.items()],
            required=False,
            error_messages=unknown,
        )
        self.fields["components"] = forms.MultipleChoiceField(
            choices=[(key, node.title) for key, node in spec.nodes.items() if node.nameable],
            required=False,
            error_messages=unknown,
        )
        self.fields["mechanism"] = forms.ChoiceField(
            choices=[(key, each.title) for key, each in spec.mechanisms.items()],
            required=False,
            error_messages=unknown,
        )
        roles = [
            ("", "not cited"),
            ("shows", "shows the fault"),
            *(
                (f"rules_out:{key}", f"rules out {letter}: {each.title}")
                for letter, (key, each) in zip(LETTERS, spec.hypotheses.items(), strict=False)
            ),
        ]
        for each in citable:
            self.fields[each.field] = forms.ChoiceField(
                choices=roles, required=False, error_messages=unknown
            )

    def clean_parameter(self) -> float | None:
        text = self.cleaned_data["parameter"]
        return number_of(text, "1.2 or 0.7") if text else None

    def clean_components(self) -> list[str]:
        components: list[str] = self.cleaned_data["components"]
        if len(components) > MOST_COMPONENTS:
            raise forms.ValidationError(
                f"You ticked {len(components)}; name at most {MOST_COMPONENTS}, or the part earns nothing.",
                code="many",
            )
        return components

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or self.cleaned_data
        if data.get("scope") == "fault":
            for name, wanted in (
                ("slos", "Tick at least one promise that the fault hurts."),
                ("layer", "Choose the layer that stopped first."),
                ("components", "Name at least one component."),
                ("mechanism", "Choose the mechanism that you hold for true."),
            ):
                if name not in self.errors and not data.get(name):
                    self.add_error(name, forms.ValidationError(wanted, code="required"))
        cited = [each for each in self.citable if data.get(each.field)]
        if len(cited) > MOST_CITATIONS:
            self.add_error(
                None,
                forms.ValidationError(
                    f"You cite {len(cited)} readings; cite at most {MOST_CITATIONS}: those that prove it.",
                    code="citations",
                ),
            )
        return data

    def payload(self) -> dict[str, Any]:
        """Return the diagnosis as marking reads it."""
        data = self.cleaned_data
        citations: list[dict[str, Any]] = []
        for each in self.citable:
            role, _, rival = (data.get(each.field) or "").partition(":")
            if role:
                citations.append(
                    {
                        "reading": each.reading,
                        "signal": each.signal,
                        "role": role,
                        "rival": rival or None,
                    }
                )
        return {
            "scope": data["scope"],
            "slos": data["slos"],
            "layer": data["layer"],
            "components": data["components"],
            "mechanism": data["mechanism"] or None,
            "parameter": data["parameter"],
            "citations": citations,
            "confidence": data["confidence"],
        }


def diagnosis_initial(payload: Mapping[str, Any], citable: Sequence[Citable]) -> dict[str, Any]:
    """Return the initial values that show a committed diagnosis again, to be revised."""
    cited = {
        (each["reading"], each["signal"]): f"rules_out:{each['rival']}"
        if each["role"] == "rules_out"
        else "shows"
        for each in payload.get("citations", [])
    }
    parameter = payload.get("parameter")
    return {
        **{key: payload.get(key) for key in ("scope", "slos", "layer", "components", "mechanism")},
        "parameter": "" if parameter is None else f"{parameter:.12g}",
        "confidence": payload.get("confidence"),
        **{each.field: cited.get((each.reading, each.signal), "") for each in citable},
    }


class ExplanationForm(forms.Form):
    """The learner's own words, for a person to read."""

    text = forms.CharField(
        max_length=TEXT,
        error_messages={
            "required": "Write what happened and how you know; a person reads it.",
            "max_length": f"That is more than {TEXT:,} characters; keep what proves your story.",
        },
    )


class FlagsForm(_Form):
    """Engine flags; ``line`` is the command that they make. What the values may be is the console's to say."""

    max_num_seqs = forms.CharField(max_length=8, required=False)
    max_num_batched_tokens = forms.CharField(max_length=8, required=False)
    watermark = forms.CharField(max_length=8, required=False)
    kv_cache_dtype = forms.ChoiceField(
        choices=[("", "as it is"), ("auto", "auto"), ("fp8", "fp8")], required=False
    )
    reserve_full_isl = forms.ChoiceField(
        choices=[("", "as it is"), ("on", "on"), ("off", "off")], required=False
    )
    chunked_prefill = forms.ChoiceField(
        choices=[("", "as it is"), ("on", "on"), ("off", "off")], required=False
    )

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or self.cleaned_data
        for name in ("max_num_seqs", "max_num_batched_tokens", "watermark"):
            value, flag = data.get(name), f"--{name.replace('_', '-')}"
            if not value:
                continue
            # One word, so that the line is about this flag alone.
            one_word = re.fullmatch(r"[\w.]+", value)
            if not one_word or isinstance(parse(f"restart {flag} {value}"), Refusal):
                wanted = f"Write {ENGINE_FLAGS[flag]}."
                self.add_error(name, forms.ValidationError(wanted, code="flag"))
        return data

    def line(self) -> str:
        """Return the ``restart`` line; without a flag it restarts with the same ones."""
        data = self.cleaned_data
        words = ["restart"]
        for name in ("max_num_seqs", "max_num_batched_tokens", "watermark", "kv_cache_dtype"):
            if data[name]:
                words += [f"--{name.replace('_', '-')}", data[name]]
        for name, flag in (
            ("reserve_full_isl", "scheduler-reserve-full-isl"),
            ("chunked_prefill", "enable-chunked-prefill"),
        ):
            if data[name]:
                words.append(f"--{flag}" if data[name] == "on" else f"--no-{flag}")
        return " ".join(words)
