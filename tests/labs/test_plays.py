"""Scripts of whole attempts: how they are read, and what they are told when they cannot be played."""

import pytest

from labs import incident, plays
from labs.plays import PlayError, load_play, names, perform

SLUG = "preemption-storm"


@pytest.fixture
def play(tmp_path, monkeypatch, at_page):
    """A play from its text, performed in the demand world."""
    (tmp_path / "plays").mkdir()
    monkeypatch.setattr(plays, "folder_of", lambda slug: tmp_path)

    page = at_page("demand")
    monkeypatch.setattr(incident, "begin", lambda *args, **how: page)

    def act(text, spec, hypothesis="demand"):
        load_play.cache_clear()
        (tmp_path / "plays" / "try.toml").write_text(f'title = "x"\nceiling = 1\n{text}')
        return perform(spec, 0, load_play(SLUG, "try"), hypothesis=hypothesis)

    yield act
    load_play.cache_clear()


def test_the_reference_is_first_and_every_play_can_be_read():
    found = names(SLUG)
    assert found[0] == "reference"
    assert len(found) >= 8
    for name in found:
        assert load_play(SLUG, name).title


def test_the_counterexamples_that_the_course_promises_are_there():
    assert {
        "cap-where-demand-is-the-cause",
        "raise-max-num-seqs",
        "no-verification",
        "six-citations",
        "the-routers-fault",
        "wrong-readings",
    } <= set(names(SLUG))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[[demand]]\nrun = "kubectl"', r"demand, step 1: There is no kubectl"),
        ('[[demand]]\nrun = "undo 4"', r"demand, step 1: undo: 4 is no change in force"),
        ('[[demand]]\nfly = "x"', r"step 1: a step is run, until, predict, diagnose or explain"),
        ('[[router]]\nrun = "flags"', r"no \[\[demand\]\] and no \[\[any\]\] steps"),
        (
            '[[demand]]\ndiagnose = { parameter = "offered_load_12m" }',
            r"step 1: no reading shows offered_load_12m",
        ),
        (
            '[[demand]]\ndiagnose = { citations = [{ signal = "kv_usage", role = "shows" }] }',
            r"step 1: no reading shows kv_usage",
        ),
        (
            '[[demand]]\nuntil = { signal = "ttft_p95_s", below = 0.1 }\nrepeat = ["wait 30m"]',
            r"step 1: That costs 30:00",
        ),
        (
            '[[demand]]\nuntil = { signal = "gpu_util", below = 0.1 }\nrepeat = ["nvidia-smi"]',
            r"gpu_util did not come to \{'signal': 'gpu_util', 'below': 0\.1\}",
        ),
        ("[[demand", r"try.toml: not valid TOML"),
    ],
)
def test_a_play_that_cannot_be_played_names_its_step(play, spec, text, told):
    with pytest.raises(PlayError, match=told):
        play(text, spec)


@pytest.mark.parametrize("key", ["title", "ceiling"])
def test_a_play_says_what_it_is(tmp_path, monkeypatch, key):
    (tmp_path / "plays").mkdir()
    other = 'title = "x"' if key == "ceiling" else "ceiling = 3"
    (tmp_path / "plays" / "try.toml").write_text(other)
    monkeypatch.setattr(plays, "folder_of", lambda slug: tmp_path)
    load_play.cache_clear()
    with pytest.raises(PlayError, match=f"try.toml: {key} is missing"):
        load_play(SLUG, "try")
    load_play.cache_clear()


def test_a_play_that_is_not_there_is_told_which_are():
    with pytest.raises(PlayError, match=r"there is no such play; this lab has reference, cap"):
        load_play(SLUG, "nothing")


def test_a_step_may_be_refused_when_it_says_so(play, spec):
    _, log = play('[[any]]\nrun = "undo 4"\nmay_refuse = true\n[[any]]\nrun = "steps"', spec)
    assert [entry.number for entry in log] == [1]


def test_what_fits_is_filled_in_and_logged_as_it_was_typed(play, spec):
    world, log = play('[[any]]\nrun = "restart --max-num-seqs {fit}"', spec)
    fits = world.fleet.config.max_num_seqs
    assert 20 <= fits <= 60
    assert log[0].payload == {"line": f"restart --max-num-seqs {fits}"}


def test_a_diagnosis_cites_the_latest_reading_that_shows_its_signal(play, spec):
    text = """
[[any]]
run = "kv-ledger"
[[any]]
run = "nvidia-smi"
[[any]]
run = "curl -s localhost:8000/metrics"
[[any]]
diagnose = { parameter = "kv_usage", citations = [
  { signal = "kv_usage", role = "shows" },
  { signal = "kv_usage", role = "shows", reading = 1 },
] }
"""
    _, log = play(text, spec)
    said = log[-1].payload
    assert [each["reading"] for each in said["citations"]] == [3, 1]
    assert said["parameter"] == log[2].outcome["signals"]["kv_usage"]


def test_a_route_ends_its_questions_at_the_diagnosis(play, spec):
    text = """
[[any]]
run = "kv-ledger"
[[any]]
diagnose = { }
[[any]]
run = "nvidia-smi"
"""
    _, log = play(text, spec)
    route = plays.route(spec, log)
    assert set(route.signals) == {"kv_usage", "unaccounted_share"}
    assert [step.title for step in route.steps] == ["KV ledger", "GPU utilisation"]
