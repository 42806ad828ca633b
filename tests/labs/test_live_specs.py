"""A lab at a real engine's scale: live/live.toml over lab.toml."""

import shutil

import pytest

from courseware.served import CHECKOUT
from labs.catalogue import lab, live_keys, text_of
from labs.specs import LIVE, SpecError, load_live
from labs.specs.live import merged

KEY = f"preemption-storm{LIVE}"


@pytest.fixture
def folder(tmp_path):
    copy = tmp_path / "preemption-storm"
    shutil.copytree(CHECKOUT.labs / "preemption-storm", copy)
    return copy


def test_every_live_lab_has_a_brief_and_a_debrief_of_its_own():
    here = CHECKOUT.labs
    lack = [
        f"{key}/{name}"
        for key in live_keys()
        for name in ("brief.md", "debrief.md")
        if not (here / key / name).is_file()
    ]
    assert lack == []


def changed(folder, before, after):
    path = folder / "live" / "live.toml"
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after, 1))


def test_tables_are_laid_over_key_by_key_and_everything_else_whole():
    data = {"a": {"x": 1, "y": [1, 2]}, "b": 3}
    assert merged(data, {"a": {"y": [9]}, "c": 4}) == {"a": {"x": 1, "y": [9]}, "b": 3, "c": 4}
    assert data == {"a": {"x": 1, "y": [1, 2]}, "b": 3}


def test_what_is_to_go_goes_first():
    data = {"worlds": {"one": {"load": 2}, "two": {}}}
    over = {"without": ["worlds.one"], "worlds": {"one": {"burst": 1}}}
    assert merged(data, over) == {"worlds": {"one": {"burst": 1}, "two": {}}}


def test_a_lab_and_its_real_engine_are_told_apart_by_their_key():
    simulated, live = lab("preemption-storm"), lab(KEY)
    assert (simulated.key, live.key) == ("preemption-storm", KEY)
    assert KEY in live_keys()
    assert simulated.live is None
    assert live.live is not None
    assert live.nodes.keys() > simulated.nodes.keys()
    assert live.windows.panel_s < simulated.windows.panel_s


def test_its_texts_are_its_own_where_it_has_any():
    assert text_of(KEY, "brief.md") != text_of("preemption-storm", "brief.md")
    assert text_of(KEY, "rubric.toml") == text_of("preemption-storm", "rubric.toml")


def test_a_lab_without_such_a_folder_runs_on_no_real_engine(folder):
    shutil.rmtree(folder / "live")
    with pytest.raises(LookupError, match="preemption-storm runs on no real engine"):
        load_live(folder)


def test_a_fault_is_told_by_the_file_and_line_that_hold_it(folder):
    changed(folder, "budget_s = 900", "budget_s = -900")
    with pytest.raises(
        SpecError, match=r"^preemption-storm/live/live\.toml:\d+: timeline\.budget_s: "
    ):
        load_live(folder)


def test_what_cannot_go_because_it_is_not_there_is_named(folder):
    changed(folder, '"hypotheses.leak"', '"hypotheses.lek"')
    with pytest.raises(SpecError, match=r"without: hypotheses\.lek does not exist in lab\.toml"):
        load_live(folder)


def test_a_lab_needs_a_box(folder):
    changed(folder, 'boxes = ["cpu"]', "boxes = []")
    with pytest.raises(SpecError, match=r"live\.toml:\d+: live\.boxes: "):
        load_live(folder)
