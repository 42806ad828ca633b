"""A web process has read what its first reader would wait for."""

import pytest

from courseware import asgi
from courseware.glossary import glossary
from courseware.readiness import read_everything
from courseware.served import tree
from labs.catalogue import labs
from lessons import content, search
from lessons.drills.spec import drills
from lessons.symptoms import symptoms

pytestmark = pytest.mark.django_db
READ = (glossary, content.course, labs, drills, symptoms, search.index)


def test_no_reader_waits_for_the_course_to_be_read(learner_client):
    read_everything()
    before = [len(tree().memory[read]) for read in READ]
    for page in ("/", "/lessons/", "/you/", "/review/", "/search/?q=queue", "/labs/"):
        assert learner_client.get(page).status_code == 200
    assert [len(tree().memory[read]) for read in READ] == before


def test_the_web_server_takes_traffic_only_then():
    assert asgi.read_everything is read_everything
