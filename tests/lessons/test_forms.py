import pytest
from django.core.exceptions import ValidationError

from lessons.forms import PredictionForm, number_of
from lessons.predictions import QUESTIONS


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("114688", 114688),
        ("114,688", 114688),
        ("114 688", 114688),
        ("0.5", 0.5),
        ("1,200.5", 1200.5),
    ],
)
def test_a_number_may_have_thousands_marks(typed, value):
    assert number_of(typed) == value


@pytest.mark.parametrize("typed", ["lots", "-lots", "1,5", "12 s", "1e5", "nan", "1,2345"])
def test_anything_else_is_refused_with_an_example(typed):
    with pytest.raises(ValidationError, match="Write a number, such as"):
        number_of(typed)


@pytest.mark.parametrize("typed", ["-1", "−0.5", "- 1,200"])
def test_a_negative_number_is_called_one(typed):
    with pytest.raises(ValidationError, match="not negative"):
        number_of(typed)


def test_a_prediction_beyond_reason_is_refused():
    form = PredictionForm(
        QUESTIONS["drain-30"], {"value": "101", "confidence": "70", "why": "because"}
    )
    assert form.errors["value"] == ["Write at most 100 per cent."]
