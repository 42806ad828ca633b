"""The studio's pages, for instructors."""

import re

import pytest

from courseware.models import Draft, Version
from courseware.served import CHECKOUT
from courseware.studio import serving, store
from courseware.studio.drafts import begin
from courseware.studio.pieces import pieces_in
from labs.models import DraftProof
from tests.whole_course import publish_checkout

pytestmark = pytest.mark.django_db
SYMPTOM, LAB = "lessons/symptoms/4.6.md", "labs/preemption-storm"


@pytest.fixture
def course():
    publish_checkout()


@pytest.fixture
def draft(course, instructor):
    return begin(SYMPTOM, by=instructor)


@pytest.fixture
def lab_draft(course, instructor):
    return begin(LAB, by=instructor)


def page(client, address, status=200):
    answer = client.get(address)
    assert answer.status_code == status
    return answer.content.decode()


def send(client, draft, status=302, **typed):
    typed = {"file": next(iter(draft.texts)), "version": draft.version, "do": "save"} | typed
    answer = client.post(draft.get_absolute_url(), typed)
    assert answer.status_code == status, answer.content.decode()[:400]
    return answer.content.decode() if status != 302 else answer.url


def test_only_instructors_write(client, learner_client, grader_client, instructor_client, draft):
    addresses = ["/studio/", "/studio/new/", f"/studio/pieces/{SYMPTOM}/", draft.get_absolute_url()]
    addresses += [
        draft.get_absolute_url() + each for each in ("publish/", "proof/", "preview/?file=4.6.md")
    ]
    for address in addresses:
        assert client.get(address).status_code == 302
        assert learner_client.get(address).status_code == 403
        assert grader_client.get(address).status_code == 403
        assert instructor_client.get(address).status_code == 200, address
    assert "Studio" not in page(learner_client, "/labs/")


def test_the_shelves_show_every_piece_by_its_title_and_find_one(instructor_client, course):
    shown = page(instructor_client, "/studio/")
    assert "96 of 96" in shown or f"{len(pieces_in(CHECKOUT))} of" in shown
    assert "Split, eliminate, verify" in shown
    found = page(instructor_client, "/studio/?find=24-method")
    assert "1 of" in found
    assert "Nothing is called" in page(instructor_client, "/studio/?find=nosuchthing")


def test_a_site_without_versions_says_what_to_run(instructor_client):
    assert "manage.py sync_content" in page(instructor_client, "/studio/")


def test_a_draft_is_begun_saved_looked_at_and_published(instructor_client, course, client):
    answer = instructor_client.post(f"/studio/pieces/{SYMPTOM}/")
    draft = Draft.objects.get()
    assert answer.url == draft.get_absolute_url()
    text = draft.texts["4.6.md"].replace("A queue of loads", "A longer queue of loads")
    looked = instructor_client.post(
        draft.get_absolute_url() + "look/", {"file": "4.6.md", "text": text}
    )
    assert "A longer queue of loads" in looked.content.decode()
    assert Draft.objects.get().version == 0
    assert send(instructor_client, draft, text=text).endswith("?file=4.6.md")
    draft.refresh_from_db()
    publish = draft.get_absolute_url() + "publish/"
    shown = page(instructor_client, publish)
    assert "1 line added, 1 taken" in shown
    refused = instructor_client.post(publish, {"version": 1, "note": ""})
    assert refused.status_code == 422
    assert "Say what changed and why" in refused.content.decode()
    done = instructor_client.post(publish, {"version": 1, "note": "Longer."})
    assert done.url == f"/studio/pieces/{SYMPTOM}/"
    serving.refresh()
    assert "A longer queue of loads" in page(client, "/symptoms/4.6/")
    history = page(instructor_client, done.url)
    assert "Longer." in history
    assert "A longer queue of loads" in page(instructor_client, f"{done.url}versions/2/")


def test_what_would_break_the_course_is_refused_with_the_reason_and_the_note_is_kept(
    instructor_client, draft
):
    send(
        instructor_client,
        draft,
        text=draft.texts["4.6.md"].replace("toolkit/profilers", "toolkit/nowhere"),
    )
    answer = instructor_client.post(
        draft.get_absolute_url() + "publish/", {"version": 1, "note": "kept"}
    )
    said = answer.content.decode()
    assert answer.status_code == 422
    assert "Not published." in said
    assert "toolkit/nowhere" in said
    assert "kept</textarea>" in said
    assert Version.objects.filter(piece=SYMPTOM).count() == 1


def test_a_save_from_an_older_page_keeps_what_was_typed_and_shows_both(instructor_client, draft):
    send(instructor_client, draft, text="theirs")
    said = send(instructor_client, draft, 409, text="mine <b>")
    assert "Not saved" in said
    assert "mine &lt;b&gt;</textarea>" in said
    assert "theirs" in said
    assert 'name="version" value="1"' in said
    assert Draft.objects.get().texts["4.6.md"] == "theirs"


def test_a_mistake_stands_beside_the_text_and_can_be_saved(instructor_client, draft):
    said = instructor_client.post(
        draft.get_absolute_url() + "look/", {"file": "4.6.md", "text": "no head"}
    ).content.decode()
    assert "1 mistake" in said
    assert "4.6.md" in said
    send(instructor_client, draft, text="no head")
    assert "1 mistake" in page(instructor_client, draft.get_absolute_url())


def test_html_of_a_draft_does_nothing_in_its_preview(instructor_client, draft):
    text = draft.texts["4.6.md"] + "\n<script>alert(1)</script> <img src=x onerror=alert(1)>\n"
    said = instructor_client.post(
        draft.get_absolute_url() + "look/", {"file": "4.6.md", "text": text}
    )
    assert "<script>alert" not in said.content.decode()
    assert "onerror=alert(1)>" not in said.content.decode()


def test_a_version_that_came_first_is_shown_and_followed(instructor_client, draft, instructor):
    other = begin(SYMPTOM, by=instructor)
    text = other.texts["4.6.md"]
    send(instructor_client, other, text=text + "\nFirst.\n")
    instructor_client.post(
        other.get_absolute_url() + "publish/", {"version": 1, "note": "came first"}
    )
    send(instructor_client, draft, text=text + "\nSecond.\n")
    publish = draft.get_absolute_url() + "publish/"
    shown = page(instructor_client, publish)
    assert "Version 2 came first" in shown
    assert "came first" in shown
    assert instructor_client.post(publish, {"version": 1, "note": "x"}).status_code == 409
    seen = {"version": 1, "newest": 2, "note": "Mine & yours."}
    answer = instructor_client.post(draft.get_absolute_url() + "take-over/", seen)
    assert "Mine &amp; yours." in page(instructor_client, answer.url)
    assert "Version 2 came first" not in page(instructor_client, publish)
    instructor_client.post(publish, {"version": 2, "note": "second"})
    assert store.newest_of(SYMPTOM).number == 3


def test_files_of_a_folder_are_added_and_taken_away(instructor_client, lab_draft):
    files = lab_draft.get_absolute_url() + "files/"
    answer = instructor_client.post(
        files, {"version": 0, "name": "plays/new-one.toml", "do": "add"}
    )
    assert answer.url.endswith("?file=plays/new-one.toml")
    assert "title is missing" in page(instructor_client, answer.url)
    bad = instructor_client.post(files, {"version": 1, "name": "../evil.md", "do": "add"})
    assert bad.status_code == 422
    assert "../evil.md" in bad.content.decode()
    assert "end it with .md or .toml" in bad.content.decode()
    instructor_client.post(files, {"version": 1, "name": "plays/new-one.toml", "do": "remove"})
    lab_draft.refresh_from_db()
    assert "plays/new-one.toml" not in lab_draft.texts


@pytest.mark.parametrize(
    ("typed", "fault"),
    [
        ({"kind": "lab", "name": "Bad Name", "clone_of": LAB}, "is no name of a lab"),
        ({"kind": "lab", "name": "mine", "clone_of": ""}, "Choose the lab that it begins as"),
        ({"kind": "lab", "name": "preemption-storm", "clone_of": LAB}, "is there already"),
        ({"kind": "lesson", "name": "mine", "clone_of": ""}, "its unit and its own folder"),
        ({"kind": "symptom", "name": "1.30", "clone_of": LAB}, "That is no symptom"),
        ({"kind": "", "name": "", "clone_of": ""}, "Say what it is called"),
    ],
)
def test_a_new_piece_that_cannot_be_is_refused_with_what_can(
    instructor_client, course, typed, fault
):
    answer = instructor_client.post("/studio/new/", typed)
    assert answer.status_code == 422
    assert fault in answer.content.decode()
    assert not Draft.objects.exists()


def test_a_clone_is_a_draft_of_its_own(instructor_client, course):
    assert f'value="{LAB}" selected' in page(instructor_client, f"/studio/new/?clone={LAB}")
    answer = instructor_client.post(
        "/studio/new/", {"kind": "lab", "name": "my-storm", "clone_of": LAB}
    )
    made = Draft.objects.get()
    assert answer.url == made.get_absolute_url()
    assert made.piece == "labs/my-storm"
    assert "my-storm" in page(instructor_client, answer.url)


def test_a_draft_is_thrown_away(instructor_client, draft):
    instructor_client.post(draft.get_absolute_url() + "throw-away/", {"version": 7})
    assert Draft.objects.exists()
    instructor_client.post(draft.get_absolute_url() + "throw-away/", {"version": 0})
    assert not Draft.objects.exists()


# ------------------------------------------------------------------------------------------ proving


@pytest.fixture(autouse=True)
def sent(monkeypatch):
    """The messages that reached the broker."""
    messages = []
    monkeypatch.setattr("labs.outbox.post", lambda pk, task="": messages.append((task, pk)))
    return messages


def test_a_lab_is_proved_on_the_workers_and_nothing_else_is(
    instructor_client, lab_draft, draft, sent
):
    assert instructor_client.post(draft.get_absolute_url() + "prove/").status_code == 404
    answer = instructor_client.post(lab_draft.get_absolute_url() + "prove/")
    assert answer.url == lab_draft.get_absolute_url() + "proof/"
    proof = DraftProof.objects.get()
    assert sent == [("labs.tasks.carry_on_draft_proof", proof.pk)]
    assert "Waiting for a worker" in page(instructor_client, answer.url)
    DraftProof.objects.update(doing="preemption-storm, plays: 12 of 96")
    shown = page(instructor_client, answer.url)
    assert 'max="96" value="12"' in shown
    instructor_client.post(lab_draft.get_absolute_url() + "proof/cancel/")
    assert "Cancelled" in page(instructor_client, answer.url)
    instructor_client.post(lab_draft.get_absolute_url() + "prove/")
    assert DraftProof.objects.get().status == "running"


def test_a_spec_that_cannot_be_read_is_not_proved(instructor_client, lab_draft):
    text = lab_draft.texts["lab.toml"].replace("minutes = 40", "minutes = -1")
    send(instructor_client, lab_draft, file="lab.toml", text=text, do="prove")
    assert not DraftProof.objects.exists()


def test_a_lab_whose_worlds_changed_is_not_published_without_a_proof(instructor_client, lab_draft):
    text = lab_draft.texts["lab.toml"]
    changed = re.sub(r"budget_s = 3300", "budget_s = 3360", text, count=1)
    assert changed != text
    send(instructor_client, lab_draft, file="lab.toml", text=changed)
    answer = instructor_client.post(
        lab_draft.get_absolute_url() + "publish/", {"version": 1, "note": "x"}
    )
    assert answer.status_code == 422
    assert "follows from another spec; run: manage.py prove" in answer.content.decode()


def test_a_lab_whose_brief_changed_is_published_with_the_proof_that_it_has(
    instructor_client, lab_draft
):
    send(
        instructor_client,
        lab_draft,
        file="brief.md",
        text=lab_draft.texts["brief.md"] + "\nClearer.\n",
    )
    instructor_client.post(
        lab_draft.get_absolute_url() + "publish/", {"version": 1, "note": "clearer"}
    )
    newest = store.newest_of(LAB)
    assert newest.number == 2
    assert "proof.json" in newest.files


# ------------------------------------------------------------------------------------------- trying


def test_a_trial_shows_its_author_the_draft_and_nobody_else(
    instructor_client, client, draft, learner_client
):
    text = draft.texts["4.6.md"].replace("A queue of loads", "A trial of loads")
    answer = send(instructor_client, draft, text=text, do="try")
    assert answer == "/symptoms/4.6/"
    shown = page(instructor_client, answer)
    assert "A trial of loads" in shown
    assert "You are trying a draft" in shown
    for other in (client, learner_client):
        assert "A trial of loads" not in page(other, answer)
    ended = instructor_client.post("/studio/trial/end/")
    assert ended.url == draft.get_absolute_url()
    assert "A trial of loads" not in page(instructor_client, answer)


def test_what_does_not_load_is_not_tried(instructor_client, draft):
    said = send(instructor_client, draft, 422, text="no head", do="try")
    assert "It cannot be tried yet" in said
    assert "trial" not in instructor_client.session


def test_a_trial_of_a_draft_that_is_gone_is_the_course_as_it_is(instructor_client, draft):
    send(instructor_client, draft, text=draft.texts["4.6.md"] + "\nTrial.\n", do="try")
    from courseware.models import DraftState

    DraftState.objects.all().delete()
    assert "Trial." not in page(instructor_client, "/symptoms/4.6/")


def test_what_was_typed_in_a_draft_that_is_gone_is_handed_back(instructor_client, draft):
    address, typed = draft.get_absolute_url(), {"piece": SYMPTOM, "file": "4.6.md", "version": 1}
    draft.delete()
    answer = instructor_client.post(address, typed | {"text": "What I wrote."})
    assert answer.status_code == 410
    assert "What I wrote." in answer.content.decode()
    assert f"/studio/pieces/{SYMPTOM}/" in answer.content.decode()
    looked = instructor_client.post(f"{address}look/", typed | {"text": "What I wrote."})
    assert "Copy what you typed" in looked.content.decode()
    assert instructor_client.get(address).status_code == 404


def test_a_sign_that_no_text_has_is_refused_and_the_text_kept(instructor_client, draft):
    text = draft.texts["4.6.md"] + "\nPasted \x00 here.\n"
    said = send(instructor_client, draft, status=422, text=text)
    assert "holds U+0000" in said
    assert "here." in said


def test_a_lesson_opens_at_its_first_station(instructor_client, course, instructor):
    lesson = begin("lessons/02-playbook/24-method", by=instructor)
    assert "<title>01-split.md" in page(instructor_client, lesson.get_absolute_url())


def test_a_lab_that_cannot_be_read_is_refused_with_its_line(instructor_client, lab_draft):
    text = lab_draft.texts["lab.toml"].replace("title = ", "titles = ", 1)
    send(instructor_client, lab_draft, file="lab.toml", text=text)
    lab_draft.refresh_from_db()
    sent = {"version": lab_draft.version, "note": "Titles."}
    answer = instructor_client.post(f"{lab_draft.get_absolute_url()}publish/", sent)
    assert answer.status_code == 422
    assert "preemption-storm/lab.toml:" in answer.content.decode()
    assert "Titles." in answer.content.decode()


def test_a_clone_is_published_only_with_a_number_of_its_own(instructor_client, course):
    instructor_client.post("/studio/new/", {"kind": "lab", "name": "a-storm", "clone_of": LAB})
    clone = Draft.objects.get()
    publish = clone.get_absolute_url() + "publish/"
    refused = instructor_client.post(publish, {"version": 0, "note": "x"}).content.decode()
    assert "a-storm/lab.toml: number: 1 is the number of preemption-storm; write another" in refused
    assert not Version.objects.filter(piece="labs/a-storm").exists()


def test_a_draft_proof_that_fails_may_be_asked_for_on_more_seeds(
    instructor_client, lab_draft, sent
):
    address = lab_draft.get_absolute_url() + "prove/"
    instructor_client.post(address)
    DraftProof.objects.update(
        status="done", holds=False, report={"lines": [], "values": [], "admitted": 3, "cpu_s": 1.0}
    )
    shown = page(instructor_client, lab_draft.get_absolute_url() + "proof/")
    assert "Prove it on forty seeds" in shown
    instructor_client.post(address)
    assert DraftProof.objects.get().status == "done"
    instructor_client.post(address, {"level": "full"})
    proof = DraftProof.objects.get()
    assert (proof.status, proof.level) == ("running", "full")
    assert len(sent) == 2
