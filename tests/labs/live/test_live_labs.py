"""Every lab that runs on a real engine: it can be read, started, asked and broken there, and nothing in it is invented."""

import pytest

from labs import incident
from labs.catalogue import lab, live_keys
from labs.console import Command, parse
from labs.instruments.registry import signal_values
from labs.instruments.take import take
from labs.live import boxes, records
from labs.live.launching import launch_of
from labs.live.readings import OF_THE_ENGINE, OF_THE_RECORD
from labs.plays import load_play
from labs.worlds import build

SEED = 1
SHOWN_OF_STEPS = {"largest_prefill_tokens"}
"""What the engine's own log tells of its steps."""

pytestmark = pytest.mark.parametrize("key", live_keys())


def priced(spec):
    return {name: each for name, each in spec.instruments.items() if not each.is_panel}


def test_it_says_what_runs_and_where(key):
    spec = lab(key)
    assert spec.live is not None
    assert len(spec.live.about) > 40
    for name in spec.live.boxes:
        box = boxes.for_profile(boxes.box(name), spec.fleet.profile)
        assert box.simulator_profile == spec.fleet.profile


def test_its_engine_can_be_started_as_drawn_and_as_every_change_leaves_it(key, tmp_path):
    spec = lab(key)
    box = boxes.for_profile(boxes.box(spec.live.boxes[0]), spec.fleet.profile)
    for change in (None, *spec.changes.values()):
        world = incident.begin(spec, SEED, hypothesis="healthy")
        if change is not None:
            incident.perform(world, parse(change.command), 0, lambda *_: None)
        config = world.fleet.config
        argv = launch_of(box, config, port=1, log_path=tmp_path / "log", as_written=True).argv
        assert "--max-num-batched-tokens" in argv
        assert config.max_num_batched_tokens >= config.max_num_seqs, change
        assert config.num_gpu_blocks > config.max_model_len // config.block_size, change


def test_every_line_of_it_is_understood(key):
    spec = lab(key)
    for each in (*spec.instruments.values(), *spec.changes.values()):
        assert isinstance(parse(each.command), Command), each.command


def test_every_instrument_is_answered_by_the_engine_or_by_the_record(key):
    for name, each in priced(lab(key)).items():
        command = parse(each.command)
        assert command.verb in OF_THE_ENGINE | OF_THE_RECORD, name
        if command.verb == "steps":
            assert set(each.signals) <= SHOWN_OF_STEPS


def test_every_instrument_takes_the_windows_of_the_lab_and_shows_what_it_says(key):
    spec = lab(key)
    world = incident.begin(spec, SEED, hypothesis=spec.served[0])
    for name, each in priced(spec).items():
        shown = take(world.view, parse(each.command))
        assert set(shown.signals) & set(spec.signals) <= set(each.signals), name
        if parse(each.command).verb != "steps":
            assert "5 min" not in shown.text, name


def test_every_signal_of_it_can_be_told_from_a_record(key):
    spec = lab(key)
    world = incident.begin(spec, SEED, hypothesis=spec.served[0])
    raw = records.bytes_of(records.dump(world, about={}))
    told = records.incident_of(spec, spec.served[0], SEED, world.fleet, raw)
    seen = signal_values(world.view, spec.signals)
    assert signal_values(told.view, spec.signals) == pytest.approx(seen)


def test_no_signal_is_left_that_nothing_shows(key):
    spec = lab(key)
    shown = {signal for each in priced(spec).values() for signal in each.signals}
    looked_at = {b.signal for each in spec.hypotheses.values() for b in each.answer.cause_gone}
    assert set(spec.signals) <= shown | looked_at


def test_a_served_world_is_one_that_a_real_engine_can_be_put_into(key):
    spec = lab(key)
    for name in spec.served:
        world = spec.hypotheses[name].world
        assert world.leaked_share is None
        assert world.hardware is None
        if world.memory is not None:
            assert set(world.memory.model_dump(exclude_defaults=True)) == {"deploy"}
            # What one replica alone is started with; see ``changing.OF_A_START``.
            told = world.memory.deploy.model_dump(exclude_none=True)
            assert set(told) <= {"max_model_len", "num_gpu_blocks_override"}
        if world.front is not None:
            assert world.front.step_factor is None
            assert world.front.aborts in (None, "run_on")
        if world.inside is not None:
            assert world.inside.pausing is None
            assert world.inside.fallback is None
            assert world.inside.caller is None or not world.inside.caller.whole_prefill


def test_the_page_comes_soon_after_the_engine(key):
    timeline = lab(key).timeline
    assert -timeline.starts_at_s <= 150
    assert timeline.budget_s <= 900


def test_what_is_sent_fits_the_context(key):
    spec = lab(key)
    for name in ("healthy", *spec.served):
        world = build(spec, name, SEED)
        world.cluster.advance(0.0)
        limit = world.cluster.engines[0].config.max_model_len
        sent = [each for each in world.cluster.requests if not each.defect]
        assert max(each.prompt_tokens + each.max_tokens for each in sent) <= limit


def test_what_asks_in_messages_brings_its_template(key):
    spec = lab(key)
    if spec.live.asks == "chat":
        assert "--trust-request-chat-template" in spec.live.flags


def test_its_reference_plays_every_world_that_is_served(key):
    spec = lab(key)
    reference = load_play(key, "reference")
    assert all(reference.has(name) for name in spec.served)
