"""How long a round of marking anew takes: real attempts, played and marked once, stored many times over.

``python -m benchmarks.remark_round [ATTEMPTS]`` (1,000) plays the reference and a counterexample of eight labs, stores
them in a database of its own until there are ATTEMPTS, has a round look at all of them under rules by which every
mitigation earns a point more, applies it and undoes it, and prints a line of JSON with seconds of each and marks a second.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import tempfile
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

LABS = 8


def main(attempts: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DATABASE_URL"] = f"sqlite:///{Path(folder) / 'remark.sqlite3'}"
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "courseware.settings")
        import django  # noqa: PLC0415

        django.setup()
        from django.core.management import call_command  # noqa: PLC0415

        call_command("migrate", verbosity=0)
        print(json.dumps(measured(attempts)))  # noqa: T201  (what a benchmark is for)


def measured(attempts: int) -> dict[str, Any]:
    """Store the attempts and return the seconds that each phase of a round took."""
    from labs import marks, remarker, remarking  # noqa: PLC0415
    from labs.models import Attempt, Remarking  # noqa: PLC0415

    slugs = store(attempts)
    real = marks.judge

    def kinder(*args: Any, **kwargs: Any) -> Any:
        found = real(*args, **kwargs)
        parts = [
            {**part, "earned": part["earned"] + 1} if part["name"] == "mitigation" else part
            for part in found.parts
        ]
        return replace(found, parts=parts, total=(found.total or 0) + 1)

    marks.judge = kinder

    def timed(work: Callable[[], object]) -> float:
        begun = time.perf_counter()
        work()
        return round(time.perf_counter() - begun, 2)

    found = remarking.ask(slugs, send=False)
    looked_s = timed(lambda: remarker.carry_on(found.pk))
    found.refresh_from_db()
    assert found.status == Remarking.Status.READY, found.status  # noqa: S101
    remarking.apply(found, reason="a benchmark", send=False)
    applied_s = timed(lambda: remarker.carry_on(found.pk))
    moved = Attempt.objects.filter(mark_version=2).count()
    found.refresh_from_db()
    remarking.undo(found, send=False)
    undone_s = timed(lambda: remarker.carry_on(found.pk))
    return {
        "attempts": found.of,
        "moved": moved,
        "looked_s": looked_s,
        "applied_s": applied_s,
        "undone_s": undone_s,
        "marks_per_s": round(found.of / looked_s, 1),
    }


def store(attempts: int) -> list[str]:
    """Play, mark and store; return the slugs of the labs."""
    from courseware.models import User  # noqa: PLC0415
    from labs import marks, plays, pool, reruns, worlds  # noqa: PLC0415
    from labs.catalogue import labs  # noqa: PLC0415
    from labs.judgement import judge  # noqa: PLC0415
    from labs.mark_diff import plain  # noqa: PLC0415
    from labs.models import Action, Attempt  # noqa: PLC0415

    slugs, played = list(labs())[:LABS], []
    for slug in slugs:
        spec, seed = labs()[slug], pool.admitted(slug)[0]
        truth = worlds.hypothesis_of(spec, seed)
        route = plays.reference_route(spec, seed)
        scripts = [plays.load_play(slug, name) for name in plays.names(slug)]
        for play in [each for each in scripts if each.has(truth)][:2]:
            world, log = plays.perform(spec, seed, play)
            runs = reruns.rerun(spec, truth, seed, log, reference=route)
            kept = reruns.Kept(runs, route, world.world.cluster.digest())
            judgement = judge(
                spec, seed, log, table=pool.table(slug), reference=route, runs=runs,
                live_digest=kept.live_digest,
            )  # fmt: skip
            played.append((spec, seed, truth, log, kept, plain(asdict(judgement))))
    learner = User.objects.create_user("benchmark@demo.invalid")
    for number, (spec, seed, truth, log, kept, mark) in zip(
        range(1, attempts + 1), itertools.cycle(played), strict=False
    ):
        attempt = Attempt.objects.create(
            learner=learner, lab_slug=spec.slug, lab_version=1, seed=seed, number=number,
            status=Attempt.Status.MARKED, mark=mark, total=mark["total"], mark_version=1,
        )  # fmt: skip
        Action.objects.bulk_create(
            Action(
                attempt=attempt, seq=seq, kind=entry.kind, payload=entry.payload, outcome=entry.outcome,
                status=Action.Status.DONE, at_s=entry.at_s, cost_s=entry.cost_s,
            )
            for seq, entry in enumerate(log)
        )  # fmt: skip
        marks.keep(attempt, kept, truth)
    return slugs


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
