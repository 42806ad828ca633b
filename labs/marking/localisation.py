"""Localisation (20 points): the components named, by their distance from the cause."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations

from labs.marking.constants import MOST_NAMES, NEARNESS, WEIGHTS
from labs.marking.parts import Part, listed, made_part


@dataclass(frozen=True, slots=True)
class CausalGraph:
    """Components and mechanisms, with an edge from each cause to its effect."""

    nodes: frozenset[str]
    edges: frozenset[tuple[str, str]]
    unnameable: frozenset[str] = frozenset()
    """The alarm and containers: naming one earns nothing, however near it is."""

    def __post_init__(self) -> None:
        ends = {end for edge in self.edges for end in edge} | self.unnameable
        if stray := sorted(ends - self.nodes):
            raise ValueError(f"the causal graph has no nodes {stray}")

    def hops(self, one: str, other: str) -> int | None:
        """Return the undirected hops between two nodes; None if nothing connects them."""
        if one not in self.nodes or other not in self.nodes:
            return None
        reached, distance = {one}, 0
        frontier = {one}
        while frontier:
            if other in frontier:
                return distance
            near = {b for a, b in self.edges if a in frontier}
            near |= {a for a, b in self.edges if b in frontier}
            frontier = near - reached
            reached |= frontier
            distance += 1
        return None


def nearness(graph: CausalGraph, name: str, truth: str) -> float:
    """Return κ: 1, ½, ¼ at 0, 1, 2 hops, else 0."""
    if name in graph.unnameable:
        return 0.0
    hops = graph.hops(name, truth)
    return NEARNESS[hops] if hops is not None and hops < len(NEARNESS) else 0.0


def heaviest_matching(weights: Sequence[Sequence[float]]) -> float:
    """Return the largest sum of entries with no two in a row or column.

    Every assignment is tried, so the shorter side should hold three at most.
    """
    if not weights or not weights[0]:
        return 0.0
    if len(weights) > len(weights[0]):
        weights = list(zip(*weights, strict=True))
    columns = range(len(weights[0]))
    return max(
        sum(row[column] for row, column in zip(weights, chosen, strict=True))
        for chosen in permutations(columns, len(weights))
    )


def localisation_share(graph: CausalGraph, named: frozenset[str], true: frozenset[str]) -> float:
    """Return L = 2W / (|N| + |Y|), W the heaviest one-to-one matching under κ.

    Nothing true: 1 if nothing is named, else 0. More than three names, or none: 0.
    """
    if not true:
        return 0.0 if named else 1.0
    if not named or len(named) > MOST_NAMES:
        return 0.0
    weights = [[nearness(graph, name, truth) for truth in sorted(true)] for name in sorted(named)]
    return 2 * heaviest_matching(weights) / (len(named) + len(true))


def localisation_part(
    graph: CausalGraph,
    named: Iterable[str],
    accepted: Iterable[Iterable[str]],
    *,
    looked: float = 1.0,
) -> Part:
    """Return the localisation part: the best L over the accepted answers.

    ``looked`` is Λ, 1 in a world with a fault. Raises ValueError without an accepted answer.
    """
    said = frozenset(named)
    answers = sorted({tuple(sorted(set(each))) for each in accepted})
    if not answers:
        raise ValueError("a lab needs at least one accepted answer, which may be empty")
    share, best = max(
        ((localisation_share(graph, said, frozenset(each)), each) for each in answers),
        key=lambda each: each[0],
    )
    reason = _reason(said, best, share)
    if not best and share and looked < 1:
        reason += f" You looked at {looked:.0%} of what that claim needs."
    details = {"named": sorted(said), "truth": list(best), "L": share, "looked": looked}
    return made_part("localisation", WEIGHTS["localisation"] * share * looked, reason, details)


def _reason(said: frozenset[str], best: tuple[str, ...], share: float) -> str:
    if not best:
        return (
            f"No component is at fault; you named {listed(said)}."
            if said
            else "No component is at fault, and you named none."
        )
    if not said:
        return f"You named no component; the fault is in {listed(best)}."
    if len(said) > MOST_NAMES:
        return f"You named {len(said)} components; more than {MOST_NAMES} earn nothing."
    if share == 1:
        return f"You named {listed(said)}: that is where the fault is."
    return (
        f"You named {listed(said)}; the fault is in {listed(best)}. "
        f"Matched one to one by distance, that is {share:.2f} of 1."
    )
