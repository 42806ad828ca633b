import uuid

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("labs", "0006_fill_readings")]

    operations = [
        migrations.AlterField(
            model_name="review",
            name="public_id",
            field=models.UUIDField(default=uuid.uuid4, editable=False, unique=True),
        ),
    ]
