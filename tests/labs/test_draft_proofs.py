"""A draft is proved by a worker, once a state, and whoever waits may stop it."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from courseware.served import CHECKOUT
from courseware.studio import serving, store
from courseware.studio.drafts import begin, files_of, proof_of, publish, save, state_to_prove
from courseware.studio.pieces import files_at
from courseware.studio.publishing import Refused
from labs import draft_proofs, errands, pool, proving
from labs.catalogue import folder_of, lab
from labs.models import DraftProof
from tests.whole_course import publish_checkout

pytestmark = pytest.mark.django_db
SLUG = "preemption-storm"
PATH = f"labs/{SLUG}"
Status = DraftProof.Status


@pytest.fixture
def draft(settings, tmp_path, instructor, monkeypatch):
    settings.RUN_DIR = tmp_path
    monkeypatch.setattr("labs.outbox.publish", lambda task, pk: None)
    publish_checkout()
    made = begin(PATH, by=instructor)
    brief = made.texts["brief.md"]
    save(made, version=0, by=instructor, texts={"brief.md": f"{brief}\nClearer.\n"})
    made.refresh_from_db()
    return made


@pytest.fixture
def proved(monkeypatch):
    """What ``prove`` was asked for; it finds what the checkout's lab showed, and writes files beside the draft."""
    asked = []

    def prove(key, level, *, told):
        asked.append((lab(key).slug, level.name))
        told("plays: 3 of 9")
        for name in draft_proofs.COMPUTED:
            (folder_of(key) / name).write_bytes((CHECKOUT.labs / SLUG / name).read_bytes())
        return proving.stored(key)

    monkeypatch.setattr(proving, "prove", prove)
    return asked


def ask(draft):
    proof = draft_proofs.ask(state_to_prove(draft))
    draft_proofs.carry_on(proof.pk)
    proof.refresh_from_db()
    return proof


def test_a_worker_proves_a_draft_and_keeps_what_it_computed(draft, proved):
    proof = ask(draft)
    assert proved == [(SLUG, "draft")]
    assert (proof.status, proof.holds, proof.doing) == (Status.DONE, True, "")
    assert len(draft_proofs.lines_of(proof)) > 20
    assert set(proof.computed) == set(draft_proofs.COMPUTED)
    assert files_of(draft)[pool.PROOF] == (CHECKOUT.labs / SLUG / pool.PROOF).read_bytes()


def test_the_checkout_and_the_version_before_are_not_written_to(draft, proved):
    before = files_at(CHECKOUT.labs / SLUG)
    kept = files_at(serving.folder_of(store.newest_of(PATH)))
    ask(draft)
    assert files_at(CHECKOUT.labs / SLUG) == before
    assert files_at(serving.folder_of(store.newest_of(PATH))) == kept


def test_the_same_text_is_proved_once_and_another_anew(draft, proved, instructor):
    ask(draft)
    ask(draft)
    assert len(proved) == 1
    save(draft, version=1, by=instructor, texts={"debrief.md": "Other."})
    draft.refresh_from_db()
    assert proof_of(draft) is None
    ask(draft)
    assert len(proved) == 2


def test_a_message_that_comes_twice_proves_once(draft, proved):
    proof = ask(draft)
    draft_proofs.carry_on(proof.pk)
    assert len(proved) == 1


def test_a_lab_that_cannot_be_proved_says_why(draft, monkeypatch):
    def prove(key, level, *, told):
        raise RuntimeError(f"{SLUG}: only 3 of 20 seeds qualify")

    monkeypatch.setattr(proving, "prove", prove)
    proof = ask(draft)
    assert (proof.status, proof.fault) == (
        Status.FAILED, f"{SLUG}: only 3 of 20 seeds qualify",
    )  # fmt: skip
    assert draft_proofs.ask(proof.state).status == Status.RUNNING


def test_a_fault_of_ours_is_tried_again_and_then_fails(draft, monkeypatch):
    def prove(key, level, *, told):
        raise ZeroDivisionError

    monkeypatch.setattr(proving, "prove", prove)
    proof = draft_proofs.ask(state_to_prove(draft))
    for _ in range(errands.MAX_TRIES):
        draft_proofs.carry_on(proof.pk)
    proof.refresh_from_db()
    assert (proof.status, proof.tries) == (Status.FAILED, errands.MAX_TRIES)


def test_a_cancelled_proof_stops_at_its_workers_next_breath(draft, monkeypatch):
    went_on = []

    def prove(key, level, *, told):
        draft_proofs.cancel(DraftProof.objects.get())
        told("plays: 1 of 9")
        went_on.append(key)

    monkeypatch.setattr(proving, "prove", prove)
    proof = ask(draft)
    assert proof.status == Status.CANCELLED
    assert not went_on
    assert not draft_proofs.cancel(proof)


def test_a_proof_that_fails_forbids_to_publish(draft, monkeypatch, proved, instructor):
    real = proving.prove

    def red(key, level, *, told):
        found = real(key, level, told=told)
        lines = [replace(found.lines[0], value=0.0), *found.lines[1:]]
        path = folder_of(key) / pool.PROOF
        said = json.loads(path.read_text())
        said["proof"]["lines"][0]["value"] = 0.0
        path.write_text(json.dumps(said))
        return replace(found, lines=lines)

    monkeypatch.setattr(proving, "prove", red)
    assert not ask(draft).holds
    with pytest.raises(Refused, match="the proof fails: 1 alarms as it should"):
        publish(draft, version=1, by=instructor, note="x")
    assert store.newest_of(PATH).number == 1


def test_a_slow_step_is_not_taken_for_silence(draft, settings):
    proof = draft_proofs.ask(state_to_prove(draft))
    claimed = errands.claim(DraftProof, proof.pk)
    settings.LABS_SILENCE_S = 10
    DraftProof.objects.update(heartbeat_at=timezone.now() - timedelta(seconds=30))
    assert errands.tend(DraftProof) == 0
    DraftProof.objects.update(heartbeat_at=timezone.now() - timedelta(seconds=61))
    assert errands.tend(DraftProof) == 1
    assert errands.claim(DraftProof, proof.pk)
    assert not errands.own(claimed, Status.DONE)
