from typing import Any

from django.db import migrations


def fill(apps: Any, _: Any) -> None:
    commits = apps.get_model("lessons", "PredictionCommit").objects.filter(guess=None)
    for commit in commits.only("pk", "value").iterator():
        commit.guess = commit.value
        commit.save(update_fields=["guess"])


def restore(apps: Any, _: Any) -> None:
    commits = apps.get_model("lessons", "PredictionCommit").objects
    for commit in commits.only("pk", "guess").iterator():
        # Only numbers had been guessed; another kind has no value to go back to.
        commit.value = commit.guess if isinstance(commit.guess, int | float) else 0.0
        commit.save(update_fields=["value"])


class Migration(migrations.Migration):
    """The second of three: what was guessed so far was a number."""

    dependencies = [("lessons", "0007_guesses_of_every_kind")]

    operations = [migrations.RunPython(fill, restore)]
