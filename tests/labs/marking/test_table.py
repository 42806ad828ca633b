import json
import math
from dataclasses import replace

import pytest

from labs.marking.table import (
    Signal,
    Table,
    default_priors,
    dump_table,
    load_table,
    transformed,
)

from .toys import drawn, shifted


def mixed():
    """A table with every kind of value."""
    values = [0.1, 1e-17, 3, None, 1 / 3, -2.5]
    return Table(
        hypotheses=("b", "a"),
        priors={"a": 0.3, "b": 0.7},
        grid_s=(0, 300),
        signals=(
            Signal("kv", "share", "logit", 0.03),
            Signal("state", "", "id", 1, kind="category"),
            Signal("load", "share", "ln", 0.1, inputs=("kv", "queue")),
            Signal("queue", "requests", "ln1p", 0.3),
        ),
        runs={
            (world, at_s): tuple(
                {
                    "kv": value,
                    "state": None if value is None else f"state {value}",
                    "load": value,
                    "queue": seed,
                }
                for seed, value in enumerate(values)
            )
            for world in ("a", "b", "healthy")
            for at_s in (0, 300)
        },
    )


def test_a_table_comes_back_from_json_exactly():
    table = mixed()
    text = json.dumps(dump_table(table), allow_nan=False)
    again = load_table(json.loads(text))
    assert again == table
    assert json.dumps(dump_table(again)) == text
    assert isinstance(again.values("a", ("queue", 0))[0], int)


def test_estimates_made_from_a_table_are_no_part_of_its_value():
    table = mixed()
    table.memo["anything"] = 1
    assert table == mixed()
    assert "memo" not in dump_table(table)


def test_a_changed_table_forgets_the_estimates_of_the_old_one():
    table = mixed()
    table.memo["anything"] = 1
    assert replace(table, grid_s=table.grid_s).memo == {}


def test_a_table_names_its_worlds_with_healthy_beside_the_hypotheses():
    assert mixed().worlds == ("b", "a", "healthy")
    assert mixed().seeds == 6


def test_a_reading_is_compared_at_the_latest_grid_time_before_it():
    table = mixed()
    assert [table.grid_time(t) for t in (-1, 0, 299.9, 300, 9000)] == [None, 0, 0, 300, 300]


def test_transforms_are_what_they_are_called():
    def on(transform, value):
        return transformed(Signal("x", "", transform, 1), value)

    assert on("id", 3) == 3.0
    assert on("ln", math.e) == 1.0
    assert on("ln1p", 0) == 0.0
    assert on("logit", 0.5) == 0.0


def test_a_value_outside_its_transform_has_no_place_on_the_scale():
    for transform, value in [("ln", 0), ("logit", 1.0), ("ln1p", -1), ("id", None)]:
        assert transformed(Signal("x", "", transform, 1), value) is None
    assert transformed(Signal("x", "", "id", 1, kind="category"), "full") is None


def test_a_healthy_hypothesis_has_a_fifth_of_the_prior():
    assert default_priors(["a", "healthy", "b"]) == {"a": 0.4, "healthy": 0.2, "b": 0.4}
    assert default_priors(["a", "b"]) == {"a": 0.5, "b": 0.5}
    with pytest.raises(ValueError, match="at least one hypothesis that is a fault"):
        default_priors(["healthy"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"hypotheses": ("w0",)}, "two distinct hypotheses"),
        ({"priors": {"w0": 0.5, "other": 0.5}}, "priors must name"),
        ({"priors": {"w0": 0.5, "w1": 0.6}}, "sum to 1"),
        ({"grid_s": (0, 0)}, "grid times must ascend"),
        ({"grid_s": (0, 60)}, "missing or surplus"),
        ({"signals": (Signal("x", "", "id", 1), Signal("x", "", "id", 1))}, "declared twice"),
        ({"signals": (Signal("x", "", "id", 1, inputs=("y",)),)}, "unknown inputs"),
        ({"signals": (Signal("y", "", "id", 1),)}, "missing or unknown"),
        ({"hypotheses": ("w0", "no"), "priors": {"w0": 0.5, "no": 0.5}}, "no runs of"),
        ({"runs": {("w0", 0): ({"x": 1},), ("w1", 0): ({"x": 1},)}}, "two seeds or more"),
        ({"runs": {("w0", 0): ({"x": 1},) * 3, ("w1", 0): ({"x": 1},) * 2}}, "others 3"),
        ({"runs": {("w0", 0): ({"x": "a"},) * 2, ("w1", 0): ({"x": 1},) * 2}}, "cannot be 'a'"),
        ({"runs": {("w0", 0): ({"x": math.inf},) * 2, ("w1", 0): ({"x": 1},) * 2}}, "be inf"),
    ],
)
def test_a_table_that_does_not_hold_together_is_refused(change, said):
    with pytest.raises(ValueError, match=said):
        replace(shifted([0, 1]), **change)


def test_a_signal_needs_a_resolution_and_a_known_transform_and_kind():
    for arguments, said in [
        (("x", "", "id", 0), "resolution"),
        (("x", "", "log", 1), "transform"),
        (("x", "", "id", 1, (), "text"), "kind"),
    ]:
        with pytest.raises(ValueError, match=said):
            Signal(*arguments)


def test_a_stored_table_that_lacks_a_key_says_which():
    data = dump_table(drawn([[0, 1]]))
    del data["grid_s"]
    with pytest.raises(ValueError, match="grid_s"):
        load_table(data)


def test_asking_for_what_a_table_does_not_hold_is_refused():
    table = shifted([0, 1])
    with pytest.raises(ValueError, match="no signal 'y'"):
        table.signal("y")
    with pytest.raises(ValueError, match="no 'w9' at 0 s"):
        table.values("w9", ("x", 0))
