"""What the room of an attempt shows, read from its log: phases, gauges, exchanges, notebook, tools with their prices.

Reads only. Nothing here looks at the world, its hypothesis or its seed: what is not in the log or the panel is not
on the page.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from statistics import median
from typing import TYPE_CHECKING, Any

from labs import charts, console, incident, pool
from labs.charts import number
from labs.digest import world_digest
from labs.marking.constants import HEALTHY
from labs.models import Action, Attempt

if TYPE_CHECKING:
    from labs.specs import LabSpec

Kind, Status = Action.Kind, Action.Status

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""Names of the hypotheses, in the order of the spec."""
SHOWN_EXCHANGES = 5
"""Exchanges that stand open in the console; the earlier ones are folded."""
WAITS = ("1m", "5m", "10m")
_WORK_S = {Kind.FINISH: 12.0, Kind.BEGIN: 1.0}
_WORKERS = 2
_ICONS = {"reading": "reading", "change": "change", "verification": "verify", "wait": "clock"}


# ----------------------------------------------------------------------------------------- numbers


def unit_of(unit: str) -> str:
    return "" if unit == "share" else unit


def healthy_medians(slug: str) -> dict[str, float]:
    """Return what each signal reads in the median healthy world at the page; empty while the lab is unproved."""
    return _healthy_medians(slug, world_digest(slug))


@lru_cache(maxsize=32)
def _healthy_medians(slug: str, _digest: str) -> dict[str, float]:
    try:
        table = pool.table(slug)
    except pool.NotProved:
        return {}
    found: dict[str, float] = {}
    for signal in table.signals:
        values = table.values(HEALTHY, (signal.name, table.grid_s[0]))
        numbers = [float(value) for value in values if isinstance(value, int | float)]
        if numbers:
            found[signal.name] = median(numbers)
    return found


# ------------------------------------------------------------------------------------------ entries


@dataclass(frozen=True)
class Measure:
    """One signal of a reading, beside what it is when all is well."""

    title: str
    value: str
    unit: str
    healthy: str


@dataclass(frozen=True)
class Note:
    """One reading in the notebook."""

    number: int
    icon: str
    at: str
    title: str
    measures: tuple[Measure, ...]


@dataclass(frozen=True)
class Citable:
    """One signal of one own reading of the diagnostic phase."""

    reading: int
    signal: str
    title: str
    value: str
    unit: str
    at: str

    @property
    def field(self) -> str:
        return f"cite-{self.reading}-{self.signal}"


@dataclass(frozen=True)
class Exchange:
    """A command and its answer, as the console shows it."""

    seq: int
    line: str
    status: str
    text: str
    icon: str
    number: int
    at: str
    cost: str


@dataclass(frozen=True)
class Tool:
    """A button that is the same as typing its command."""

    key: str
    title: str
    note: str
    line: str
    cost: str
    numbers: str = ""
    slower: int = 0


@dataclass(frozen=True)
class InForce:
    """A change in force, and what taking it back costs; an empty cost cannot be taken back."""

    number: int
    title: str
    since: str
    cost: str


@dataclass(frozen=True)
class Belief:
    key: str
    letter: str
    title: str
    percent: int | None
    even: int
    """Where its slider stands before it is moved: each as likely as the others."""

    @property
    def slider(self) -> int:
        return self.even if self.percent is None else self.percent

    @property
    def ruled_out(self) -> bool:
        return self.percent == 0


@dataclass(frozen=True)
class Phase:
    """One mark of the ruler: done, now, tried or ahead."""

    name: str
    state: str

    @property
    def words(self) -> str:
        return {"done": "Done", "now": "Now", "tried": "Tried once", "ahead": "Ahead"}[self.state]


@dataclass(frozen=True)
class UnderWay:
    """An action that waits for a worker or runs."""

    seq: int
    kind: str
    what: str
    words: str
    progress: float
    cancelling: bool
    can_cancel: bool


@dataclass
class Room:
    """One attempt, as its page shows it."""

    attempt: Attempt
    spec: LabSpec
    actions: list[Action] = field(default_factory=list)

    # ------------------------------------------------------------------ where the attempt stands

    @cached_property
    def _commands(self) -> list[Action]:
        return [each for each in self.actions if each.kind == Kind.COMMAND]

    @cached_property
    def _done(self) -> list[Action]:
        return [each for each in self._commands if each.status == Status.DONE]

    def _of(self, kind: str, outcome: str = "") -> list[Action]:
        return [
            each
            for each in self.actions
            if each.kind == kind
            and each.status == Status.DONE
            and (not outcome or (each.outcome or {}).get("kind") == outcome)
        ]

    @cached_property
    def readings(self) -> list[Action]:
        return self._of(Kind.COMMAND, "reading")

    @cached_property
    def changes(self) -> list[Action]:
        return self._of(Kind.COMMAND, "change")

    @cached_property
    def verifications(self) -> list[Action]:
        return self._of(Kind.COMMAND, "verification")

    @cached_property
    def diagnoses(self) -> list[Action]:
        return self._of(Kind.DIAGNOSE)

    @cached_property
    def explanation(self) -> Action | None:
        return next(reversed(self._of(Kind.EXPLAIN)), None)

    @cached_property
    def prediction(self) -> Action | None:
        return next(iter(self._of(Kind.PREDICT)), None)

    @cached_property
    def state(self) -> str:
        """preparing, predict, open, marking, not_graded, marked or given_up."""
        if self.attempt.status != Attempt.Status.OPEN:
            return self.attempt.status
        if not self._of(Kind.BEGIN):
            return "preparing"
        return "open" if self.prediction else "predict"

    @cached_property
    def version(self) -> str:
        """What a page that shows this room has seen of the log; progress of an action is not in it."""
        last = self.actions[-1] if self.actions else None
        tail = f"{last.seq}.{last.status}" if last else ""
        return f"{self.attempt.status}.{len(self.actions)}.{tail}"

    @cached_property
    def _running(self) -> Action | None:
        return next((each for each in self.actions if each.is_under_way), None)

    @cached_property
    def under_way(self) -> UnderWay | None:
        action = self._running
        if action is None:
            return None
        if action.status == Status.QUEUED:
            words = _queued(list(Action.objects.in_front_of(action).values_list("kind", flat=True)))
            if action.tries:
                words = (
                    "The worker stopped while it did this. Your attempt is intact; "
                    "it is being done again."
                )
        else:
            words = action.doing or "Simulating"
        return UnderWay(
            seq=action.seq,
            kind=action.kind,
            what=_what(action),
            words=words,
            progress=action.progress,
            cancelling=action.cancel_requested,
            can_cancel=action.kind != Kind.FINISH,
        )

    @cached_property
    def last_begin(self) -> Action | None:
        return next((each for each in reversed(self.actions) if each.kind == Kind.BEGIN), None)

    @cached_property
    def told(self) -> str:
        """What just finished, in one sentence for a screen reader."""
        last = self._commands[-1] if self._commands else None
        if last is None or last is not self.actions[-1]:
            return ""
        shown = _exchange(last)
        outcome = last.outcome or {}
        match last.status:
            case Status.DONE:
                kind = str(outcome.get("kind", "answer")).capitalize()
                return f"{kind} {shown.number} is done at {shown.at}, cost {shown.cost}."
            case Status.REFUSED:
                return f"Refused, nothing charged: {shown.text}"
            case Status.CANCELLED:
                return "Cancelled, nothing charged."
            case Status.FAILED:
                return "The worker stopped; nothing was charged."
            case _:
                return ""

    # ------------------------------------------------------------------------------------- the head

    @property
    def clock(self) -> str:
        return incident.clock(self.attempt.clock_s)

    @property
    def budget(self) -> str:
        return incident.clock(self.spec.timeline.budget_s)

    @property
    def time_is_up(self) -> bool:
        return self.attempt.clock_s >= self.spec.timeline.budget_s

    @cached_property
    def _gauges(self) -> dict[str, Any]:
        gauges: dict[str, Any] = self.attempt.panel.get("gauges", {})
        return gauges

    @property
    def target(self) -> str:
        return f"{self.spec.alarm.ttft_p95_above_s:g}"

    @property
    def ttft(self) -> str:
        return number(self._gauges.get("ttft_p95_s"))

    @property
    def ttft_held(self) -> bool:
        value = self._gauges.get("ttft_p95_s")
        return value is not None and value <= self.spec.alarm.ttft_p95_above_s

    @property
    def ttft_at_the_page(self) -> str:
        value = next((v for at_s, v in self._points if at_s == 0), None)
        return number(value)

    @property
    def users_hurt(self) -> str:
        return number(float(self._gauges.get("users_hurt", 0)), 0)

    @property
    def hurt_per_minute(self) -> str:
        return number(float(self._gauges.get("hurt_per_minute", 0)), 0)

    @property
    def gap_limit_s(self) -> float:
        return min(
            (slo.limit_s for slo in self.spec.slos.values() if slo.measure == "gap"), default=1.0
        )

    @cached_property
    def gap(self) -> dict[str, Any] | None:
        """Return the longest gap if it was measured, as it was last."""
        for each in reversed(self._done):
            value = (each.outcome or {}).get("signals", {}).get("gap_p95_s")
            if value is not None:
                return {
                    "value": number(value),
                    "held": value <= self.gap_limit_s,
                    "at": incident.clock(each.at_s or 0),
                    "limit": f"{self.gap_limit_s:g}",
                }
        return None

    # ----------------------------------------------------------------------------------- the phases

    @cached_property
    def failed_round(self) -> Action | None:
        """Return the last verification if it came after a change and a promise was still missed."""
        last = self.verifications[-1] if self.verifications else None
        if last is None or not self.changes or self.changes[-1].seq > last.seq:
            return None
        return None if self._held(last) else last

    def _held(self, verification: Action) -> bool:
        signals = (verification.outcome or {}).get("signals", {})
        ttft, gap = signals.get("ttft_p95_s"), signals.get("gap_p95_s")
        return (
            ttft is not None
            and gap is not None
            and ttft <= self.spec.alarm.ttft_p95_above_s
            and gap <= self.gap_limit_s
        )

    @cached_property
    def phases(self) -> list[Phase]:
        failed = self.failed_round
        since = failed.seq if failed else -1
        nothing = bool(self.diagnoses) and self.diagnoses[-1].payload.get("scope") == "nothing"
        ended = self.state in {"marking", "not_graded", "marked"}
        done = {
            "Brief": True,
            "Predict": self.prediction is not None,
            "Investigate": bool(self.readings),
            "Diagnose": any(each.seq > since for each in self.diagnoses),
            "Change": nothing or any(each.seq > since for each in self.changes),
            "Verify": any(
                each.seq > since and (not self.changes or each.seq > self.changes[-1].seq)
                for each in self.verifications
            ),
            "Explain": self.explanation is not None,
            "Debrief": False,
        }
        tried = {
            "Diagnose": bool(self.diagnoses),
            "Change": bool(self.changes),
            "Verify": bool(self.verifications),
        }
        phases: list[Phase] = []
        now = "Debrief" if ended else next(name for name, is_done in done.items() if not is_done)
        passed = False
        for name, is_done in done.items():
            passed = passed or name == now
            if name == now:
                state = "now"
            elif not passed:
                state = "done" if is_done else "tried"
            elif tried.get(name) or is_done:
                state = "tried"
            else:
                state = "ahead"
            phases.append(Phase(name, state))
        return phases

    @property
    def round_words(self) -> str:
        """One line below the ruler: what the phase wants, or that a second round has begun."""
        now = next((phase.name for phase in self.phases if phase.state == "now"), "")
        if self.failed_round and now == "Diagnose":
            gauge = "The last verification missed a target."
            return f"Another round. {gauge} Revise the diagnosis, or change something else."
        return {
            "Investigate": "Measure what tells your hypotheses apart. Each reading costs its minutes.",
            "Diagnose": "Commit a diagnosis as soon as the readings prove it; it can be revised.",
            "Change": "Change what the mechanism needs, then let the backlog drain.",
            "Verify": "Measure again what raised the alarm, over five minutes.",
            "Explain": "Write what happened, in your own words. Then close.",
            "Debrief": "Everything is there. Close the incident when both promises hold.",
        }.get(now, "")

    # ----------------------------------------------------------------------------------------- see

    @cached_property
    def _points(self) -> list[tuple[int, float | None]]:
        return [(int(t), v) for t, v in self.attempt.panel.get("ttft", [])]

    @property
    def _until_s(self) -> int:
        return charts.shown_until_s(self.attempt.clock_s, self.spec.timeline.budget_s)

    @property
    def history(self) -> int:
        """How many minutes before the page the chart shows."""
        return -self.spec.timeline.healthy_from_s // 60

    @cached_property
    def lane(self) -> charts.Lane:
        line = self.spec.timeline
        done = [
            charts.Done(
                str((each.outcome or {})["kind"]),
                int((each.outcome or {}).get("number", 0)),
                each.at_s or 0,
                each.cost_s,
            )
            for each in self._done
            if each.cost_s
        ]
        return charts.lane(
            done, from_s=line.healthy_from_s, to_s=self._until_s, healthy_to_s=line.fault_at_s
        )

    @cached_property
    def figure(self) -> charts.Figure:
        line = self.spec.timeline
        return charts.ttft_figure(
            self._points,
            from_s=line.healthy_from_s,
            to_s=self._until_s,
            healthy_to_s=line.fault_at_s,
            target_s=self.spec.alarm.ttft_p95_above_s,
            changes_s=[(each.at_s or 0) - each.cost_s for each in self.changes],
        )

    @cached_property
    def healthy_ttft(self) -> str:
        line = self.spec.timeline
        values = [v for t, v in self._points if t <= line.fault_at_s and v is not None]
        return number(median(values)) if values else "none"

    @property
    def spoken_chart(self) -> str:
        peak = max((v for _, v in self._points if v is not None), default=None)
        return (
            f"p95 TTFT on a log scale. {self.healthy_ttft} s in the healthy window, "
            f"{self.ttft_at_the_page} s at the page, {self.ttft} s now, {number(peak)} s at most. "
            f"Target {self.target} s."
        )

    @property
    def table(self) -> list[tuple[str, str]]:
        """The chart's numbers, every five minutes and now."""
        now = self._points[-1][0] if self._points else 0
        return [(incident.clock(t), number(v)) for t, v in self._points if t % 300 == 0 or t == now]

    @cached_property
    def exchanges(self) -> list[Exchange]:
        return [_exchange(each) for each in self._commands if not each.is_under_way]

    @property
    def earlier_exchanges(self) -> list[Exchange]:
        return self.exchanges[:-SHOWN_EXCHANGES]

    @property
    def latest_exchanges(self) -> list[Exchange]:
        return self.exchanges[-SHOWN_EXCHANGES:]

    @property
    def refused_line(self) -> str:
        """The last command's text if it was refused: it stays in the field."""
        last = self._commands[-1] if self._commands else None
        if last is None or last.status not in {Status.REFUSED, Status.CANCELLED}:
            return ""
        return str(last.payload.get("line", ""))

    @cached_property
    def failed_action(self) -> Action | None:
        """Return the last command if its worker gave up on it."""
        last = self._commands[-1] if self._commands else None
        return last if last is not None and last.status == Status.FAILED else None

    # --------------------------------------------------------------------------------------- think

    @cached_property
    def beliefs(self) -> list[Belief]:
        saved = self._of(Kind.BELIEFS)
        held = saved[-1].payload if saved else {}
        even = round(100 / len(self.spec.hypotheses) / 5) * 5
        return [
            Belief(key, LETTERS[place], each.title, held.get(key), even)
            for place, (key, each) in enumerate(self.spec.hypotheses.items())
        ]

    @cached_property
    def notebook(self) -> list[Note]:
        """What was read, the newest first."""
        healthy = healthy_medians(self.spec.slug)
        notes: list[Note] = []
        for each in self._done:
            outcome = each.outcome or {}
            if outcome.get("kind") not in {"reading", "verification"}:
                continue
            measures = tuple(
                self._measure(name, value, healthy)
                for name, value in outcome.get("signals", {}).items()
                if name in self.spec.signals
            )
            notes.append(
                Note(
                    int(outcome.get("number", 0)),
                    _ICONS[outcome["kind"]],
                    incident.clock(each.at_s or 0),
                    self._title(outcome),
                    measures,
                )
            )
        return notes[::-1]

    def _measure(self, name: str, value: float | None, healthy: dict[str, float]) -> Measure:
        signal = self.spec.signals[name]
        return Measure(
            signal.title,
            number(value, signal.healthy_decimals),
            unit_of(signal.unit) if value is not None else "",
            number(healthy[name], signal.healthy_decimals) if name in healthy else "",
        )

    def _title(self, outcome: dict[str, Any]) -> str:
        if outcome["kind"] == "verification":
            return "Verification"
        return self.spec.instruments[outcome["instrument"]].title

    @property
    def cheapest(self) -> str:
        return incident.clock(min(each.cost_s for each in self.spec.instruments.values()))

    @cached_property
    def citable(self) -> list[Citable]:
        """Signals of own readings until the first diagnosis or change: the diagnostic phase, as marking has it."""
        found: list[Citable] = []
        for each in self.actions:
            outcome = each.outcome or {}
            if each.status != Status.DONE:
                continue
            if each.kind == Kind.DIAGNOSE or outcome.get("kind") == "change":
                break
            if outcome.get("kind") != "reading":
                continue
            for name, value in outcome.get("signals", {}).items():
                signal = self.spec.signals.get(name)
                if signal is None:
                    continue
                found.append(
                    Citable(
                        int(outcome.get("number", 0)),
                        name,
                        signal.title,
                        number(value, signal.healthy_decimals),
                        unit_of(signal.unit) if value is not None else "",
                        incident.clock(each.at_s or 0),
                    )
                )
        return found

    @property
    def diagnosed(self) -> dict[str, Any] | None:
        """Return the diagnosis that counts, in words."""
        if not self.diagnoses:
            return None
        said = self.diagnoses[-1].payload
        mechanism = self.spec.mechanisms.get(said.get("mechanism") or "")
        return {
            "nothing": said.get("scope") == "nothing",
            "layer": said.get("layer"),
            "components": [self.spec.nodes[key].title for key in said.get("components", [])],
            "mechanism": mechanism.title if mechanism else "",
            "parameter": said.get("parameter"),
            "cited": len(said.get("citations", [])),
            "confidence": said.get("confidence"),
            "at": incident.clock(self.diagnoses[-1].at_s or 0),
            "count": len(self.diagnoses),
        }

    # ----------------------------------------------------------------------------------------- act

    @cached_property
    def instruments(self) -> list[Tool]:
        taken: dict[str, list[str]] = {}
        for each in self.readings:
            outcome = each.outcome or {}
            taken.setdefault(outcome["instrument"], []).append(str(outcome.get("number", "")))
        return [
            Tool(
                key,
                each.title,
                each.question,
                each.command,
                incident.clock(each.cost_s),
                ", ".join(taken.get(key, [])),
                round(each.slowdown * 100),
            )
            for key, each in self.spec.instruments.items()
        ]

    @cached_property
    def _standing(self) -> list[Action]:
        """Return the changes in force."""
        undone = {
            each.outcome["operation"]["of"]
            for each in self.changes
            if each.outcome and (each.outcome.get("operation") or {}).get("verb") == "undo"
        }
        return [
            each
            for each in self.changes
            if each.outcome
            and (each.outcome.get("operation") or {}).get("verb") != "undo"
            and each.outcome["number"] not in undone
        ]

    @cached_property
    def in_force(self) -> list[InForce]:
        found: list[InForce] = []
        titles = {_operation(each.command): each.title for each in self.spec.changes.values()}
        for each in self._standing:
            outcome = each.outcome or {}
            operation = outcome["operation"]
            leaves_nothing = (
                operation["verb"] in {"add-replica", "restart-router"} or len(operation) == 1
            )
            costs = "" if leaves_nothing else incident.clock(each.cost_s)
            key = tuple(sorted((str(k), str(v)) for k, v in operation.items()))
            found.append(
                InForce(
                    int(outcome["number"]),
                    titles.get(key, str(outcome["text"])),
                    incident.clock(each.at_s or 0),
                    costs,
                )
            )
        return found

    @cached_property
    def offered_changes(self) -> list[Tool]:
        """Return the changes that can be made: those in force are listed apart."""
        standing = {
            tuple(sorted((str(k), str(v)) for k, v in (each.outcome or {})["operation"].items()))
            for each in self._standing
        }
        again = {"restart"}
        return [
            Tool(key, each.title, each.note, each.command, incident.clock(each.cost_s))
            for key, each in self.spec.changes.items()
            if _operation(each.command) not in standing or key in again
        ]

    @property
    def restart_cost(self) -> str:
        return incident.clock(self.spec.fleet.restart_s)

    @property
    def shed_cost(self) -> str:
        return (
            incident.clock(self.spec.changes["shed"].cost_s) if "shed" in self.spec.changes else ""
        )

    @property
    def verify_cost(self) -> str:
        return incident.clock(incident.VERIFY_S)

    @property
    def waits(self) -> list[Tool]:
        left_s = self.spec.timeline.budget_s - self.attempt.clock_s
        found: list[Tool] = []
        for words in WAITS:
            parsed = console.parse(f"wait {words}")
            if isinstance(parsed, console.Command):
                seconds = int(parsed.options["seconds"])
                if seconds <= left_s:
                    found.append(Tool(words, words, "", f"wait {words}", incident.clock(seconds)))
        return found

    @property
    def judged_until(self) -> str:
        """How long the world runs on after closing, in minutes."""
        return f"{self.spec.mitigation.window_s // 60}"


def _operation(line: str) -> tuple[tuple[str, str], ...]:
    """Return a change's command as the operation that it would be, in a form that can be compared."""
    parsed = console.parse(line)
    if not isinstance(parsed, console.Command):
        return ()
    return tuple(sorted({"verb": parsed.verb, **parsed.options}.items()))


def _exchange(action: Action) -> Exchange:
    outcome = action.outcome or {}
    kind = str(outcome.get("kind", "answer"))
    return Exchange(
        seq=action.seq,
        line=str(action.payload.get("line", "")),
        status=action.status,
        text=str(outcome.get("text", "")),
        icon=_ICONS.get(kind, ""),
        number=int(outcome.get("number", 0)),
        at=incident.clock(action.at_s or 0),
        cost=incident.clock(action.cost_s) if action.cost_s else "nothing",
    )


def _what(action: Action) -> str:
    if action.kind == Kind.COMMAND:
        return str(action.payload.get("line", ""))
    return {
        Kind.BEGIN: "the incident is brought to its page",
        Kind.FINISH: "your attempt is being marked",
    }.get(Kind(action.kind), action.get_kind_display())


def _queued(in_front: list[str]) -> str:
    if not in_front:
        return "A worker takes it next."
    seconds = sum(_WORK_S.get(Kind(kind), 0.6) for kind in in_front) / _WORKERS
    about = "a few seconds" if seconds < 5 else f"about {round(seconds / 5) * 5} s"  # noqa: PLR2004
    people = "One person is" if len(in_front) == 1 else f"{_counted(len(in_front))} people are"
    return f"{people} before you; {about}."


def _counted(count: int) -> str:
    words = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")
    return words[count] if count < len(words) else str(count)


def price(spec: LabSpec, line: str) -> str:
    """Return what a typed line would cost as ``m:ss``; empty for what the console does not understand."""
    parsed = console.parse(line)
    if isinstance(parsed, console.Refusal):
        return ""
    try:
        cost_s = incident.price(spec, parsed)
    except (ValueError, KeyError):
        return ""
    return incident.clock(cost_s) if cost_s else "free"


def room_of(attempt: Attempt) -> Room:
    """Return the room of an attempt with its whole log."""
    return Room(attempt, attempt.spec, list(attempt.actions.order_by("seq")))
