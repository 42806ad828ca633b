"""What holds for every demonstration, wherever its controls stand."""

import inspect
import itertools
import json
import re
from dataclasses import asdict

import pytest

from lessons.demos import DEMOS, computed
from lessons.demos.demo import Choice, Demo, Value

EACH = pytest.mark.parametrize("demo", DEMOS.values(), ids=list(DEMOS))


def ends(demo: Demo) -> list[dict[str, Value]]:
    """Return the corners of the ranges where one control or two stand at an end, and the start."""
    extremes = {
        control.name: [value for value, _ in control.options]
        if isinstance(control, Choice)
        else [control.value(control.least), control.value(control.most)]
        for control in demo.controls
    }
    found = [dict(demo.start)]
    for one, other in itertools.combinations_with_replacement(extremes, 2):
        for a, b in itertools.product(extremes[one], extremes[other]):
            found.append({**demo.start, one: a, other: b})
    for control in demo.controls:
        if not isinstance(control, Choice):
            near = control.value(control.least + control.step)
            found += [{**each, control.name: near} for each in found[: 1 + 4 * len(extremes)]]
    return found


@EACH
def test_its_function_takes_exactly_its_controls(demo):
    parameters = inspect.signature(demo.compute).parameters
    assert list(parameters) == [control.name for control in demo.controls]
    assert all(p.kind is p.KEYWORD_ONLY for p in parameters.values())


@EACH
def test_its_names_can_stand_in_an_address_and_in_a_lesson(demo):
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", demo.id)
    names = [control.name for control in demo.controls]
    assert len(set(names)) == len(names)
    assert not {"demo", "last"} & set(names)
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) for name in names)


@EACH
def test_every_end_of_its_ranges_shows_a_sentence_and_sound_numbers(demo):
    for values in ends(demo):
        shown = demo.compute(**values)
        assert shown.says.endswith("."), values
        assert re.search(r"\d", shown.says), values
        assert len(shown.readouts) <= 4
        assert all(len(row) == len(shown.table.head) for row in shown.table.rows)
        said = json.dumps(asdict(shown), allow_nan=False)
        assert not re.search(r"\b(nan|inf)\b", said), values


@EACH
def test_the_same_setting_shows_the_same(demo):
    assert demo.compute(**demo.start) == demo.compute(**demo.start)


@EACH
def test_a_setting_is_computed_once(demo):
    assert computed(demo, demo.start) is computed(demo, dict(demo.start))


@EACH
def test_its_plots_speak_and_name_their_unit(demo):
    for plot in computed(demo, demo.start).plots:
        assert plot.title
        assert plot.unit
        assert plot.spoken.endswith(".")
        colours = re.findall(r'"(--[a-z0-9-]+)"', json.dumps(plot.figure))
        assert set(colours) <= {
            "--accent", "--bad", "--edge", "--ink", "--ink-3", *(f"--c{i}" for i in range(6)),
        }  # fmt: skip
