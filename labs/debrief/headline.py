"""The sentences at the top: what was right, who was hurt on the way, and whether it passes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from labs.log import Entry

GOOD_SHARE = 0.75


def headline(parts: Mapping[str, Any], log: Sequence[Entry]) -> str:
    diagnosed = any(entry.kind == "diagnose" for entry in log)
    credit = float(parts["mechanism"]["details"].get("credit") or 0)
    mitigation = parts["mitigation"]
    held = mitigation["earned"] >= GOOD_SHARE * mitigation["weight"]
    changed = bool(mitigation["details"].get("changed", True))
    was_healthy = "changes" in mitigation["details"]
    if not diagnosed:
        return "It held, and you never said why" if held else "No diagnosis, and no cure that held"
    if credit == 1:
        if held:
            return (
                "Right call: nothing to repair" if was_healthy else "Right cause, and the fix held"
            )
        return (
            "Right cause, but the fix did not hold" if changed else "Right cause, nothing changed"
        )
    if held:
        return (
            "Nothing broken, and a story that says otherwise"
            if was_healthy
            else "The fix held, the story does not"
        )
    return "Close to the cause, not at it" if credit > 0 else "Another world than the one you named"


def lead(known: Mapping[str, Any], first: Mapping[str, str], *, is_live: bool = False) -> str:
    """Return what happened on the way. ``is_live``: people were counted on a real engine, the other runs are simulated."""
    sentences = []
    users = known["users_hurt"]
    more = int(users["you"]) - int(users["reference"])
    spared = int(users["untouched"]) - int(users["you"])
    if is_live:
        sentences.append(
            f"On your engine {_people(int(users['you']))} hurt. "
            "The runs beside it are simulated, at the pace that the lab was written for: compare their shape, not their counts."
        )
    elif more > 0:
        sentences.append(f"On the way, {_people(more, 'more')} hurt than in the reference run.")
    else:
        sentences.append("Nobody was hurt whom the reference run would have spared.")
    if spared > 0 and not is_live:
        sentences.append(
            f"Your work spared {spared:,} of those whom doing nothing would have hurt."
        )
    if first.get("share") == "100 %":
        sentences.append("Your first measurement was the best that one could take.")
    elif first.get("share"):
        sentences.append(
            f"Your first measurement bought {first['share']} of what the best one buys."
        )
    else:
        sentences.append("You took no measurement before you acted.")
    return " ".join(sentences)


def _people(count: int, more: str = "") -> str:
    return " ".join(
        part for part in (f"{count:,}", more, "person was" if count == 1 else "people were") if part
    )


def verdict(mark: Mapping[str, Any]) -> str:
    if mark["passed"]:
        return "passes"
    reason = str(mark["reason"])
    return reason.partition("; ")[2].rstrip(".") or "does not pass"
