"""The entry point that the web server serves."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "courseware.settings")

application = get_asgi_application()

# Only a loaded Django can import it.
from courseware.readiness import read_everything  # noqa: E402

read_everything()
