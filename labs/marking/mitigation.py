"""Mitigation (20 points): the cause gone and every objective held, without harm elsewhere."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from labs.marking.constants import (
    COLLATERAL_ALLOWANCE,
    COLLATERAL_FACTOR,
    IDLE_FLOOR,
    IDLE_SHARE,
    MOVES_RHO,
    PARTIAL_SHARE,
    RHO_RANGE,
    WEIGHTS,
    WINDOW_FLOOR_S,
    WINDOW_LIFETIMES,
    WINDOW_PARTS,
    WINDOW_PERIODS,
    WORST_OCTAVES,
)
from labs.marking.parts import CouldNotBeGraded, Part, counted_noun, listed, made_part

_CLOSE = 1e-12


@dataclass(frozen=True, slots=True)
class Objective:
    """A service-level objective over the requests that were offered."""

    name: str
    limit: float
    """Largest measurement that meets it, in its own unit; above 0."""
    target: float
    """Least share of offered requests that meet it."""


@dataclass(frozen=True, slots=True)
class Held:
    """How one objective fared over the window."""

    name: str
    target: float
    thirds: tuple[float, float, float]
    """Share met in each third of the window."""
    met: float
    """g: share met over the window."""
    harm: float
    """v, 0 to 1: how far over the limit requests were, in octaves, of 8."""

    @property
    def throughout(self) -> bool:
        """Whether the target was met in every third."""
        return all(share >= self.target - _CLOSE for share in self.thirds)


type Fared = Mapping[str, Held]
"""Every objective of the lab by name, in one world over the window."""


@dataclass(frozen=True, slots=True)
class Rerun:
    """One re-run of the window, judged."""

    passes: bool
    """Whether the cause is gone and every objective is held throughout."""
    restored: float
    """ρ̄: mean of ρ over the objectives that were hurt."""


@dataclass(frozen=True, slots=True)
class ChangeRerun:
    """A change, re-run alone and left out of the rest."""

    target: str
    kind: str
    touches_cause: bool
    alone: Rerun
    without: Rerun | None
    """None where nothing asks for it; see ``wants_without``."""


def window_s(lifetime_s: float, period_s: float = 0) -> float:
    """Return W = max(15 min, 5 request lifetimes, 2 fault periods) in seconds."""
    return max(WINDOW_FLOOR_S, WINDOW_LIFETIMES * lifetime_s, WINDOW_PERIODS * period_s)


def harm(measured: Sequence[float | None], limit: float) -> float:
    """Return v = mean of min(8, max(0, log2(x/limit))) / 8; missed without a time counts 1.

    ``measured`` holds one entry for each offered request; None is failed, shed, cut short or
    unserved past the limit. No request, no harm. Raises ValueError for a limit of 0 or below.
    """
    if not limit > 0:
        raise ValueError(f"a limit is above 0: {limit}")
    if not measured:
        return 0.0
    octaves = (
        WORST_OCTAVES
        if x is None
        else min(WORST_OCTAVES, max(0.0, math.log2(x / limit) if x > 0 else 0.0))
        for x in measured
    )
    return math.fsum(octaves) / (WORST_OCTAVES * len(measured))


def share_met(measured: Sequence[float | None], limit: float) -> float:
    """Return g: the share of offered requests at or under the limit; 1 if none was offered."""
    if not measured:
        return 1.0
    return sum(1 for x in measured if x is not None and x <= limit) / len(measured)


def held(objective: Objective, thirds: Sequence[Sequence[float | None]]) -> Held:
    """Return how an objective fared, from the offered requests of each third of the window.

    Raises ValueError unless there are three thirds.
    """
    if len(thirds) != WINDOW_PARTS:
        raise ValueError(f"a window has three thirds: {len(thirds)}")
    first, second, last = (share_met(third, objective.limit) for third in thirds)
    whole = [x for third in thirds for x in third]
    return Held(
        name=objective.name,
        target=objective.target,
        thirds=(first, second, last),
        met=share_met(whole, objective.limit),
        harm=harm(whole, objective.limit),
    )


def hurt_objectives(nothing: Fared) -> tuple[str, ...]:
    """Return {i: g⁰_i < target_i}, by name: what the untouched world misses."""
    return tuple(sorted(n for n, each in nothing.items() if each.met < each.target - _CLOSE))


def restored(now: float, nothing: float, reference: float) -> float:
    """Return ρ = clip((v⁰ − v) / (v⁰ − v*), −½, 1) of one objective.

    Where the reference restores nothing there is nothing to earn: 0, or −½ if v is worse.
    """
    low, high = RHO_RANGE
    if nothing - reference <= _CLOSE:
        return 0.0 if now <= nothing + _CLOSE else low
    return min(high, max(low, (nothing - now) / (nothing - reference)))


def mean_restored(now: Fared, nothing: Fared, reference: Fared) -> float:
    """Return ρ̄ over the objectives that are hurt; 0 if none is.

    Raises KeyError if the three worlds do not hold the same objectives.
    """
    hurt = hurt_objectives(nothing)
    if not hurt:
        return 0.0
    return math.fsum(restored(now[n].harm, nothing[n].harm, reference[n].harm) for n in hurt) / len(
        hurt
    )


def excess(now: float, nothing: float, allowance: float = COLLATERAL_ALLOWANCE) -> float:
    """Return e: a share lost now, over that of the untouched world and the allowance."""
    return max(0.0, now - nothing - allowance)


def collateral_share(collateral: Mapping[str, float]) -> float:
    """Return C = max(0, 1 − 5 · max e) from the excess of each kind of harm."""
    return max(0.0, 1 - COLLATERAL_FACTOR * max((0.0, *collateral.values())))


def idle_share(idle: int) -> float:
    """Return Z = max(½, 1 − idle/10)."""
    return max(IDLE_FLOOR, 1 - IDLE_SHARE * idle)


def wants_without(whole: Rerun, alone: Rerun) -> bool:
    """Return whether a change must be re-run left out too, after it was re-run alone.

    What passes alone is neither idle nor false whatever the rest does, and where the whole does not pass, nor is what
    restores something alone.
    """
    if alone.passes:
        return not whole.passes and not _restores(alone.restored)
    return whole.passes or not _restores(alone.restored)


def _restores(rho: float) -> bool:
    return rho >= MOVES_RHO - _CLOSE


def _moves(whole: Rerun, change: ChangeRerun) -> bool:
    """Whether a change restores something alone, or something is lost without it."""
    return _restores(change.alone.restored) or (
        change.without is not None and _restores(whole.restored - change.without.restored)
    )


def idle_changes(whole: Rerun, changes: Iterable[ChangeRerun]) -> int:
    """Return how many changes in force are neither sufficient nor missed.

    Sufficient: it passes alone. Missed: the rest does not pass without it. Where the whole does
    not pass, a change is idle if it restores less than 0.1, alone and left out.
    """
    if not whole.passes:
        return sum(1 for change in changes if not _moves(whole, change))
    return sum(
        1
        for change in changes
        if not change.alone.passes and change.without is not None and change.without.passes
    )


def false_fixes(whole: Rerun, changes: Iterable[ChangeRerun]) -> int:
    """Return n_false: distinct (target, kind) that neither touch the cause nor move ρ̄ by 0.1."""
    tried = list(changes)
    useful = {(c.target, c.kind) for c in tried if c.touches_cause or _moves(whole, c)}
    return len({(c.target, c.kind) for c in tried} - useful)


def mitigation_points(
    rho: float, *, passes: bool, collateral: Mapping[str, float], idle: int
) -> float:
    """Return M = 20 · C · Z · (1 if it passes, else ½ · max(0, ρ̄))."""
    share = 1.0 if passes else PARTIAL_SHARE * max(0.0, rho)
    return WEIGHTS["mitigation"] * collateral_share(collateral) * idle_share(idle) * share


def mitigation_part(
    now: Fared,
    nothing: Fared,
    reference: Fared,
    *,
    cause_gone: bool,
    collateral: Mapping[str, float],
    idle: int,
    changed: bool = True,
) -> Part | CouldNotBeGraded:
    """Return the mitigation part of a world with a fault.

    ``now``, ``nothing`` and ``reference`` are the window after "done", in the world as left, as
    it would be unchanged, and after the reference fix. ``collateral`` maps each kind of harm to
    its ``excess``. If the unchanged world heals by itself, the part could not be graded.
    """
    hurt = hurt_objectives(nothing)
    if not hurt:
        return CouldNotBeGraded(
            "mitigation", "The world heals without any change, so no change can be judged."
        )
    missed = tuple(sorted(n for n, each in now.items() if not each.throughout))
    rho = mean_restored(now, nothing, reference)
    passes = changed and cause_gone and not missed
    points = mitigation_points(rho, passes=passes, collateral=collateral, idle=idle)
    spared = collateral_share(collateral)
    details = {
        "changed": changed,
        "cause_gone": cause_gone,
        "missed": list(missed),
        "hurt": list(hurt),
        "rho": {n: restored(now[n].harm, nothing[n].harm, reference[n].harm) for n in hurt},
        "rho_mean": rho,
        "C": spared,
        "Z": idle_share(idle),
        "idle": idle,
        "collateral": dict(collateral),
        "met": {n: now[n].met for n in sorted(now)},
    }
    if not changed:
        reason = "You changed nothing that reaches the requests."
        return made_part("mitigation", 0.0, reason, details)
    reason = _outcome(missed, rho, cause_gone=cause_gone)
    if spared < 1:
        reason += f" Harm done elsewhere leaves {spared:.0%} of the points."
    if idle:
        reason += f" {counted_noun(idle, 'change')} did nothing."
    return made_part("mitigation", points, reason, details)


def _outcome(missed: tuple[str, ...], rho: float, *, cause_gone: bool) -> str:
    if not missed and cause_gone:
        return "The cause is gone, and every objective held in each third of the window."
    undone = f"{max(0.0, rho):.0%} of the harm is undone."
    if missed:
        verb = "misses its target" if len(missed) == 1 else "miss their targets"
        return f"After your changes {listed(missed)} still {verb}; {undone}"
    return f"Every objective held, but the cause still stands; {undone}"
