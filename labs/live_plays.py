"""A play carried out on a real engine, and marked: what `manage.py live LAB --as PLAY` does, without a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs import plays, recorded, worlds
from labs.incident import advance
from labs.judgement import judge
from labs.live import beginning, records
from labs.log import operations_of
from labs.reruns import rerun

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from labs.judgement import Judgement
    from labs.live.boxes import Box
    from labs.log import Entry
    from labs.marking.table import Table
    from labs.plays import Play
    from labs.specs import LabSpec

    type Tell = Callable[[float, str], None]


def played(
    spec: LabSpec, seed: int, play: Play, *, box: Box, folder: Path, table: Table, tell: Tell
) -> tuple[Judgement, list[Entry]]:
    """Return the judgement of a play on a real engine, watched for as long as the mark looks, and its log.

    Takes as long as the play does, in real time. Raises EngineError, PlayError, BoxError; no process is left behind.
    """
    truth = worlds.hypothesis_of(spec, seed)
    world = beginning.waking(spec, seed, box, folder=folder)
    cluster = beginning.cluster_of(world)
    try:
        beginning.begin(world, tell)
        beginning.come_to_page(world, tell)
        log = plays.carry_out(beginning.at_now(world), play, truth, tell)
        plan = spec.mitigation
        done_s = max((entry.at_s for entry in log), default=0)
        now_s = beginning.at_now(world).clock_s
        advance(world, now_s + plan.settle_s + plan.window_s + plan.follow_s, tell)
        raw = records.bytes_of(records.dump(world, about={"box": box.name}))
    finally:
        cluster.close()
    left = records.incident_of(spec, truth, seed, world.fleet, raw)
    reference = plays.reference_route(spec, seed)
    runs = rerun(spec, truth, seed, log, reference=reference)
    changes = [each for each in operations_of(log) if each.operation["verb"] != "slowdown"]
    twin = recorded.told_twin(
        left,
        done_s,
        since_s=changes[0].at_s if changes else None,
        parameter=runs.now.parameter,
        in_force=runs.now.in_force,
    )
    return (
        judge(
            spec,
            seed,
            log,
            table=table,
            reference=reference,
            runs=recorded.with_watched(runs, twin),
            live_digest=twin.digest,
            hypothesis=truth,
        ),
        log,
    )
