"""The gradebook of a cohort: what counts of everything that was assigned, person by person. Pure.

A cell says where somebody stands with one assignment. Several things may be true of it at once: marked, late, and
to be reviewed. Its first state is the one that a page shows, all of them are what a filter finds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from courseware.cohorts.credit import Credit, Scored, credit
from courseware.cohorts.policy import FULL_CREDIT_PERCENT, Policy


class State(StrEnum):
    """Where somebody stands with an assignment, in the words of the page."""

    NOT_BEGUN = "not begun"
    UNDER_WAY = "under way"
    MARKING = "being marked"
    TO_REVIEW = "to be reviewed"
    NOT_GRADED = "could not be graded"
    GIVEN_UP = "given up"
    MARKED = "marked"
    DONE = "done"
    LATE = "late"
    OVERDUE = "overdue"


@dataclass(frozen=True, slots=True)
class Try:
    """One attempt at a lab."""

    status: str
    """open, marking, marked, not_graded or given_up."""
    started_at: datetime
    finished_at: datetime | None = None
    total: float | None = None
    """0 to 100, once marked."""
    review: tuple[float, int] | None = None
    """Points of its released review, and the most that there are."""
    to_review: bool = False
    """Whether its explanation waits for a reader."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One person and one assignment."""

    state: State
    states: frozenset[State]
    points: float | None = None
    """What counts, 0 to 100; None where nothing is marked, and for lessons and drills."""
    share: float | None = None
    """How far it is, 0 to 1, for the shade of the cell: points, stations done, points of a drill."""
    told: str = ""
    """The number in the cell, as text."""
    notes: tuple[str, ...] = ()
    """What one has to know of the number: "late at 50 %", "extra time 25 %"."""
    review: tuple[float, int] | None = None
    attempts: int = 0
    """Of a lab, those that were marked."""

    @property
    def shade(self) -> int:
        """How dark a heat map draws it."""
        return shade(self.share)

    @property
    def words(self) -> tuple[str, ...]:
        """What stands below the number: the states that the number does not say already, then the notes."""
        silent = {State.MARKED, State.DONE, State.LATE} if self.told else set()
        rest = sorted(self.states - silent - {self.state}, key=list(State).index)
        first = [] if self.state in silent else [self.state]
        return (*first, *rest, *self.notes)


def shade(share: float | None) -> int:
    """Return how dark a heat map draws a share: 0 for none, else 1 to 5 by fifths."""
    return 0 if share is None else 1 + min(4, math.floor(5 * share + 1e-9))


@dataclass(frozen=True, slots=True)
class Column:
    """One assignment."""

    key: int
    kind: str
    """lab, lesson or drill."""
    title: str
    url: str
    due_at: datetime | None = None
    """For whoever has no other terms."""
    slug: str = ""
    """Of a lab that the course has, where its insight is found."""


@dataclass(frozen=True, slots=True)
class Row:
    """One person."""

    key: int
    """Of their place in the cohort."""
    name: str
    email: str
    role: str
    labels: tuple[str, ...]
    has_account: bool
    extra_time_percent: int
    cells: tuple[Cell, ...]
    """One a column, in their order."""
    total: float | None
    """Mean of what counts of the labs; None if there is nothing to count yet."""

    @property
    def shade(self) -> int:
        return shade(None if self.total is None else self.total / FULL_CREDIT_PERCENT)


# --------------------------------------------------------------------------------------------- cells


def counted(policy: Policy, tries: Sequence[Try]) -> Credit | None:
    """Return what counts of attempts; None if none of them is marked."""
    scored = [
        Scored(each.finished_at, each.total)
        for each in tries
        if each.total is not None and each.finished_at is not None
    ]
    return credit(policy, scored) if scored else None


def lab_cell(policy: Policy, tries: Sequence[Try], *, since: datetime, now: datetime) -> Cell:
    """Return where somebody stands with a lab; attempts that were begun before ``since`` do not count."""
    mine = [each for each in tries if each.started_at >= since]
    found = counted(policy, mine)
    statuses = {each.status for each in mine}
    states: list[State] = []
    if found is not None:
        states.append(State.MARKED)
    for status, state in _OF_ATTEMPTS:
        if status in statuses:
            states.append(state)
    if any(each.to_review for each in mine):
        states.append(State.TO_REVIEW)
    if not states:
        states.append(State.NOT_BEGUN)
    notes = list(_terms(policy, is_lab=True))
    if found is None:
        return _unmarked(policy, states, notes, now)
    worths = {line.worth_percent for line in found.lines if line.gain > 0}
    if late := sorted(worth for worth in worths if worth < FULL_CREDIT_PERCENT):
        states.append(State.LATE)
        notes.insert(0, f"late at {', '.join(map(str, late))} %")
    reviews = [each.review for each in mine if each.review is not None]
    return Cell(
        states[0],
        frozenset(states),
        points=found.total,
        share=found.total / FULL_CREDIT_PERCENT,
        told=f"{found.total:g}",
        notes=tuple(notes),
        review=reviews[-1] if reviews else None,
        attempts=sum(each.total is not None for each in mine),
    )


_OF_ATTEMPTS = (
    ("open", State.UNDER_WAY),
    ("marking", State.MARKING),
    ("not_graded", State.NOT_GRADED),
    ("given_up", State.GIVEN_UP),
)


def _unmarked(policy: Policy, states: list[State], notes: list[str], now: datetime) -> Cell:
    terms = policy.terms
    if terms.due_at is not None and now > terms.due_at:
        states.append(State.OVERDUE)
    elif terms.opens_at is not None and now < terms.opens_at:
        notes.insert(0, f"opens {terms.opens_at.astimezone(now.tzinfo):%-d %b}")
    return Cell(states[0], frozenset(states), notes=tuple(notes))


def lesson_cell(policy: Policy, *, done: int, begun: int, of: int, now: datetime) -> Cell:
    """Return where somebody stands with a lesson: stations that are done, that are begun, and that there are."""
    states = [State.UNDER_WAY if begun else State.NOT_BEGUN]
    if not begun or not of:
        return _unmarked(policy, states, list(_terms(policy)), now)
    if done == of:
        states = [State.DONE]
    if done < of and policy.terms.due_at is not None and now > policy.terms.due_at:
        states.append(State.OVERDUE)
    told = f"{done} of {of}"
    return Cell(states[0], frozenset(states), share=done / of, told=told, notes=_terms(policy))


def drill_cell(
    policy: Policy, *, best: float | None, of: float, under_way: bool, now: datetime
) -> Cell:
    """Return where somebody stands with a drill, of which the best try is shown."""
    if best is None:
        states = [State.UNDER_WAY if under_way else State.NOT_BEGUN]
        return _unmarked(policy, states, list(_terms(policy)), now)
    states = [State.DONE, *([State.UNDER_WAY] if under_way else [])]
    told = f"{best:g} of {of:g}"
    return Cell(states[0], frozenset(states), share=best / of, told=told, notes=_terms(policy))


def _terms(policy: Policy, *, is_lab: bool = False) -> tuple[str, ...]:
    """Return in which ways somebody's terms are their own. At a lesson or a drill only the dates say something."""
    extra = policy.terms.extra_time_percent if policy.stretched_by else None
    notes = (f"extra time {extra} %",) if extra else ()
    wanted = policy.origins if is_lab else {*_DATES} & policy.origins.keys()
    if any(policy.origins[name].startswith("override") for name in wanted):
        return (*notes, "other terms")
    return notes


_DATES = ("opens_at", "due_at", "late_until")


def total(columns: Sequence[Column], cells: Sequence[Cell]) -> float | None:
    """Return the mean of what counts of the labs, to a tenth; one without a mark is 0 once it is overdue, and left out before."""
    counts = [
        cell.points if cell.points is not None else 0.0
        for column, cell in zip(columns, cells, strict=True)
        if column.kind == "lab" and (cell.points is not None or State.OVERDUE in cell.states)
    ]
    if not counts:
        return None
    return math.floor(math.fsum(counts) / len(counts) * 10 + 0.5 + 1e-9) / 10


# --------------------------------------------------------------------------------- filtered and sorted


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a page was asked for; empty is everything."""

    find: str = ""
    role: str = ""
    label: str = ""
    state: str = ""
    sort: str = "name"
    """name, total, or the key of a column."""
    falling: bool = False


def chosen(rows: Iterable[Row], columns: Sequence[Column], wanted: Wanted) -> list[Row]:
    """Return the rows that fit, sorted; whoever has no number in the column comes last, whichever way it is sorted."""
    find = wanted.find.lower()
    fitting = [
        row
        for row in rows
        if (not find or find in row.name.lower() or find in row.email)
        and wanted.role in {"", row.role}
        and (not wanted.label or wanted.label in row.labels)
        and (not wanted.state or any(wanted.state in cell.states for cell in row.cells))
    ]
    fitting.sort(key=lambda row: (row.name.lower(), row.key))
    place = next((i for i, each in enumerate(columns) if str(each.key) == wanted.sort), None)
    if place is None and wanted.sort != "total":
        return fitting[::-1] if wanted.falling else fitting

    def number(row: Row) -> float | None:
        return row.total if place is None else row.cells[place].share

    known = [row for row in fitting if number(row) is not None]
    known.sort(key=lambda row: number(row) or 0.0, reverse=wanted.falling)
    return known + [row for row in fitting if number(row) is None]


@dataclass(frozen=True, slots=True)
class Foot:
    """What a column says of everybody in it who stands in the table."""

    mean: float | None
    """Of what counts, among those who have a mark."""
    n: int
    """How many they are."""
    of: int


def foot(rows: Sequence[Row], place: int) -> Foot:
    """Return the foot of one column of labs."""
    points = [row.cells[place].points for row in rows]
    known = [each for each in points if each is not None]
    return Foot(math.fsum(known) / len(known) if known else None, len(known), len(points))
