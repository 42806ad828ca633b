"""A lab's page offers a real engine where its scale is proved; an attempt that begins there is a live one, and stays one."""

import pytest
from django.urls import reverse

from courseware import served
from courseware.models import Version
from courseware.served import CHECKOUT
from courseware.studio import drafts, serving, store, trials
from courseware.studio.pieces import files_at
from labs import attempts, leases, pool
from labs.catalogue import lab, labs, live_keys
from labs.models import Attempt, Lease
from tests.factories import AttemptFactory
from tests.labs.in_the_room import text
from tests.labs.leasing import box_is_up, published  # noqa: F401  (a fixture)

pytestmark = pytest.mark.django_db
SLUG = "preemption-storm"
KEY = f"{SLUG}/live"
OFFER = "Start a real engine"


def page_of(client, slug=SLUG):
    return text(client.get(reverse("labs:lab", args=[slug])))


def take_live(client, slug=SLUG):
    return client.post(reverse("labs:start", args=[slug]), {"backend": "live"}, follow=True)


def without_live():
    return next(slug for slug in labs() if f"{slug}/live" not in live_keys())


def test_a_lab_that_runs_live_says_so_and_on_what(learner_client):
    page = page_of(learner_client)
    assert OFFER in page
    assert lab(KEY).live.about in page
    assert "No box is up now: you would wait for one." in page


def test_a_box_that_is_up_leaves_nothing_to_wait_for(learner_client):
    box_is_up()
    page = page_of(learner_client)
    assert OFFER in page
    assert "No box is up now" not in page


def test_a_box_of_another_kind_is_none_to_wait_for(learner_client):
    box_is_up("gpu-1", profile="h100-nvl-4")
    assert "No box is up now: you would wait for one." in page_of(learner_client)


def test_a_lab_without_a_live_folder_offers_none_and_starts_none(learner_client):
    slug = without_live()
    assert OFFER not in page_of(learner_client, slug)
    page = text(take_live(learner_client, slug))
    assert "This lab runs on no real engine now. It is simulated here." in page
    assert not Attempt.objects.exists()


def test_a_scale_that_is_not_proved_is_not_offered(learner_client, monkeypatch):
    admitted = pool.admitted

    def unproved(key):
        if key == KEY:
            raise pool.NotProved
        return admitted(key)

    monkeypatch.setattr(pool, "admitted", unproved)
    assert OFFER not in page_of(learner_client)
    take_live(learner_client)
    assert not Attempt.objects.exists()


def test_taking_it_begins_a_live_attempt_that_waits_for_its_lease(learner, learner_client):
    response = take_live(learner_client)
    attempt = Attempt.objects.get()
    assert (attempt.backend, attempt.learner) == ("live", learner)
    assert attempt.seed in pool.admitted(KEY)
    assert Lease.objects.get().attempt == attempt
    assert "You wait for an engine" in text(response)


def test_a_simulated_attempt_that_is_open_is_gone_on_with(learner, learner_client, monkeypatch):
    simulated = attempts.start_attempt(learner=learner, spec=labs()[SLUG])
    page = page_of(learner_client)
    assert OFFER not in page
    assert "The incident clock stands still while you are away." in page
    take_live(learner_client)
    assert Attempt.objects.get() == simulated
    assert not Lease.objects.exists()


def test_a_live_attempt_that_is_open_is_gone_on_with_whatever_is_asked(learner, learner_client):
    take_live(learner_client)
    learner_client.post(reverse("labs:start", args=[SLUG]))
    attempt = Attempt.objects.get()
    assert attempt.is_live
    assert Lease.objects.count() == 1
    assert "its clock goes on while you are away" in page_of(learner_client)


def test_a_quota_that_refuses_leaves_the_attempt_and_says_why(learner, learner_client, settings):
    settings.LIVE_PER_PERSON_DAY_S = 0
    page = text(take_live(learner_client))
    assert Attempt.objects.get().is_live
    assert not Lease.objects.exists()
    assert "within the last 24 hours" in page


# ------------------------------------------------------------------------------ which lab it is


def test_a_live_attempt_reads_the_lab_at_the_scale_of_a_real_engine(learner):
    attempt = AttemptFactory(learner=learner, backend="live")
    assert attempt.lab_key == KEY
    assert attempt.spec == lab(KEY)
    assert AttemptFactory(learner=learner).spec == labs()[SLUG]


@pytest.fixture
def rewritten(settings, tmp_path):
    """A second version, with other words about the engine."""
    settings.RUN_DIR = tmp_path
    path, first = f"labs/{SLUG}", files_at(CHECKOUT.labs / SLUG)
    about = lab(KEY).live.about.encode()
    assert about in first["live/live.toml"]
    second = {
        **first,
        "live/live.toml": first["live/live.toml"].replace(about, b"another machine"),
    }
    for base, files in enumerate((first, second)):
        store.add({path: files}, seen=base, bases={path: base}, origin=Version.Origin.STUDIO)
    serving.refresh()


def test_a_live_attempt_stays_on_the_version_that_it_began_with(learner, rewritten):
    old = AttemptFactory(learner=learner, backend="live", lab_version=1)
    new = AttemptFactory(learner=learner, backend="live", lab_version=2)
    assert new.spec.live.about == "another machine"
    assert old.spec.live.about != "another machine"
    assert old.lab_key.endswith("/live")
    assert old.lab_key.startswith(f"{SLUG}@")
    assert old.spec.slug == SLUG


def test_a_live_attempt_at_a_draft_reads_the_draft(learner, instructor, rewritten, monkeypatch):
    monkeypatch.setattr("labs.pool.admitted", lambda key: (1,))
    trials._tree.cache_clear()
    draft = drafts.begin(f"labs/{SLUG}", by=instructor)
    changed = draft.texts["live/live.toml"].replace("another machine", "a tried machine")
    drafts.save(draft, version=0, by=instructor, texts={"live/live.toml": changed})
    draft.refresh_from_db()
    state = drafts.state_to_try(draft)
    with served.trying(trials.tree_with(state)):
        tried = leases.begin(learner=instructor, spec=lab(KEY))
    found = Attempt.objects.get(pk=tried.pk)
    assert found.is_live
    assert found.lab_key.endswith("/live")
    assert found.spec.live.about == "a tried machine"
