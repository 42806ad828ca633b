from django.db import migrations, models


class Migration(migrations.Migration):
    """The third of three: every commit holds a guess, and no number beside it."""

    dependencies = [("lessons", "0008_numbers_are_guesses")]

    operations = [
        migrations.AlterField(
            model_name="predictioncommit", name="guess", field=models.JSONField()
        ),
        migrations.RemoveField(model_name="predictioncommit", name="value"),
    ]
