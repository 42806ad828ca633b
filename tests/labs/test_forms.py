"""What a learner commits, and what the forms say when it cannot be read."""

import pytest

from labs.catalogue import labs
from labs.forms import (
    BeliefsForm,
    DiagnosisForm,
    ExplanationForm,
    FlagsForm,
    PredictionForm,
    diagnosis_initial,
)
from labs.room import Citable
from labs.room.beliefs import beliefs_of
from labs.room.log import Log

SPEC = labs()["preemption-storm"]
BELIEFS = beliefs_of(SPEC, Log([]))
CITABLE = [
    Citable(number, signal, signal, "1", "", "0:15")
    for number in range(1, 5)
    for signal in ("kv_usage", "queue_depth")
]
GOOD = {
    "scope": "fault",
    "slos": ["ttft", "gap"],
    "layer": "memory",
    "components": ["kv_pool"],
    "mechanism": "demand_exceeds_pool",
    "parameter": "1.14",
    "confidence": "80",
    "cite-1-kv_usage": "shows",
    "cite-2-queue_depth": "rules_out:leak",
}


def diagnosis(**changes):
    return DiagnosisForm(SPEC, CITABLE, {**GOOD, **changes})


def test_a_diagnosis_has_the_keys_that_marking_reads():
    form = diagnosis()
    assert form.is_valid(), form.errors
    assert form.payload() == {
        "scope": "fault",
        "slos": ["ttft", "gap"],
        "layer": "memory",
        "components": ["kv_pool"],
        "mechanism": "demand_exceeds_pool",
        "parameter": 1.14,
        "confidence": 80,
        "citations": [
            {"reading": 1, "signal": "kv_usage", "role": "shows", "rival": None},
            {"reading": 2, "signal": "queue_depth", "role": "rules_out", "rival": "leak"},
        ],
    }


def test_a_committed_diagnosis_comes_back_into_the_form_as_it_was():
    form = diagnosis()
    assert form.is_valid()
    again = DiagnosisForm(SPEC, CITABLE, initial=diagnosis_initial(form.payload(), CITABLE))
    chosen = {
        name: [str(each["value"]) for each in choices if each["chosen"]]
        for name, choices in again.options.items()
    }
    assert chosen["slos"] == ["ttft", "gap"]
    assert chosen["cite-2-queue_depth"] == ["rules_out:leak"]
    assert chosen["cite-1-queue_depth"] == [""]
    assert chosen["confidence"] == ["80"]
    assert again["parameter"].value() == "1.14"


def test_a_large_number_of_a_diagnosis_comes_back_with_every_digit():
    assert diagnosis_initial({"parameter": 1234567.5}, CITABLE)["parameter"] == "1234567.5"


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"scope": ""}, "scope", "Say whether there is a fault"),
        ({"slos": []}, "slos", "at least one promise"),
        ({"layer": ""}, "layer", "Choose the layer"),
        ({"components": []}, "components", "Name at least one component"),
        ({"components": ["kv_pool", "router", "traffic", "prefill"]}, "components", "at most 3"),
        ({"components": ["ttft"]}, "components", "those on the page"),
        ({"mechanism": ""}, "mechanism", "Choose the mechanism"),
        ({"mechanism": "gremlins"}, "mechanism", "those on the page"),
        ({"parameter": "lots"}, "parameter", "such as 1.2 or 0.7"),
        ({"parameter": "-1"}, "parameter", "such as 1.2 or 0.7"),
        ({"confidence": ""}, "confidence", "how sure"),
        ({"cite-1-kv_usage": "rules_out:gremlins"}, "cite-1-kv_usage", "those on the page"),
    ],
)
def test_an_error_names_its_field_and_the_way_out(changes, field, words):
    form = diagnosis(**changes)
    assert not form.is_valid()
    assert words in str(form.errors[field])


def test_seven_citations_are_too_many_and_the_form_says_so():
    form = diagnosis(**{each.field: "shows" for each in CITABLE[:7]})
    assert not form.is_valid()
    assert "You cite 7 readings; cite at most 6" in str(form.non_field_errors())


def test_nothing_is_wrong_needs_no_component_and_no_mechanism():
    form = DiagnosisForm(SPEC, [], {"scope": "nothing", "confidence": "70"})
    assert form.is_valid(), form.errors
    assert form.payload()["mechanism"] is None
    assert form.payload()["citations"] == []


def test_a_reading_that_is_not_ones_own_cannot_be_cited():
    form = diagnosis(**{"cite-9-kv_usage": "shows"})
    assert form.is_valid()
    assert all(each["reading"] != 9 for each in form.payload()["citations"])


def test_only_what_can_be_named_is_offered():
    offered = {each["value"] for each in diagnosis().options["components"]}
    assert offered == {key for key, node in SPEC.nodes.items() if node.nameable}


@pytest.mark.parametrize(
    ("typed", "value"), [("60", 60), ("1,200", 1200), ("0.5", 0.5), (".5", 0.5)]
)
def test_a_prediction_reads_numbers_as_people_write_them(typed, value):
    form = PredictionForm({"value": typed, "confidence": "70", "why": "because"})
    assert form.is_valid(), form.errors
    assert form.cleaned_data["value"] == value


@pytest.mark.parametrize("typed", ["", "soon", "-3", "0", "1e9", "60 s", "9999999999", "nan"])
def test_a_prediction_refuses_what_is_no_number_above_0(typed):
    assert "value" in PredictionForm({"value": typed, "confidence": "70", "why": "x"}).errors


def test_a_confidence_that_is_none_of_three_is_refused_in_words():
    form = PredictionForm({"value": "60", "confidence": "71", "why": "x"})
    assert form.errors["confidence"] == ["Choose 50, 70 or 90 %."]


def test_a_share_is_asked_for_as_one():
    said = {"value": "60", "confidence": "70", "why": "x"}
    assert PredictionForm(said).is_valid()
    assert PredictionForm(said, is_share=True).errors["value"] == [
        "A share lies between 0 and 1: 0.6 is 60 %."
    ]
    assert PredictionForm({**said, "value": "0.6"}, is_share=True).is_valid()


def test_beliefs_may_be_left_open_and_are_bounded():
    form = BeliefsForm(BELIEFS, {"belief-demand": "75", "belief-router": "0"})
    assert form.is_valid()
    assert form.moved() == {"demand": 75, "router": 0}
    assert not BeliefsForm(BELIEFS, {"belief-demand": "101"}).is_valid()


def test_an_explanation_needs_words():
    assert "a person reads it" in str(ExplanationForm({"text": " "}).errors["text"])


@pytest.mark.parametrize(
    ("data", "line"),
    [
        ({}, "restart"),
        ({"max_num_seqs": "28"}, "restart --max-num-seqs 28"),
        (
            {"kv_cache_dtype": "fp8", "watermark": "0.05"},
            "restart --watermark 0.05 --kv-cache-dtype fp8",
        ),
        ({"reserve_full_isl": "on"}, "restart --scheduler-reserve-full-isl"),
        ({"chunked_prefill": "off"}, "restart --no-enable-chunked-prefill"),
    ],
)
def test_flags_make_the_line_that_one_could_have_typed(data, line):
    form = FlagsForm(data)
    assert form.is_valid(), form.errors
    assert form.line() == line


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_num_seqs", "-1"),
        ("max_num_seqs", "NaN"),
        ("max_num_seqs", "2 | wc"),
        ("watermark", "0.9"),
        ("max_num_batched_tokens", "'8"),
    ],
)
def test_a_flag_that_the_console_would_refuse_is_marked_at_its_field(name, value):
    form = FlagsForm({name: value})
    assert list(form.errors) == [name]
