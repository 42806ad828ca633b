"""Points were stored by place, and are stored by the key of the rubric's item: what each place meant until now."""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

KEYS = {
    "a-crowd-at-noon": "slots numbers price-of-the-change refutation",
    "answers-break-off": "size-against-free numbers why-it-now-succeeds verified-long-enough refutation",
    "answers-crawl": "step numbers who-waits refutation",
    "answers-fail-in-waves": "allocation free-before-and-after why-the-change verified-over-minutes refutation",
    "answers-in-fits-and-starts": "factor numbers-and-pool change-and-cap refutation",
    "calls-given-up": "retries numbers price-of-the-change refutation",
    "calls-that-fail": "who-answers numbers engine-is-sound refutation",
    "fine-on-average": "one-by-one equal-share numbers refutation",
    "first-tokens-late": "what-is-short numbers price-of-the-change refutation",
    "first-word-waits": "computed-tokens tokens-into-time why-it-misses verified-twice refutation",
    "fuller-than-ever": "step numbers who-waits refutation",
    "good-and-bad-minutes": "comes-and-goes slower-or-busier numbers refutation",
    "late-in-turns": "which-requests numbers price-of-the-change refutation",
    "late-starts-and-hitches": "how-many-faults gap-from-parts what-would-be-left both-promises refutation",
    "memory-over-ninety": "which-memory numbers look-alikes act-or-not refutation",
    "not-to-the-end": "how-calls-end numbers why-every-answer-ends refutation",
    "one-box-at-full-tilt": "who-works why-that-one numbers refutation",
    "preemption-storm": "shortage-or-loop numbers what-it-could-not-help verified-both refutation",
    "slow-since-the-deploy": "phase one-gpu room verified-after-backlog refutation",
    "slow-to-begin": "replicas-first prefill-pays numbers refutation",
    "slower-by-the-token": "kernel part-of-a-step silence verified refutation",
    "stuttering-streams": "slow-steps gap-from-parts median verified refutation",
    "summaries-start-late": "replicas-first longer-steps-or-demand numbers refutation",
    "the-audit-complains": "is-anybody-hurt data-path cost-against-gain refutation",
    "the-engine-that-ends": "what-grew numbers ends-the-growth verified-long-enough refutation",
}
"""The items of each lab's rubric, in the order in which points were stored."""


def by_key(apps: Apps, _editor: BaseDatabaseSchemaEditor) -> None:
    for name in ("Review", "ReviewOutcome"):
        model = apps.get_model("labs", name)
        for row in model.objects.select_related("attempt").iterator():
            if isinstance(row.points, list):
                keys = KEYS.get(row.attempt.lab_slug, "").split()
                points = dict(zip(keys, row.points, strict=False))
                model.objects.filter(pk=row.pk).update(points=points)


def items_by_key(apps: Apps, _editor: BaseDatabaseSchemaEditor) -> None:
    """Name the items of changes and requests by key; they were named by their place from 1."""
    for name, slug in (
        ("PointsChange", "outcome__attempt__lab_slug"),
        ("RegradeRequest", "attempt__lab_slug"),
    ):
        model = apps.get_model("labs", name)
        for pk, item, lab_slug in model.objects.values_list("pk", "item", slug):
            keys = KEYS.get(lab_slug, "").split()
            if item.isdecimal() and 1 <= int(item) <= len(keys):
                model.objects.filter(pk=pk).update(item=keys[int(item) - 1])


def training_by_key(apps: Apps, _editor: BaseDatabaseSchemaEditor) -> None:
    """Name the items of training points by key; they were named by their place from 1."""
    for name, slug in (
        ("TrainingCase", "attempt__lab_slug"),
        ("TrainingAnswer", "case__attempt__lab_slug"),
    ):
        model = apps.get_model("labs", name)
        for pk, points, lab_slug in model.objects.values_list("pk", "points", slug):
            keys = KEYS.get(lab_slug, "").split()
            named = {str(place): key for place, key in enumerate(keys, 1)}
            model.objects.filter(pk=pk).update(
                points={named.get(key, key): given for key, given in points.items()}
            )


def by_place(apps: Apps, _editor: BaseDatabaseSchemaEditor) -> None:
    for name in ("Review", "ReviewOutcome"):
        model = apps.get_model("labs", name)
        for row in model.objects.select_related("attempt").iterator():
            if isinstance(row.points, dict):
                keys = KEYS.get(row.attempt.lab_slug, "").split()
                points = [row.points.get(key) for key in keys] if row.points else []
                model.objects.filter(pk=row.pk).update(points=points)


class Migration(migrations.Migration):
    dependencies = [("labs", "0011_rubric_editions")]

    operations = [
        migrations.RunPython(by_key, by_place),
        migrations.RunPython(items_by_key, migrations.RunPython.noop),
        migrations.RunPython(training_by_key, migrations.RunPython.noop),
    ]
