"""Evidence (15 points): the readings cited, and whether they carry the chain."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Literal

from labs.marking.constants import (
    CAUSE_CREDIT,
    HEALTHY,
    MOST_CITATIONS,
    NO_CAUSE_SHARE,
    RULES_OUT_BITS,
    SHOWS_LEVEL,
    WEIGHTS,
)
from labs.marking.kernels import reading_votes
from labs.marking.parts import Part, counted_noun, made_part
from labs.marking.table import Column, Table, Value, transformed

if TYPE_CHECKING:
    from labs.marking.economy import ReadingTaken

type Role = Literal["shows", "rules out"]
type Verdict = Literal["link", "off-chain", "repeat", "void"]

_CLOSE = 1e-9


@dataclass(frozen=True, slots=True)
class Citation:
    """One signal of one own reading, and what it is said to prove."""

    reading: int
    signal: str
    role: Role
    rival: str | None = None
    """The hypothesis that is ruled out; None for *shows*."""


@dataclass(frozen=True, slots=True)
class Link:
    """One step of the chain: any of its signals, in its role, covers it."""

    name: str
    signals: frozenset[str]
    role: Role
    cause: bool
    """Whether it is evidence of the cause itself."""
    rival: str | None = None
    """The hypothesis to rule out; None for *shows*, or if any rival will do."""

    def answers(self, citation: Citation) -> bool:
        """Whether a citation that stands covers this link."""
        return (
            citation.signal in self.signals
            and citation.role == self.role
            and self.rival in (None, citation.rival)
        )


@dataclass(frozen=True, slots=True)
class Judged:
    """A citation with its verdict."""

    citation: Citation
    verdict: Verdict
    link: str | None = None
    strength: float | None = None
    """p of *shows*, bits of *rules out*; None if it could not be weighed."""


def shows_p(table: Table, column: Column, value: Value) -> float:
    """Return p: how often a healthy run reads as far from the healthy median, or farther.

    (1 + #{i: |x_i − med₀| ≥ |x − med₀|}) / (n₀ + 1) for a number, over the healthy runs that
    have one; (1 + the healthy runs that read the same) / (n₀ + 1) for a category or an absent
    value. Raises ValueError if the table has no healthy world.
    """
    signal = table.signal(column[0])
    healthy = table.values(HEALTHY, column)
    x = transformed(signal, value)
    if x is None:
        return (1 + sum(1 for each in healthy if each == value)) / (len(healthy) + 1)
    numbers = [n for each in healthy if (n := transformed(signal, each)) is not None]
    if not numbers:
        return 1 / (len(healthy) + 1)
    middle = median(numbers)
    away = abs(x - middle)
    as_far = sum(1 for each in numbers if abs(each - middle) >= away - _CLOSE)
    return (1 + as_far) / (len(healthy) + 1)


def shows(table: Table, column: Column, value: Value) -> bool:
    """Whether a reading is off healthy by the resolution or more, at p ≤ 0.05."""
    signal = table.signal(column[0])
    x = transformed(signal, value)
    if x is not None:
        healthy = table.values(HEALTHY, column)
        numbers = [n for each in healthy if (n := transformed(signal, each)) is not None]
        if numbers and abs(x - median(numbers)) < signal.resolution - _CLOSE:
            return False
    return shows_p(table, column, value) <= SHOWS_LEVEL + _CLOSE


def rules_out_bits(table: Table, column: Column, value: Value, *, truth: str, rival: str) -> float:
    """Return log2 v_h(x) / v_r(x) for one signal: how much likelier the truth makes it."""
    votes = reading_votes(table, {column: value}, (truth, rival), table.hypotheses)
    ours, theirs = float(votes[0]), float(votes[1])
    if theirs <= 0:
        return math.inf if ours > 0 else 0.0
    return math.log2(ours / theirs) if ours > 0 else -math.inf


def rules_out(table: Table, column: Column, value: Value, *, truth: str, rival: str) -> bool:
    """Whether a reading rules the rival out: 2 bits or more in favour of the truth."""
    bits = rules_out_bits(table, column, value, truth=truth, rival=rival)
    return bits >= RULES_OUT_BITS - _CLOSE


def _weighed(
    table: Table, citation: Citation, reading: ReadingTaken | None, truth: str
) -> tuple[bool, float | None]:
    """Return whether a citation stands, and its strength."""
    if reading is None or reading.spoilt:
        return False, None
    read = {**reading.derived, **reading.values}
    if citation.signal not in read:
        return False, None
    grid = table.grid_time(reading.at_s)
    if grid is None or not table.has(citation.signal):
        return False, None
    column, value = (citation.signal, grid), read[citation.signal]
    if citation.role == "shows":
        return shows(table, column, value), shows_p(table, column, value)
    if citation.rival not in table.worlds or citation.rival == truth:
        return False, None
    bits = rules_out_bits(table, column, value, truth=truth, rival=citation.rival)
    return bits >= RULES_OUT_BITS - _CLOSE, bits if math.isfinite(bits) else None


def judged(
    table: Table,
    readings: Sequence[ReadingTaken],
    citations: Iterable[Citation],
    chain: Sequence[Link],
    *,
    truth: str,
) -> tuple[Judged, ...]:
    """Return the verdict on each distinct citation, by reading and signal.

    A citation stands or is void by itself. One that stands covers its link, or is off the
    chain; a second one to the same link, or off the chain to the same effect, is a repeat.

    Raises ValueError if two links of the chain would be covered by one citation.
    """
    _check_chain(chain)
    taken = {each.number: each for each in readings}
    used: set[object] = set()
    verdicts = []
    for citation in sorted(
        set(citations), key=lambda c: (c.reading, c.signal, c.role, c.rival or "")
    ):
        stands, strength = _weighed(table, citation, taken.get(citation.reading), truth)
        if not stands:
            verdicts.append(Judged(citation, "void", None, strength))
            continue
        link = next((each for each in chain if each.answers(citation)), None)
        target: object = link.name if link else (citation.signal, citation.role, citation.rival)
        verdict: Verdict = "repeat" if target in used else "link" if link else "off-chain"
        used.add(target)
        verdicts.append(Judged(citation, verdict, link.name if link else None, strength))
    return tuple(verdicts)


def _check_chain(chain: Sequence[Link]) -> None:
    if not chain:
        raise ValueError("a chain needs a link")
    if len({link.name for link in chain}) != len(chain):
        raise ValueError("two links of the chain have one name")
    for position, link in enumerate(chain):
        for other in chain[position + 1 :]:
            rivals_meet = None in (link.rival, other.rival) or link.rival == other.rival
            if link.role == other.role and rivals_meet and link.signals & other.signals:
                raise ValueError(f"one citation would cover {link.name} and {other.name}")


def evidence_share(
    *, covered: int, void: int, off_chain: int, links: int, cause_proved: bool
) -> float:
    """Return 2m / (m + u + o/2 + ℓ), at most 0.4 unless the cause is proved.

    m links are covered of ℓ, u citations are void, o are material but off the chain.
    """
    share = 2 * covered / (covered + void + off_chain / 2 + links) if covered else 0.0
    return share if cause_proved else min(NO_CAUSE_SHARE, share)


def evidence_part(
    table: Table,
    readings: Sequence[ReadingTaken],
    citations: Iterable[Citation],
    chain: Sequence[Link],
    *,
    truth: str,
    mechanism_credit: float,
) -> Part:
    """Return the evidence part.

    ``readings`` are the learner's own, of the diagnostic phase. More than six distinct
    citations earn nothing. The cause counts as proved if a cause link is covered and the
    mechanism's credit is at least ½.
    """
    cited = frozenset(citations)
    verdicts = judged(table, readings, cited, chain, truth=truth)
    covered = {each.link for each in verdicts if each.verdict == "link"}
    void = sum(1 for each in verdicts if each.verdict == "void")
    off_chain = sum(1 for each in verdicts if each.verdict == "off-chain")
    cause_covered = any(link.cause and link.name in covered for link in chain)
    proved = cause_covered and mechanism_credit >= CAUSE_CREDIT
    share = evidence_share(
        covered=len(covered),
        void=void,
        off_chain=off_chain,
        links=len(chain),
        cause_proved=proved,
    )
    if len(cited) > MOST_CITATIONS:
        share = 0.0
        reason = f"You cited {len(cited)} readings; more than {MOST_CITATIONS} earn nothing."
    elif not cited:
        reason = f"You cited nothing; the chain has {counted_noun(len(chain), 'link')}."
    else:
        reason = (
            f"Your {counted_noun(len(cited), 'citation')} cover {len(covered)} of "
            f"{counted_noun(len(chain), 'link')}; {void} {'proves' if void == 1 else 'prove'} "
            f"nothing."
        )
        if off_chain:
            reason += f" {off_chain} {'is' if off_chain == 1 else 'are'} true but beside the point."
        if covered and not cause_covered:
            reason += " None of them reaches the cause."
        elif covered and not proved:
            reason += " The mechanism you chose is not what they prove."
    details = {
        "covered": sorted(name for name in covered if name is not None),
        "links": len(chain),
        "void": void,
        "off_chain": off_chain,
        "cause_proved": proved,
        "citations": [
            {
                "reading": each.citation.reading,
                "signal": each.citation.signal,
                "role": each.citation.role,
                "rival": each.citation.rival,
                "verdict": each.verdict,
                "link": each.link,
                "strength": each.strength,
            }
            for each in verdicts
        ],
    }
    return made_part("evidence", WEIGHTS["evidence"] * share, reason, details)
