"""From an attempt's log to its mark and its debrief: pure, so that the same log gives the same mark anywhere."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from labs import worlds
from labs.log import diagnostic_readings, spent_s
from labs.marking import evidence, healthy, mechanism, mitigation, scope, shown, total
from labs.marking.economy import economy, economy_part
from labs.marking.localisation import CausalGraph, localisation_part
from labs.marking.parts import CouldNotBeGraded, Part, uncommitted
from labs.reveal import best_value, prediction_revealed, worth_of_first_readings
from labs.specs import unit_word

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from labs.log import Entry, Route
    from labs.marking.economy import Economy, ReadingTaken
    from labs.marking.table import Table
    from labs.reruns import Reruns
    from labs.specs import LabSpec

DIFFERS = "Your log, run again, gives another world than the one that you left."


@dataclass(frozen=True)
class Judgement:
    """A mark, or what is known of one, with everything that the debrief shows. Plain JSON values inside."""

    graded: bool
    total: float | None
    passed: bool
    reason: str
    parts: list[dict[str, Any]]
    debrief: dict[str, Any]


def judge(
    spec: LabSpec,
    seed: int,
    log: Sequence[Entry],
    *,
    table: Table,
    reference: Route,
    runs: Reruns,
    live_digest: str | None = None,
    hypothesis: str | None = None,
) -> Judgement:
    """Return the judgement of a log: arithmetic alone, some milliseconds of it.

    ``reference`` is the reference play of the same world and ``runs`` are the re-runs of the log. ``live_digest``, if
    given, is the digest of the world that the learner left: a re-run that differs from it cannot be graded.
    """
    case = Case(
        spec=spec,
        seed=seed,
        truth=hypothesis or worlds.hypothesis_of(spec, seed),
        log=tuple(log),
        readings=diagnostic_readings(spec, log),
        diagnosis=next((e.payload for e in reversed(log) if e.kind == "diagnose"), {}),
        table=table,
        reference=reference,
    )
    differs = live_digest is not None and live_digest != runs.now.digest
    asked = _economy(case, runs)
    looked = healthy.looked_share(asked.told_rivals)
    parts: list[Part | CouldNotBeGraded] = [*_said(case, runs, looked), _proved(case)]
    parts.append(economy_part(asked))
    if differs:
        parts.append(CouldNotBeGraded("mitigation", DIFFERS))
    else:
        parts.append(_mended(runs) if case.is_fault else _left_alone(case, runs, looked))
    found = total.mark(parts)
    graded = not isinstance(found, total.Provisional)
    return Judgement(
        graded=graded,
        total=None if isinstance(found, total.Provisional) else found.total,
        passed=not isinstance(found, total.Provisional) and found.passed,
        reason=found.reason,
        parts=[asdict(part) for part in found.parts],
        debrief=_debrief(case, runs),
    )


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is judged: a log, in its world, against the lab's table and the reference play."""

    spec: LabSpec
    seed: int
    truth: str
    """The hypothesis that is the world's own."""
    log: tuple[Entry, ...]
    readings: list[ReadingTaken]
    diagnosis: Mapping[str, Any]
    """The last one committed; empty if none was."""
    table: Table
    reference: Route

    @property
    def is_fault(self) -> bool:
        """Whether something is wrong, or the right answer is that nothing is."""
        return self.spec.hypotheses[self.truth].answer.scope == "fault"

    @property
    def credit(self) -> float:
        """What the author gives for the mechanism that was named."""
        answer = self.spec.hypotheses[self.truth].answer
        given = {each.mechanism: each.credit for each in answer.mechanisms}
        return mechanism.mechanism_credit(given, self.diagnosis.get("mechanism"))


# ------------------------------------------------------------------------------------- what was said


def graph_of(spec: LabSpec) -> CausalGraph:
    """Return the lab's causal graph, as marking wants it."""
    return CausalGraph(
        frozenset(spec.nodes),
        frozenset((key, effect) for key, node in spec.nodes.items() for effect in node.causes),
        frozenset(key for key, node in spec.nodes.items() if not node.nameable),
    )


def _said(case: Case, runs: Reruns, looked: float) -> list[Part]:
    spec, said = case.spec, case.diagnosis
    answer = spec.hypotheses[case.truth].answer
    if not said:
        return [uncommitted(name) for name in ("scope", "localisation", "mechanism")]
    hurt = mitigation.hurt_objectives(runs.nothing.fared) if case.is_fault else frozenset()
    parameter = None
    if answer.parameter is not None and runs.nothing.parameter:
        signal = spec.signals[answer.parameter]
        parameter = mechanism.Parameter(
            signal.title, unit_word(signal.unit), runs.nothing.parameter, answer.parameter_tolerance
        )
    found = [
        scope.scope_part(
            says_fault=said.get("scope") == "fault",
            is_fault=case.is_fault,
            named=said.get("slos", []),
            hurt=hurt,
        ),
        localisation_part(
            graph_of(spec),
            said.get("components", []),
            answer.components or ((),),
            looked=1.0 if case.is_fault else looked,
        ),
        mechanism.mechanism_part(case.credit, parameter=parameter, answer=said.get("parameter")),
    ]
    if case.is_fault:
        return found
    return [healthy.looked_for(found[0], looked), *found[1:]]


# ------------------------------------------------------------------------------------ what was asked


def _proved(case: Case) -> Part:
    if not case.diagnosis:
        return uncommitted("evidence")
    chain = [
        evidence.Link(
            name=f"link {position}",
            signals=frozenset(link.signals),
            role="shows" if link.role == "shows" else "rules out",
            cause=link.cause,
            rival=link.rules_out,
        )
        for position, link in enumerate(case.spec.hypotheses[case.truth].answer.chain, start=1)
    ]
    citations = [
        evidence.Citation(
            int(each["reading"]),
            each["signal"],
            "shows" if each["role"] == "shows" else "rules out",
            each.get("rival"),
        )
        for each in case.diagnosis.get("citations", [])
    ]
    return evidence.evidence_part(
        case.table,
        case.readings,
        citations,
        chain,
        truth=case.truth,
        mechanism_credit=case.credit,
    )


def _economy(case: Case, runs: Reruns) -> Economy:
    # In a healthy control a change is marked as one, not as a false fix too.
    return economy(
        case.table,
        case.readings,
        truth=case.truth,
        reference=case.reference.known(case.table),
        best_value=best_value(case.spec, case.table),
        budget_s=case.spec.diagnosis_budget_s,
        spent_s=spent_s(case.log),
        false_fixes=mitigation.false_fixes(runs.whole, runs.atoms) if case.is_fault else 0,
    )


# ---------------------------------------------------------------------------------- what was changed


def _left_alone(case: Case, runs: Reruns, looked: float) -> Part:
    if not case.diagnosis:
        return uncommitted("mitigation")
    excess = mitigation.excess(runs.now.lost_share, runs.nothing.lost_share)
    made = healthy.changes_made(len(runs.atoms), len(runs.in_force))
    return healthy.healthy_mitigation_part(looked, made, {"requests lost": excess})


def _mended(runs: Reruns) -> Part | CouldNotBeGraded:
    excess = mitigation.excess(runs.now.lost_share, runs.nothing.lost_share)
    force = [each for each in runs.atoms if (each.target, each.kind) in set(runs.in_force)]
    return mitigation.mitigation_part(
        runs.now.fared,
        runs.nothing.fared,
        runs.reference.fared,
        cause_gone=runs.now.cause_gone,
        collateral={"requests lost": excess},
        idle=mitigation.idle_changes(runs.whole, force),
        changed=runs.changed,
    )


# ------------------------------------------------------------------------------------------- debrief


def _debrief(case: Case, runs: Reruns) -> dict[str, Any]:
    spec, table, readings = case.spec, case.table, case.readings
    prediction = next((entry.payload for entry in case.log if entry.kind == "predict"), None)
    return {
        "hypothesis": case.truth,
        "seed": case.seed,
        "users_hurt": {
            "you": runs.now.users_hurt,
            "reference": runs.reference.users_hurt,
            "untouched": runs.nothing.users_hurt,
        },
        "alarm": {
            "you": runs.now.alarm,
            "reference": runs.reference.alarm,
            "untouched": runs.nothing.alarm,
        },
        "value": worth_of_first_readings(spec, table, readings),
        "posterior": shown.posterior_after(table, readings),
        "waste_s": shown.waste_s(table, readings) if readings else 0.0,
        "prediction": prediction_revealed(spec, prediction, runs.nothing),
        "reference_steps": [asdict(step) for step in case.reference.steps],
        "parameter": runs.nothing.parameter,
    }
