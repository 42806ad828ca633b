"""The prediction beside what was computed."""

from copy import deepcopy

from tests.labs.debrief.marked import MARK, shown


def test_the_prediction_is_set_beside_what_was_computed():
    prediction = shown().prediction
    assert (prediction["said"], prediction["truth"]) == ("60", "550")
    assert (prediction["off"], prediction["way"]) == ("× 9.2", "too low")
    assert prediction["brier"] == "0.49"


def test_without_a_prediction_there_is_nothing_to_compare():
    mark = deepcopy(MARK)
    del mark["debrief"]["prediction"]["value"]
    assert shown(mark).prediction is None
