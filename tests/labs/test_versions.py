"""An attempt stays on the version of the lab that it began with."""

import pytest

from courseware.models import Version
from courseware.served import CHECKOUT, tree
from courseware.studio import serving, store
from courseware.studio.pieces import files_at
from labs import attempts, digest, plays, pool, rules
from labs.catalogue import lab, labs
from labs.models import Attempt
from tests.factories import AttemptFactory

pytestmark = pytest.mark.django_db
SLUG = "preemption-storm"
PATH = f"labs/{SLUG}"


@pytest.fixture
def rewritten(settings, tmp_path):
    """A course of one lab, whose second version has another title and dearer logs; the first one is the checkout's."""
    settings.RUN_DIR = tmp_path
    first = files_at(CHECKOUT.labs / SLUG)
    spec = labs()[SLUG]
    second = {
        **first,
        "lab.toml": first["lab.toml"].replace(
            f'title = "{spec.title}"'.encode(), b'title = "Another title"'
        ),
        "brief.md": b"Another brief.",
    }
    assert second["lab.toml"] != first["lab.toml"]
    for base, files in enumerate((first, second)):
        store.add({PATH: files}, seen=base, bases={PATH: base}, origin=Version.Origin.STUDIO)
    serving.refresh()
    return spec


def test_a_new_attempt_begins_with_the_newest_version(learner, rewritten, monkeypatch):
    monkeypatch.setattr("labs.doorbell.ring", lambda attempt_id: None)
    spec = labs()[SLUG]
    assert (spec.title, spec.key) == ("Another title", SLUG)
    attempt = attempts.start_attempt(learner=learner, spec=spec)
    assert attempt.lab_version == 2
    assert attempt.lab_key == SLUG
    assert attempt.spec is spec


def test_an_attempt_that_began_before_sees_the_lab_as_it_was(learner, rewritten, learner_client):
    attempt = AttemptFactory(learner=learner, lab_version=1, status=Attempt.Status.OPEN)
    assert attempt.lab_key.startswith(f"{SLUG}@")
    assert attempt.spec.title == rewritten.title
    assert attempt.spec.slug == SLUG
    page = learner_client.get(f"/labs/attempts/{attempt.public_id}/").content.decode()
    assert rewritten.title in page
    assert "Another title" not in page
    assert "Another title" in learner_client.get(f"/labs/{SLUG}/").content.decode()


def test_worlds_seeds_tables_plays_and_rules_of_a_version_are_its_own(rewritten):
    old = AttemptFactory(lab_version=1).lab_key
    assert pool.admitted(old) == pool.admitted(SLUG)
    assert pool.table(old) is not pool.table(SLUG)
    assert plays.names(old) == plays.names(SLUG)
    assert digest.world_digest(old) == digest.world_digest(SLUG)
    assert rules.rules_of(old) == rules.rules_of(SLUG)


def test_a_version_is_the_same_lab_to_everything_that_is_drawn(rewritten):
    """Its slug, not its key, is what seeds are mixed with."""
    old = lab(AttemptFactory(lab_version=1).lab_key)
    assert old.model_dump() == {**rewritten.model_dump()}
    assert "pinned" not in old.model_dump_json()


def test_an_attempt_whose_version_is_gone_is_not_found(learner, rewritten, learner_client):
    attempt = AttemptFactory(learner=learner, lab_version=9)
    with pytest.raises(LookupError):
        _ = attempt.spec
    assert learner_client.get(f"/labs/attempts/{attempt.public_id}/").status_code == 404


def test_a_withdrawn_lab_is_gone_from_the_catalogue_and_its_attempts_stay(
    learner, rewritten, learner_client
):
    attempt = AttemptFactory(learner=learner, lab_version=2, status=Attempt.Status.OPEN)
    store.add({PATH: {}}, seen=2, bases={PATH: 2}, origin=Version.Origin.STUDIO)
    serving.refresh()
    assert SLUG not in labs()
    assert tree().number(PATH) == 3
    assert learner_client.get(f"/labs/{SLUG}/").status_code == 404
    assert learner_client.get(f"/labs/attempts/{attempt.public_id}/").status_code == 200
