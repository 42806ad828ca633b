from django.db import migrations, models


class Migration(migrations.Migration):
    """The first of three: a guess may be more than a number."""

    dependencies = [("lessons", "0006_review_mails")]

    operations = [
        migrations.AddField(
            model_name="predictioncommit", name="guess", field=models.JSONField(null=True)
        ),
        # So that the third can be taken back.
        migrations.AlterField(
            model_name="predictioncommit", name="value", field=models.FloatField(null=True)
        ),
        migrations.AlterField(
            model_name="predictioncommit",
            name="why",
            field=models.CharField(blank=True, max_length=300),
        ),
    ]
