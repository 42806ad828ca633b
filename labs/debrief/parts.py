"""The parts of the mark with their reasons, and what became of each citation."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from labs.specs import LabSpec

_TITLES = {
    "scope": "Scope",
    "localisation": "Localisation",
    "mechanism": "Mechanism",
    "evidence": "Evidence",
    "mitigation": "Mitigation",
    "economy": "Economy",
}
_VERDICTS = {
    "link": ("ok", "check", "a link of the proof"),
    "repeat": ("", "half", "a link that you had already"),
    "off-chain": ("", "half", "true, beside the point"),
    "void": ("bad", "cross", "proves nothing"),
}


@dataclass(frozen=True)
class CitationShown:
    reading: int
    title: str
    role: str
    css: str
    icon: str
    verdict: str


@dataclass(frozen=True)
class PartShown:
    name: str
    title: str
    reason: str
    earned: str
    weight: int
    width: str
    """Of the bar, in per cent."""
    citations: tuple[CitationShown, ...] = ()
    given_because: str = ""
    """Why a person gave these points in place of the rule's; empty if the rule's count."""
    by_rule: str = ""
    """The rule's points where a person's count; "none" if the rule could not grade the part."""


def parts_shown(spec: LabSpec, parts: Mapping[str, Any]) -> tuple[PartShown, ...]:
    """Return the parts in the order of the page, by name."""
    return tuple(_part(spec, parts[name]) for name in _TITLES if name in parts)


def _part(spec: LabSpec, part: Mapping[str, Any]) -> PartShown:
    earned, weight = float(part["earned"]), int(part["weight"])
    return PartShown(
        name=str(part["name"]),
        title=_TITLES[part["name"]],
        reason=reason_shown(spec, part),
        earned=f"{earned:g}",
        weight=weight,
        width=f"{100 * earned / weight:.1f}%",
        citations=tuple(
            _citation(spec, each) for each in part.get("details", {}).get("citations", [])
        ),
        given_because=str(part.get("given_because", "")),
        by_rule=_by_rule(part) if "given_because" in part else "",
    )


def _by_rule(part: Mapping[str, Any]) -> str:
    return "none" if part["by_rule"] is None else f"{float(part['by_rule']):g}"


def reason_shown(spec: LabSpec, part: Mapping[str, Any]) -> str:
    """Return the reason with titles where marking has ids."""
    details, reason = part.get("details", {}), str(part["reason"])
    objectives = {key: slo.title for key, slo in spec.slos.items()}
    if part["name"] == "scope" and "jaccard" in details:
        named = _listed([objectives.get(key, key) for key in details["named"]])
        hurt = _listed([objectives.get(key, key) for key in details["hurt"]])
        if not details.get("says_fault", True):
            return f"{reason} Hurt: {hurt or 'none'}."
        said = f"You said that there is a fault, and named {named or 'no promise'}."
        return f"{said} Hurt: {hurt or 'none'}."
    names = {key: node.title for key, node in spec.nodes.items()}
    if part["name"] == "mitigation":
        names = objectives
    elif part["name"] != "localisation":
        return reason
    for key in sorted(names, key=len, reverse=True):
        reason = re.sub(rf"\b{re.escape(key)}\b(?!”)", f"“{names[key]}”", reason)
    return reason


def _listed(items: Sequence[str]) -> str:
    quoted = [f"“{item}”" for item in items]
    if len(quoted) <= 1:
        return "".join(quoted)
    return f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def _citation(spec: LabSpec, each: Mapping[str, Any]) -> CitationShown:
    signal = spec.signals.get(each["signal"])
    rival = spec.hypotheses.get(each.get("rival") or "")
    css, icon, verdict = _VERDICTS.get(str(each["verdict"]), ("", "half", str(each["verdict"])))
    return CitationShown(
        reading=int(each["reading"]),
        title=signal.title if signal else str(each["signal"]),
        role=f"rules out: {rival.title}" if rival else "shows the fault",
        css=css,
        icon=icon,
        verdict=verdict,
    )
