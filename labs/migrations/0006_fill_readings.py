"""Give every review an address of its own, and an outcome to each that was released."""

import uuid

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def fill(apps: Apps, _editor: BaseDatabaseSchemaEditor) -> None:
    review, outcome = (apps.get_model("labs", name) for name in ("Review", "ReviewOutcome"))
    for row in review.objects.filter(public_id=None).iterator():
        review.objects.filter(pk=row.pk).update(public_id=uuid.uuid4())
    for row in review.objects.exclude(released_at=None).iterator():
        outcome.objects.get_or_create(
            attempt_id=row.attempt_id,
            defaults={
                "points": row.points,
                "comment": row.comment,
                "released_at": row.released_at,
            },
        )


class Migration(migrations.Migration):
    dependencies = [("labs", "0005_several_readings")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
