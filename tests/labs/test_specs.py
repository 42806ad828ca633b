"""What a lab folder may say, and how it is told what is wrong with it: the file, the key, the fault."""

import re
import shutil

import pytest

from labs.catalogue import folder_of
from labs.instruments.registry import SIGNALS
from labs.specs import Alarm, Bound, SpecError, load_spec

TOML = (folder_of("preemption-storm") / "lab.toml").read_text(encoding="utf-8")


@pytest.fixture
def fault(tmp_path):
    """The complaint about lab.toml with one thing changed in it."""

    def complain(old, new, *, pattern=False):
        text = (
            re.sub(old, new, TOML, count=1, flags=re.MULTILINE)
            if pattern
            else TOML.replace(old, new, 1)
        )
        assert text != TOML, "the fault was not planted"
        (tmp_path / "lab.toml").write_text(text, encoding="utf-8")
        with pytest.raises(SpecError) as caught:
            load_spec(tmp_path)
        return str(caught.value)

    return complain


def test_the_lab_is_what_its_folder_says():
    spec = load_spec(folder_of("preemption-storm"))
    assert spec.slug == "preemption-storm"
    assert set(spec.served) == {"metastable", "demand"}
    assert sum(spec.priors.values()) == pytest.approx(1.0)
    assert len(spec.hypotheses) >= 5
    assert len(spec.instruments) >= 8


def test_a_folder_without_a_spec_is_named(tmp_path):
    with pytest.raises(SpecError, match=r"/lab\.toml: there is no such file"):
        load_spec(tmp_path)


def test_text_that_is_no_toml_is_named_with_its_line(tmp_path):
    (tmp_path / "lab.toml").write_text("minutes = \n", encoding="utf-8")
    with pytest.raises(SpecError, match=r"/lab\.toml:1: not valid TOML: "):
        load_spec(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "key", "says"),
    [
        ("minutes = 40", "", "minutes", "missing: write it"),
        ("minutes = 40", "minuets = 1\nminutes = 40", "minuets", "unknown key: take it out"),
        ("minutes = 40", "minutes = 0", "minutes", "greater than 0"),
        ("budget_s = 3300", "budget_s = -1", "timeline.budget_s", "greater than 0"),
        ("fault_at_s = -960", "fault_at_s = -1900", "timeline", "must rise in this order"),
        ("target = 0.95", "target = 1.5", "slos.ttft.target", "less than or equal to 1"),
        ('measure = "ttft"', 'measure = "itl"', "slos.ttft.measure", "'gap', 'tpot', 'e2e'"),
        ('measure = "ttft"', 'measure = "answered"', "slos.ttft", "every measure but answered"),
        ("limit_s = 2.0", "", "slos.ttft", "every measure but answered"),
        ("above = 0.6", "", "alarm", "above or below, one of them"),
        ("above = 0.6", "above = 0.6\nbelow = 0.1", "alarm", "above or below, one of them"),
        (
            'layer = "overload"',
            'layer = "oops"',
            "hypotheses.metastable.answer.layer",
            "'boundary'",
        ),
        (
            "[instruments.dcgm]\n",
            "[instruments.dcgm]\ncolour = 1\n",
            "instruments.dcgm.colour",
            "unknown key",
        ),
    ],
)
def test_a_wrong_value_is_named_by_its_key(fault, old, new, key, says):
    told = fault(old, new)
    assert re.search(rf"/lab\.toml:\d+: {re.escape(key)}: ", told)
    assert says in told


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ('signal = "ttft_p95_s"\nabove', 'signal = "ttft_s"\nabove', "alarm.signal names 'ttft_s'"),
        ('page = [{ signal = "kv_usage"', 'page = [{ signal = "kv"', "admission.page names 'kv'"),
        (
            'parameter = "offered_load_12m"',
            'parameter = "load"',
            "hypotheses.metastable.answer.parameter names 'load'",
        ),
        ('causes = ["ttft"]', 'causes = ["tttft"]', "nodes.router.causes names 'tttft'"),
        (
            'signals = ["gpu_util"]',
            'signals = ["gpu_utl"]',
            "instruments.gpu.signals names 'gpu_utl'",
        ),
        (
            'components = [["router"]]',
            'components = [["rooter"]]',
            "hypotheses.router.answer.components names 'rooter'",
        ),
        (
            'mechanism = "router_delay"',
            'mechanism = "delay"',
            "hypotheses.router.answer.mechanisms names 'delay'",
        ),
        (
            'rules_out = "demand"',
            'rules_out = "demands"',
            "hypotheses.metastable.answer.chain names",
        ),
        (
            'cause_gone = [{ signal = "router_p95_s"',
            'cause_gone = [{ signal = "router_s"',
            "hypotheses.router.answer.cause_gone names 'router_s'",
        ),
    ],
)
def test_a_name_that_does_not_exist_is_named_with_those_that_do(fault, old, new, where):
    told = fault(old, new)
    assert where in told
    assert "; known: " in told


def test_a_rival_is_named_exactly_where_it_is_ruled_out(fault):
    told = fault('role = "rules_out", rules_out = "leak"', 'role = "rules_out"')
    assert "hypotheses.metastable.answer.chain.2: " in told
    assert "rules_out names a hypothesis exactly when" in told


def test_a_range_rises(fault):
    told = fault(r"^offered_load = \[.*", "offered_load = [0.9, 0.1]", pattern=True)
    assert "traffic.offered_load: " in told
    assert "0.9 is above 0.1" in told


def test_a_fault_names_the_line_on_which_its_key_stands(fault):
    told = fault("target = 0.95", "target = 1.5")
    line = TOML.splitlines().index("target = 0.95") + 1
    assert f"/lab.toml:{line}: slos.ttft.target: " in told
    told = fault('signal = "ttft_p95_s"\nabove', 'signal = "ttft_s"\nabove')
    line = TOML[: TOML.index('signal = "ttft_p95_s"\nabove')].count("\n") + 1
    assert f"/lab.toml:{line}: alarm.signal names 'ttft_s'" in told


def test_every_fault_is_told_at_once(fault):
    told = fault("minutes = 40", 'minutes = "one"\nminuets = 3')
    assert len(told.splitlines()) == 2


def test_a_lab_serves_at_least_one_world(fault, tmp_path):
    text = TOML.replace("served = true", "served = false")
    (tmp_path / "lab.toml").write_text(text, encoding="utf-8")
    with pytest.raises(SpecError, match="at least one must be served"):
        load_spec(tmp_path)


def test_every_signal_of_the_spec_can_be_computed(spec):
    assert set(spec.signals) <= set(SIGNALS)


# ------------------------------------------------------------------------------ alarms and bounds


def test_an_alarm_above_rings_beyond_its_value_only():
    alarm = Alarm(signal="kv_usage", above=0.6, window_s=300)
    assert [alarm.rings(value) for value in (0.61, 0.6, 0.0)] == [True, False, False]
    assert [alarm.held(value) for value in (0.61, 0.6, 0.0)] == [False, True, True]
    assert alarm.target == 0.6


def test_an_alarm_below_rings_under_its_value_only():
    alarm = Alarm(signal="kv_usage", below=0.6, window_s=300)
    assert [alarm.rings(value) for value in (0.59, 0.6, 9.0)] == [True, False, False]
    assert [alarm.held(value) for value in (0.59, 0.6, 9.0)] == [False, True, True]
    assert alarm.target == 0.6


@pytest.mark.parametrize("side", ["above", "below"])
def test_an_alarm_may_stand_at_zero(side):
    alarm = Alarm(signal="kv_usage", window_s=300, **{side: 0.0})
    assert alarm.target == 0.0
    assert alarm.rings(1.0) is (side == "above")
    assert alarm.rings(-1.0) is (side == "below")


@pytest.mark.parametrize("value", [None, "NVLink"])
def test_what_was_not_measured_neither_rings_nor_holds(value):
    for side in ("above", "below"):
        alarm = Alarm(signal="kv_usage", window_s=300, **{side: 0.6})
        assert (alarm.rings(value), alarm.held(value)) == (False, False)


@pytest.mark.parametrize(
    ("bound", "inside", "outside"),
    [
        ({"at_least": 0.2}, (0.2, 9.0), (0.19,)),
        ({"at_most": 0.2}, (0.2, -9.0), (0.21,)),
        ({"at_least": 0.2, "at_most": 0.4}, (0.2, 0.3, 0.4), (0.19, 0.41)),
        ({"at_least": 0.0}, (0.0,), (-0.1,)),
        ({"equals": "SYS"}, ("SYS",), ("NV6", 1.0)),
        ({"at_most": 0.2}, (), ("SYS",)),
    ],
)
def test_a_bound_holds_what_lies_within_it(bound, inside, outside):
    made = Bound(signal="kv_usage", **bound)
    assert all(made.holds(value) for value in inside)
    assert not any(made.holds(value) for value in outside)


@pytest.mark.parametrize("absent_holds", [True, False])
def test_what_was_not_measured_is_within_a_bound_only_if_it_says_so(absent_holds):
    made = Bound(signal="kv_usage", at_most=1.0, absent_holds=absent_holds)
    assert made.holds(None) is absent_holds


@pytest.mark.parametrize("said", [{}, {"equals": "SYS", "at_most": 1.0}])
def test_a_bound_says_numbers_or_a_category(said):
    with pytest.raises(ValueError, match="at_least, at_most or both, or equals"):
        Bound(signal="kv_usage", **said)


def test_a_share_has_no_unit_behind_its_number(spec):
    assert spec.alarm_unit == "s"
    full = spec.model_copy(update={"alarm": Alarm(signal="kv_usage", above=0.9, window_s=300)})
    assert (full.alarm_title, full.alarm_unit) == ("KV usage", "")


def test_the_diagnosis_asks_for_every_number_that_a_world_asks_for(spec):
    assert spec.parameter_title == "Tokens wanted over tokens held, 12 min"
    world = spec.hypotheses["leak"]
    leak = world.model_copy(
        update={"answer": world.answer.model_copy(update={"parameter": "unaccounted_share"})}
    )
    both = spec.model_copy(update={"hypotheses": {**spec.hypotheses, "leak": leak}})
    assert both.parameter_title == (
        "Tokens wanted over tokens held, 12 min, or Blocks in use that no live request holds"
    )


def test_the_fleet_is_told_in_a_few_words(spec):
    assert spec.fleet_words == "one engine, TP4"
    pair = spec.fleet.model_copy(update={"replicas": 2, "tensor_parallel_size": 2})
    assert spec.model_copy(update={"fleet": pair}).fleet_words == "2 engines, TP2"


def test_a_fault_says_when_its_cause_is_gone_and_a_control_need_not(fault):
    told = fault(
        'cause_gone = [{ signal = "router_p95_s", at_most = 0.1, absent_holds = true }]\n', ""
    )
    assert "hypotheses.router.answer: a fault needs cause_gone" in told


def test_a_lab_has_two_worlds_at_least_and_an_instrument_of_its_alarm(fault):
    assert "one must be is_alarm" in fault("is_alarm = true\n", "")


@pytest.mark.parametrize(
    ("pinned", "is_read"), [("@0123456789abcdef", True), ("@draft", False), ("", False)]
)
def test_a_stored_version_is_read_though_the_format_has_dropped_a_key(tmp_path, pinned, is_read):
    folder = tmp_path / f"preemption-storm{pinned}"
    shutil.copytree(folder_of("preemption-storm"), folder)
    path = folder / "lab.toml"
    path.write_text("version = 1\n" + path.read_text())
    if is_read:
        assert load_spec(folder).title
    else:
        with pytest.raises(SpecError, match="version: unknown key"):
            load_spec(folder)
