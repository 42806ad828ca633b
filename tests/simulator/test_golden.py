"""A storm on Atlas, step by step, as it was when it was last looked at.

``python -m tests.simulator.test_golden`` writes the file anew: do it only for a change that is
meant to change what the engine does, and say in the commit what changed.
"""

import gzip
import hashlib
import json
from pathlib import Path

from labs.simulator.cost_model import profile
from labs.simulator.engine import Engine
from labs.simulator.scheduler import EngineConfig
from labs.simulator.workload import Workload, WorkloadSpec
from tests.simulator.worlds import CHAT

PATH = Path(__file__).parents[1] / "golden" / "atlas-storm.json.gz"


def storm(*, closed_form):
    """Three minutes at three times what the pool can carry, the gate off."""
    atlas = profile("atlas-70b")
    config = EngineConfig(
        num_gpu_blocks=atlas.num_gpu_blocks(), max_num_seqs=256, scheduler_reserve_full_isl=False
    )
    served = Engine(config, atlas.cost_model(), closed_form=closed_form)
    for request in Workload(WorkloadSpec(((0.0, 1.2),), (CHAT,)), "golden").until(180.0):
        served.submit(request)
    return served


def recorded():
    """Return the steps in which something happened, and a digest of all steps."""
    steps, digest = [], hashlib.sha256()

    def note(step):
        digest.update(repr(step).encode())
        if step.admitted or step.preempted or step.finished:
            steps.append(
                [step.step, step.end_s, step.prefill_tokens, step.kv_tokens, step.running, step.waiting,
                 step.free_blocks, list(step.admitted), list(step.preempted), list(step.finished)]
            )  # fmt: skip

    served = storm(closed_form=True)
    served.on_step = note
    served.advance(180.0)
    return {
        "digest": digest.hexdigest(),
        "preemptions": served._timeline.preemptions,
        "steps": steps,
    }


def test_a_storm_on_atlas_is_what_it_was():
    theirs = json.loads(gzip.decompress(PATH.read_bytes()))
    ours = json.loads(json.dumps(recorded()))
    assert ours["preemptions"] > 100
    for our_step, their_step in zip(ours["steps"], theirs["steps"], strict=True):
        assert our_step == their_step
    assert ours == theirs


def test_a_storm_on_atlas_is_the_same_in_closed_form():
    whole, stepped = storm(closed_form=True), storm(closed_form=False)
    for served in (whole, stepped):
        served.advance(180.0)
    assert whole.state() == stepped.state()


if __name__ == "__main__":
    PATH.write_bytes(gzip.compress(json.dumps(recorded()).encode(), mtime=0))
