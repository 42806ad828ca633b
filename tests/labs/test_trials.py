"""An author handles the incident of a draft, and nothing of it counts."""

import pytest

from courseware import served
from courseware.models import Version
from courseware.served import CHECKOUT, tree
from courseware.studio import drafts, serving, store, trials
from courseware.studio.drafts import begin, save
from courseware.studio.pieces import files_at
from courseware.studio.publishing import candidate
from labs import attempts, remarking
from labs.catalogue import labs
from labs.models import Attempt
from tests.factories import AttemptFactory

pytestmark = pytest.mark.django_db
SLUG = "preemption-storm"
PATH = f"labs/{SLUG}"


@pytest.fixture
def draft(settings, tmp_path, instructor, monkeypatch):
    settings.RUN_DIR = tmp_path
    trials._tree.cache_clear()
    monkeypatch.setattr("labs.doorbell.ring", lambda attempt_id: None)
    files = files_at(CHECKOUT.labs / SLUG)
    store.add({PATH: files}, seen=0, bases={PATH: 0}, origin=Version.Origin.FILES)
    serving.refresh()
    made = begin(PATH, by=instructor)
    spec = labs()[SLUG]
    text = made.texts["lab.toml"].replace(f'title = "{spec.title}"', 'title = "A trial"')
    save(made, version=0, by=instructor, texts={"lab.toml": text})
    made.refresh_from_db()
    return made


@pytest.fixture
def tried(draft, instructor):
    """An attempt at the draft."""
    state = drafts.state_to_try(draft)
    with served.trying(trials.tree_with(state)):
        return attempts.start_attempt(learner=instructor, spec=labs()[SLUG])


def test_an_attempt_at_a_draft_reads_the_draft_wherever_it_is_carried_on(tried):
    found = Attempt.objects.get(pk=tried.pk)
    assert tree().trial == 0
    assert found.spec.title == "A trial"
    assert found.spec.slug == SLUG


def test_it_stays_with_the_state_that_it_began_with(tried, draft, instructor):
    text = draft.texts["lab.toml"].replace('title = "A trial"', 'title = "Later"')
    save(draft, version=1, by=instructor, texts={"lab.toml": text})
    assert Attempt.objects.get(pk=tried.pk).spec.title == "A trial"


def test_it_stands_beside_an_attempt_at_the_lab_itself(tried, instructor):
    own = attempts.start_attempt(learner=instructor, spec=labs()[SLUG])
    assert own.pk != tried.pk
    assert own.trial is None
    assert attempts.start_attempt(learner=instructor, spec=labs()[SLUG]) == own


def test_whoever_tries_a_draft_reads_and_marks_other_attempts_by_what_is_published(draft, learner):
    own = AttemptFactory(learner=learner, lab_version=1)
    title = own.spec.title
    with served.trying(trials.tree_with(drafts.state_to_try(draft))):
        assert labs()[SLUG].title == "A trial"
        assert Attempt.objects.get(pk=own.pk).spec.title == title
    assert Attempt.objects.get(pk=own.pk).lab_key == SLUG


def test_it_counts_nowhere(tried, instructor):
    Attempt.objects.update(status="marked")
    assert not Attempt.objects.counted().exists()
    assert not remarking.attempts_at([SLUG]).exists()
    assert attempts.begun(instructor, labs()[SLUG]) == []


def test_a_candidate_is_no_trial():
    assert candidate({}, {}, 1).trial == 0
