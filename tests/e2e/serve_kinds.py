"""Serve the site with one lesson more, which asks every kind of check: ``serve_kinds PORT FOLDER``.

``FOLDER/sessions.json`` holds the sessions of people who are signed in, by role.
"""

import json
import os
import sys
from pathlib import Path

import django
from django.core.management import call_command

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "courseware.settings")
    django.setup()

    from django.test import Client

    from lessons import content
    from tests.factories import UserFactory
    from tests.lessons.kinds import lesson_of_kinds

    port, folder = sys.argv[1], Path(sys.argv[2])
    known, kinds = content.lessons(), lesson_of_kinds(folder / "content")
    content.lessons = lambda: {**known, "kinds": kinds}
    call_command("migrate", verbosity=0, skip_checks=True)
    sessions: dict[str, list[str]] = {"learner": [], "instructor": []}
    for role in ["learner"] * 12 + ["instructor"] * 2:
        client = Client()
        client.force_login(UserFactory(role=role), "django.contrib.auth.backends.ModelBackend")
        sessions[role].append(client.cookies["sessionid"].value)
    (folder / "sessions.json").write_text(json.dumps(sessions))
    call_command("runserver", f"127.0.0.1:{port}", use_reloader=False, skip_checks=True)
