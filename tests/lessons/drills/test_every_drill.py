"""Every drill proves itself: the symptom in every world, a measurement that separates, one fix that is right."""

import re

import pytest

from lessons.drills.evidence import evidence_of
from lessons.drills.proving import prove
from lessons.drills.spec import LEAVE, drills, text_of
from lessons.outline import words_in
from lessons.symptoms import symptoms

DECISIONS = ("measure", "strike", "mechanism", "fix")

pytestmark = pytest.mark.parametrize("number", list(drills()))


def test_its_proof_holds(number):
    found = prove(number)
    assert [str(line) for line in found.lines if line.verdict == "red"] == []
    assert found.values[found.best] > 0


def test_it_belongs_to_a_symptom_and_says_enough(number):
    spec = drills()[number]
    assert number in symptoms()
    assert 40 <= words_in(text_of(number, "scene.md")) <= 140
    assert 90 <= words_in(text_of(number, "debrief.md")) <= 260
    assert 3 <= len(spec.suspects) <= 6
    assert len(spec.fixes) == len({each.title for each in spec.fixes.values()})
    assert LEAVE in spec.fixes
    assert len(spec.served) >= 2


def test_every_decision_has_a_hint(number):
    spec = drills()[number]
    assert all(spec.hints_for(decision) for decision in DECISIONS)
    # The first says where to look, so it names no answer.
    told = " ".join(spec.hints_for(decision)[0] for decision in DECISIONS).lower()
    titles = [each.title for each in (*spec.mechanisms.values(), *spec.fixes.values())]
    assert not any(title.lower() in told for title in titles)


def test_its_texts_keep_the_voice(number):
    hints = [text for decision in DECISIONS for text in drills()[number].hints_for(decision)]
    for text in (text_of(number, "scene.md"), text_of(number, "debrief.md"), *hints):
        assert not re.search(r"\b(simply|just|obviously|powerful|robust)\b|!", text)


def test_its_worlds_read_every_signal_and_print_every_measurement(number):
    spec = drills()[number]
    evidence = evidence_of(spec.evidence)
    for world in spec.suspects:
        seen = evidence.observe(world, 4711)
        assert set(seen.values) == set(spec.signals)
        assert set(seen.prints) == set(spec.measurements)
        assert all(lines and all(lines) for lines in seen.prints.values())
        for fix in spec.fixes:
            evidence.observe(world, 4711, fix)


def test_the_same_seed_reads_the_same(number):
    spec = drills()[number]
    evidence = evidence_of(spec.evidence)
    for world in spec.suspects:
        assert evidence.observe(world, 7) == evidence.observe(world, 7)
        assert evidence.observe(world, 7).values != evidence.observe(world, 8).values


def test_no_print_names_a_world(number):
    spec = drills()[number]
    evidence = evidence_of(spec.evidence)
    for world in spec.suspects:
        told = " ".join(
            line for lines in evidence.observe(world, 5).prints.values() for line in lines
        )
        assert not any(each.title.lower() in told.lower() for each in spec.suspects.values())


def test_an_unknown_world_is_refused(number):
    with pytest.raises(KeyError):
        evidence_of(drills()[number].evidence).observe("nowhere", 1)
