"""The router in front of the replicas: how long it takes, and whom it picks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from labs.simulator.metrics import NORMAL_P95

if TYPE_CHECKING:
    from labs.simulator.request import Request


@dataclass(slots=True, frozen=True)
class RouterDelay:
    """Time from the client's send to the engine, lognormal."""

    median_s: float
    p95_s: float
    """Equal to the median for a constant delay."""

    def __post_init__(self) -> None:
        """Refuse a delay below 0 and a 95th percentile below the median."""
        if not 0 <= self.median_s <= self.p95_s or (self.median_s == 0 and self.p95_s > 0):
            raise ValueError(f"not a delay: {self}")

    def at(self, z: float) -> float:
        """Return the delay at the standard normal deviate ``z``, seconds."""
        if self.median_s == self.p95_s:
            return self.median_s
        return self.median_s * math.exp(math.log(self.p95_s / self.median_s) / NORMAL_P95 * z)


@dataclass(slots=True, frozen=True)
class RoundRobin:
    """One after the other; with weights, each in proportion to its own, as evenly spread as can be."""

    weights: tuple[float, ...] = ()
    """One for each replica; those beyond the end weigh 1. Empty: all the same."""

    def __post_init__(self) -> None:
        """Refuse weights that are not above 0."""
        if any(weight <= 0 for weight in self.weights):
            raise ValueError(f"a weight must be above 0: {self.weights}")


@dataclass(slots=True, frozen=True)
class LeastLoaded:
    """The replica with the fewest requests in flight (running and waiting), over its weight."""

    refresh_s: float = 0.0
    """0: the router counts its own. Above: it knows the counts of the last multiple of this, as from a scrape."""
    weights: tuple[float, ...] = ()
    """As of ``RoundRobin``."""

    def __post_init__(self) -> None:
        """Refuse weights that are not above 0, and a refresh below it."""
        if self.refresh_s < 0 or any(weight <= 0 for weight in self.weights):
            raise ValueError(f"not a policy: {self}")


@dataclass(slots=True, frozen=True)
class PrefixAffinity:
    """A request goes where the hash of its prefix group says; those without a group take turns.

    Rendezvous hashing: a replica that leaves the rotation moves its own groups only.
    """


@dataclass(slots=True, frozen=True)
class CacheAware:
    """SGLang's router: to the replica that has seen most of the prompt, unless loads are out of balance.

    The words, the rule and the defaults are those of sgl-router (SMG documentation, load balancing:
    ``--cache-threshold 0.3 --balance-abs-threshold 64 --balance-rel-threshold 1.5``). The router
    knows what it has sent, not what the replica still holds: it hears nothing of evictions or restarts.
    """

    cache_threshold: float = 0.3
    """Share of the prompt that must match to follow the match; else the replica with the smallest tree."""
    balance_abs_threshold: int = 64
    """Requests between the most and the least loaded, above which ..."""
    balance_rel_threshold: float = 1.5
    """... and factor between them, above which the shortest queue gets the request."""


type Policy = RoundRobin | LeastLoaded | PrefixAffinity | CacheAware


class Router:
    """Whom a policy picks, and what the router remembers for it."""

    __slots__ = ("_credit", "_known", "_known_ps", "in_flight", "policy", "trees", "turn")

    def __init__(self, policy: Policy, replicas: int) -> None:
        self.policy = policy
        self.turn = 0
        self.in_flight = [0] * replicas
        """Requests sent to each replica and not ended; kept only where somebody counts."""
        self.trees: list[dict[str, int]] = [{} for _ in range(replicas)]
        """Of each replica: name of a shared text -> its tokens sent there; "" -> size of the tree, tokens."""
        self._credit = [0.0] * replicas
        self._known = [0] * replicas
        self._known_ps = 0

    def add_replica(self) -> None:
        """Know one more."""
        self.in_flight.append(0)
        self.trees.append({})
        self._credit.append(0.0)
        self._known.append(0)

    def count(self, replica: int, change: int, at_ps: int) -> None:
        """Count a request to (+1) or from (-1) a replica at ``at_ps``, never before the last one."""
        self._refresh(at_ps)
        self.in_flight[replica] += change

    def _refresh(self, at_ps: int) -> None:
        every_ps = 0
        if isinstance(self.policy, LeastLoaded):
            every_ps = round(self.policy.refresh_s * 1e12)
        if every_ps and at_ps // every_ps > self._known_ps // every_ps:
            self._known = self.in_flight.copy()
            self._known_ps = at_ps

    def pick(self, request: Request, choices: Sequence[int], at_ps: int) -> int:
        """Return the replica for ``request`` among ``choices``, at least one, at ``at_ps``."""
        policy = self.policy
        if isinstance(policy, PrefixAffinity) and request.prefix:
            name = request.prefix[0][0]
            return max(choices, key=lambda i: blake2b(f"{name}:{i}".encode()).digest())
        if isinstance(policy, LeastLoaded):
            self._refresh(at_ps)
            loads = self._known if policy.refresh_s else self.in_flight
            return self._least(choices, [n / _weight(policy, i) for i, n in enumerate(loads)])
        if isinstance(policy, CacheAware):
            return self._cache_aware(policy, request, choices)
        if isinstance(policy, RoundRobin) and policy.weights:
            return self._weighted(policy, choices)
        self.turn += 1
        return choices[(self.turn - 1) % len(choices)]

    def _least(self, choices: Sequence[int], loads: Sequence[float]) -> int:
        """Return the least loaded; equals take turns."""
        self.turn += 1
        start = (self.turn - 1) % len(choices)
        return min((*choices[start:], *choices[:start]), key=loads.__getitem__)

    def _weighted(self, policy: RoundRobin, choices: Sequence[int]) -> int:
        weights = {i: _weight(policy, i) for i in choices}
        for i, weight in weights.items():
            self._credit[i] += weight
        best = max(choices, key=self._credit.__getitem__)
        self._credit[best] -= sum(weights.values())
        self.turn += 1
        return best

    def _cache_aware(self, policy: CacheAware, request: Request, choices: Sequence[int]) -> int:
        loads = [self.in_flight[i] for i in choices]
        most, least = max(loads), min(loads)
        matched = {i: self._matched(request, i) for i in choices}
        if (
            most - least > policy.balance_abs_threshold
            and most > least * policy.balance_rel_threshold
        ):
            best = self._least(choices, self.in_flight)
        elif max(matched.values()) / request.prompt_tokens > policy.cache_threshold:
            best = max(choices, key=matched.__getitem__)
        else:
            best = self._least(choices, [tree.get("", 0) for tree in self.trees])
        tree = self.trees[best]
        tree[""] = tree.get("", 0) + request.prompt_tokens - matched[best]
        for name, tokens in request.prefix:
            tree[name] = max(tree.get(name, 0), tokens)
        return best

    def _matched(self, request: Request, replica: int) -> int:
        """Return how many tokens of the prompt the replica's tree has."""
        matched = 0
        for name, tokens in request.prefix:
            matched = max(matched, min(tokens, self.trees[replica].get(name, 0)))
        return matched

    def state(self) -> tuple[object, ...]:
        """Return all that it knows, in plain values."""
        return (
            self.policy, self.turn, self.in_flight, self.trees, self._credit, self._known, self._known_ps,
        )  # fmt: skip


def _weight(policy: RoundRobin | LeastLoaded, replica: int) -> float:
    return policy.weights[replica] if replica < len(policy.weights) else 1.0
