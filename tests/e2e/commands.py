"""Management commands of one site, one after the other: each line of the input is a JSON list, as is each answer.

To start Django anew for each costs more than a second.
"""

import json
import os
import sys
from contextlib import redirect_stdout
from io import StringIO

import django
from django.core.management import call_command

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "courseware.settings")
    django.setup()
    for line in sys.stdin:
        said = StringIO()
        with redirect_stdout(said):
            call_command(*json.loads(line), stdout=said)
        print(json.dumps(said.getvalue()), flush=True)
