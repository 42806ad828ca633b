import pytest
from django.core.exceptions import ValidationError
from django.http import QueryDict

from lessons.check_forms import CheckForm, quantity_of
from lessons.checks_marking import mark
from lessons.questions import parse_question
from tests.lessons.kinds import BODIES, OPTIONS

ASKED = {kind: parse_question(kind, OPTIONS[kind], BODIES[kind]) for kind in BODIES}


def form(kind: str, settled=None, **sent: str) -> CheckForm:
    data = QueryDict(mutable=True)
    data.update(sent)
    return CheckForm(ASKED[kind], data, settled=settled)


def said(sent: CheckForm) -> set[str]:
    return {words for errors in sent.errors.values() for words in errors}


@pytest.mark.parametrize(
    ("typed", "unit", "value"),
    [
        ("43", "/s", 43),
        ("43 /s", "/s", 43),
        ("43/s", "/s", 43),
        ("1.5 GiB", "GiB", 1.5),
        ("1.5gib", "GiB", 1.5),
        ("1,200 tokens / s", "tokens/s", 1200),
        ("80 KiB ", "KiB", 80),
        ("12 µs", "μs", 12),
        ("12 %", "per cent", 12),
        ("12 per cent", "per cent", 12),
    ],
)
def test_a_number_may_bring_its_unit(typed, unit, value):
    assert quantity_of(typed, unit) == value


@pytest.mark.parametrize(
    ("typed", "unit"), [("1.5 MiB", "GiB"), ("2 Gb", "GB"), ("43 /min", "/s"), ("7 dozen", "/s")]
)
def test_another_unit_is_refused_with_the_one_that_is_wanted(typed, unit):
    with pytest.raises(ValidationError, match=f"Write the number in {unit}, not in"):
        quantity_of(typed, unit)


@pytest.mark.parametrize("typed", ["lots", "1,5", "1e5", "12 s 3", "", "-5 KiB"])
def test_what_is_no_number_is_refused_whatever_its_unit(typed):
    with pytest.raises(ValidationError, match="Write a number"):
        quantity_of(typed, "KiB")


def test_a_number_without_a_unit_takes_none():
    with pytest.raises(ValidationError, match="without a unit"):
        quantity_of("12 s", "")


def test_pairs_become_an_answer():
    matching = ASKED["match"].matching
    sent = form("match", **{f"pair-{pair.key}": pair.right for pair in matching.pairs})
    assert sent.is_valid()
    assert mark(ASKED["match"], sent.cleaned_data["answer"]).right


def test_a_settled_pair_is_not_asked_again_and_cannot_be_changed():
    first, second, third = ASKED["match"].matching.pairs
    sent = form(
        "match",
        {first.key: first.right},
        **{f"pair-{first.key}": third.right, f"pair-{second.key}": second.right},
        **{f"pair-{third.key}": third.right},
    )
    assert f"pair-{first.key}" not in sent.fields
    assert sent.is_valid()
    assert sent.cleaned_data["answer"] == ASKED["match"].right_answer


def test_a_pair_that_is_missing_or_not_offered_is_a_sentence():
    first, *_ = ASKED["match"].matching.pairs
    assert said(form("match")) == {"Choose one for each."}
    assert "Choose among these answers." in said(form("match", **{f"pair-{first.key}": "nope"}))


def test_places_become_an_answer():
    places = {
        f"place-{item.key}": str(n) for n, item in enumerate(ASKED["order"].ordering.items, 1)
    }
    sent = form("order", **places)
    assert sent.is_valid()
    assert sent.cleaned_data["answer"] == ASKED["order"].right_answer


def test_a_place_that_is_missing_shared_or_too_high_is_a_sentence():
    first, *others = (f"place-{item.key}" for item in ASKED["order"].ordering.items)
    assert said(form("order")) == {"Give every item a place."}
    shared = {first: "1", **dict.fromkeys(others, "2")}
    assert said(form("order", **shared)) == {
        "Two items stand at place 2: give each a place of its own."
    }
    assert "Choose among the places." in said(form("order", **{first: "9"}))


def test_a_text_is_kept_as_it_was_typed_and_refused_when_nothing_is_left_of_it():
    sent = form("text", answer="  `--Max-Num-Seqs` ")
    assert sent.is_valid()
    assert sent.cleaned_data["answer"] == ["`--Max-Num-Seqs`"]
    assert said(form("text", answer="``")) == {"Write your answer first."}
    assert said(form("text")) == {"Write your answer first."}
    assert said(form("text", answer="a" * 101)) == {
        "A few words are enough: 100 characters at most."
    }
