"""What marking simulates, kept as JSON: the same mark comes out of it, whenever."""

import json
from dataclasses import asdict, replace

import pytest

from labs import plays, pool, reruns
from labs.judgement import judge


@pytest.fixture(scope="module")
def done(spec, seeds):
    """The demand world, handled by the reference and once by another change: log, reference and re-runs of each."""
    route = plays.reference_route(spec, seeds["demand"], hypothesis="demand")
    found = {}
    for name in ("reference", "cap-where-demand-is-the-cause"):
        play = plays.load_play(spec.slug, name)
        world, log = plays.perform(spec, seeds["demand"], play, hypothesis="demand")
        runs = reruns.rerun(spec, "demand", seeds["demand"], log, reference=route)
        found[name] = log, reruns.Kept(runs, route, world.world.cluster.digest())
    return found


@pytest.mark.parametrize("name", ["reference", "cap-where-demand-is-the-cause"])
def test_kept_and_loaded_they_give_the_same_mark(spec, seeds, done, name):
    log, kept = done[name]
    loaded = reruns.load(json.loads(json.dumps(reruns.dump(kept))))
    assert loaded.reruns == kept.reruns
    assert loaded.reference.steps == kept.reference.steps

    def mark(of):
        return judge(
            spec,
            seeds["demand"],
            log,
            table=pool.table(spec.slug),
            reference=of.reference,
            runs=of.reruns,
            live_digest=of.live_digest,
            hypothesis="demand",
        )

    assert json.dumps(asdict(mark(loaded))) == json.dumps(asdict(mark(kept)))


def test_what_was_stored_in_another_form_is_not_read(done):
    _, kept = done["cap-where-demand-is-the-cause"]
    assert reruns.load({**reruns.dump(kept), "format": 0}) is None


def test_nothing_in_force_is_no_change(done):
    _, kept = done["cap-where-demand-is-the-cause"]
    assert kept.reruns.changed
    assert not replace(kept.reruns, in_force=()).changed
