"""An attempt at a drill stays on the version that it began with."""

import pytest

from courseware.models import Version
from courseware.studio import serving, store
from lessons import drilling
from lessons.drills.spec import drills
from lessons.drills.tables import table_of
from lessons.models import DrillAttempt
from tests.whole_course import publish_checkout

pytestmark = pytest.mark.django_db
PATH, URL = "lessons/drills/1.1", "/drills/1.1/"


@pytest.fixture
def begun(settings, tmp_path, learner, learner_client):
    """An attempt that began before the drill was rewritten: minutes, a measurement's title, the scene."""
    settings.RUN_DIR = tmp_path
    publish_checkout()
    learner_client.post(f"{URL}begin/")
    first = store.newest_of(PATH)
    files = store.files_of(first)
    files["drill.toml"] = files["drill.toml"].replace(b"minutes = 4", b"minutes = 5")
    files["scene.md"] = b"Another scene, told anew.\n"
    store.add({PATH: files}, seen=1, bases={PATH: 1}, origin=Version.Origin.STUDIO)
    serving.refresh()
    return DrillAttempt.objects.get()


def test_it_goes_on_as_it_was(begun, learner, learner_client):
    assert drills()["1.1"].minutes == 5
    assert drilling.spec_of(begun).minutes == 4
    assert drilling.open_attempt(learner, drills()["1.1"]) == begun
    assert "Another scene" not in learner_client.get(URL).content.decode()


def test_the_next_one_is_of_the_newest(begun, learner_client):
    DrillAttempt.objects.update(stage="done", fix="", mechanism="", parts=[], total=50.0)
    learner_client.post(f"{URL}begin/")
    assert list(DrillAttempt.objects.order_by("pk").values_list("version", flat=True)) == [1, 2]
    assert "Another scene" in learner_client.get(URL).content.decode()


def test_both_versions_have_tables_of_their_own(begun):
    old = drilling.spec_of(begun)
    assert old.key.startswith("1.1@")
    assert table_of(old.key).signals == table_of("1.1").signals
    assert old.world_of(7) == drills()["1.1"].world_of(7)


def test_a_version_that_is_gone_is_begun_anew(begun, learner, learner_client):
    DrillAttempt.objects.update(version=9)
    assert drilling.open_attempt(learner, drills()["1.1"]) is None
    learner_client.post(f"{URL}begin/")
    assert DrillAttempt.objects.get().version == 2
