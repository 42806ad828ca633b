"""From a log to its mark: what counts, what does not, and what cannot be graded."""

from dataclasses import replace

import pytest

from labs import judgement, plays, pool
from labs.judgement import judge
from labs.log import Entry, diagnostic_readings, spent_s
from labs.marking.constants import WEIGHTS
from labs.reruns import rerun


@pytest.fixture(scope="module")
def table():
    return pool.table("preemption-storm")


@pytest.fixture(scope="module")
def done(spec, seeds):
    """The reference play of the demand world, carried out: its world and its log."""
    play = plays.load_play("preemption-storm", "reference")
    world, log = plays.perform(spec, seeds["demand"], play, hypothesis="demand")
    return world, log, plays.route(spec, log)


@pytest.fixture
def marked(spec, seeds, table, done):
    """Mark the demand world's reference log, changed by a function."""
    _, log, route = done

    def mark(change=list, **how):
        own = change(log)
        return judge(
            spec,
            seeds["demand"],
            own,
            table=table,
            reference=route,
            runs=rerun(spec, "demand", seeds["demand"], own, reference=route),
            hypothesis="demand",
            **how,
        )

    return mark


def parts_of(judged):
    return {part["name"]: part["earned"] for part in judged.parts}


def said(log, **changes):
    return [
        replace(e, payload={**e.payload, **changes}) if e.kind == "diagnose" else e for e in log
    ]


@pytest.mark.slow
def test_the_live_worlds_digest_lets_the_mark_stand_and_another_does_not(marked, done):
    good = marked(live_digest=done[0].world.cluster.digest())
    assert (good.graded, good.total, good.passed) == (True, 100.0, True)
    bad = marked(live_digest="0" * 64)
    assert (bad.graded, bad.total, bad.passed) == (False, None, False)
    known = parts_of(bad)
    assert "mitigation" not in known
    assert known == {name: value for name, value in parts_of(good).items() if name != "mitigation"}
    assert "another world" in bad.reason


@pytest.mark.slow
def test_a_world_that_heals_by_itself_cannot_be_graded(marked, monkeypatch):
    monkeypatch.setattr(
        judgement,
        "_mended",
        lambda runs, real=judgement._mended: real(
            replace(runs, nothing=replace(runs.nothing, fared=runs.reference.fared))
        ),
    )
    healed = marked()
    assert (healed.graded, healed.total) == (False, None)
    assert parts_of(healed)


@pytest.mark.slow
def test_parts_stay_within_their_weight_and_the_total_is_their_sum(marked):
    for change in (
        list,
        lambda log: log[:1],
        lambda log: said(log, components=[], mechanism="", citations=[]),
        lambda log: [e for e in log if e.kind != "diagnose"],
        lambda log: [],
    ):
        judged = marked(change)
        earned = parts_of(judged)
        assert set(earned) == set(WEIGHTS)
        assert all(0 <= earned[name] <= WEIGHTS[name] for name in WEIGHTS)
        assert judged.total == pytest.approx(sum(earned.values()))


@pytest.mark.slow
def test_without_a_diagnosis_no_part_says_what_was_never_said(marked):
    parts = {
        part["name"]: part
        for part in marked(lambda log: [e for e in log if e.kind != "diagnose"]).parts
    }
    for name in ("scope", "localisation", "mechanism", "evidence"):
        assert (parts[name]["earned"], parts[name]["reason"]) == (
            0,
            "You committed no diagnosis.",
        )


@pytest.mark.slow
def test_predictions_confidence_and_explanations_never_enter(marked):
    def bare(log):
        kept = [e for e in log if e.kind not in {"predict", "explain"}]
        return said(kept, confidence=50)

    def boastful(log):
        guess = Entry("predict", {"value": 1e9, "confidence": 90, "why": "x"})
        return [guess, *said(log, confidence=100, note="I knew it")]

    plain = marked()
    for other in (marked(bare), marked(boastful)):
        assert (other.parts, other.total) == (plain.parts, plain.total)


@pytest.mark.slow
def test_the_same_log_gives_the_same_mark(marked):
    assert marked() == marked()


@pytest.mark.slow
def test_free_commands_and_refusals_change_no_mark(marked):
    def talkative(log):
        answer = {"kind": "answer", "text": "…", "signals": {}, "number": 0}
        return [Entry("command", {"line": "help"}, answer, 0, 0), *log]

    assert marked(talkative).parts == marked().parts


@pytest.mark.slow
def test_taking_a_change_back_is_no_change(marked, spec, seeds, done):
    def turned(log):
        end = max(e.at_s for e in log)
        shed = {"verb": "shed", "percent": "20"}
        there = {"kind": "change", "operation": shed, "number": 90, "text": "", "signals": {}}
        back = {**there, "operation": {"verb": "undo", "of": 90, "operation": shed}, "number": 91}
        return [
            *log,
            Entry("command", {}, there, end + 30, 30),
            Entry("command", {}, back, end + 60, 30),
        ]

    parts = {part["name"]: part for part in marked(turned).parts}
    assert parts["mitigation"]["earned"] == 20.0


def test_readings_count_until_the_diagnosis_or_the_first_change(spec):
    def reading(number, at_s, instrument="ledger"):
        outcome = {"kind": "reading", "instrument": instrument, "number": number, "signals": {}}
        return Entry("command", {}, outcome, at_s, 30)

    wait = Entry("command", {}, {"kind": "wait"}, 120, 60)
    change = Entry("command", {}, {"kind": "change"}, 300, 80)
    log = [reading(1, 30, "slo"), reading(2, 60), wait, reading(3, 150, "slo")]
    taken = diagnostic_readings(spec, [*log, change, reading(4, 400)])
    assert [(r.number, r.waited_s, r.orientation) for r in taken] == [
        (1, 0, True),
        (2, 0, False),
        (3, 60, False),
    ]
    assert spent_s([*log, change, reading(4, 400)]) == 150
    verified = Entry("command", {}, {"kind": "verification"}, 450, 300)
    assert spent_s([*log, verified]) == 150
    diagnosis = Entry("diagnose", {}, {}, 60)
    assert [r.number for r in diagnostic_readings(spec, [*log[:2], diagnosis, *log[2:]])] == [1, 2]


@pytest.mark.slow
def test_the_debrief_has_both_paths_and_what_the_guess_was_worth(marked, spec):
    debrief = marked().debrief
    assert debrief["hypothesis"] == "demand"
    assert [row["yours"] for row in debrief["value"]].count(True) == 1
    assert debrief["users_hurt"]["you"] < debrief["users_hurt"]["untouched"]
    assert sum(debrief["posterior"].values()) == pytest.approx(1.0)
    assert debrief["prediction"]["truth"] > 0
    assert debrief["reference_steps"][0]["title"] == "Longest gap per stream"


# ------------------------------------------------------------------------------- healthy controls


@pytest.fixture(scope="module")
def control(spec):
    """The lab, had its alarm in the demand world been a false one."""
    world = spec.hypotheses["demand"]
    link = next(each for each in world.answer.chain if each.rules_out == "leak")
    answer = world.answer.model_copy(
        update={
            "scope": "healthy",
            "components": (),
            "parameter": None,
            "chain": (link.model_copy(update={"cause": True}),),
            "cause_gone": (),
        }
    )
    calm = world.model_copy(update={"answer": answer})
    return spec.model_copy(update={"hypotheses": {**spec.hypotheses, "demand": calm}})


@pytest.fixture
def silence(control, seeds, table, done):
    """Mark who says that nothing is wrong, after these readings of the reference and with these changes."""
    _, log, _ = done
    taken = [e for e in log if e.outcome.get("kind") == "reading"][:3]
    diagnosis = next(e for e in log if e.kind == "diagnose")
    nothing = {
        **diagnosis.payload,
        "scope": "nothing",
        "slos": [],
        "components": [],
        "citations": [
            each for each in diagnosis.payload["citations"] if each.get("rival") == "leak"
        ],
    }

    def mark(readings=3, changes=(), **other):
        said = {**nothing, **other}
        if readings < 3:
            said["citations"] = []
        own = [*taken[:readings], replace(diagnosis, payload=said), *changes]
        route = plays.route(control, [*taken, replace(diagnosis, payload=nothing)])
        return judge(
            control,
            seeds["demand"],
            own,
            table=table,
            reference=route,
            runs=rerun(control, "demand", seeds["demand"], own, reference=route),
            hypothesis="demand",
        )

    return mark


def done_to(number, at_s, operation):
    outcome = {
        "kind": "change",
        "operation": operation,
        "number": number,
        "text": "",
        "signals": {},
    }
    return Entry("command", {}, outcome, at_s, 30)


LIMIT = {"verb": "limit-max-tokens", "tokens": "5000"}


@pytest.mark.slow
def test_in_a_healthy_control_silence_earns_everything_when_it_was_looked_for(silence):
    judged = silence()
    assert (judged.graded, judged.passed, judged.total) == (True, True, 100.0)


@pytest.mark.slow
def test_in_a_healthy_control_silence_earns_nothing_that_was_not_looked_for(silence):
    judged = silence(readings=0)
    assert not judged.passed
    earned = parts_of(judged)
    for name in ("scope", "localisation", "mitigation", "evidence", "economy"):
        assert earned[name] == 0, name
    one = parts_of(silence(readings=1))
    assert one["scope"] / 10 == pytest.approx(one["localisation"] / 20, abs=0.01)
    assert one["scope"] < 10


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "points"),
    [
        ([done_to(9, 400, LIMIT)], 5),
        (
            [
                done_to(9, 400, LIMIT),
                done_to(10, 430, {"verb": "undo", "of": 9, "operation": LIMIT}),
            ],
            10,
        ),
        ([done_to(9, 400, LIMIT), done_to(10, 430, {"verb": "restart-router"})], 0),
    ],
    ids=["one left", "one taken back", "two"],
)
def test_in_a_healthy_control_a_change_costs_mitigation_and_nothing_else(silence, changes, points):
    left, touched = parts_of(silence()), parts_of(silence(changes=changes))
    assert touched["mitigation"] == points
    others = set(touched) - {"mitigation"}
    assert {name: touched[name] for name in others} == {name: left[name] for name in others}


@pytest.mark.slow
def test_in_a_healthy_control_a_fault_that_is_named_earns_no_scope_and_no_localisation(silence):
    earned = parts_of(silence(scope="fault", slos=["ttft"], components=["kv_pool"]))
    assert (earned["scope"], earned["localisation"]) == (0, 0)
