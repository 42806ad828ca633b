from lessons.markdown import LAYERS
from lessons.shown import map_of_layers, weakest
from tests.lessons.conftest import LESSON

MEMORY = LESSON.station("four-ooms")
CHECKS = list(MEMORY.checks)


def rows(**given):
    told = {"first_tries": {}, "done": set(), "drills": {}, "solved": set(), "labs_passed": {}}
    return {row.layer: row for row in map_of_layers([LESSON], **told | given)}


def test_five_layers_stand_in_the_order_in_which_a_request_meets_them():
    assert tuple(rows()) == LAYERS


def test_a_check_counts_in_its_stations_layer_if_its_first_try_was_right():
    first = {("failure-modes", CHECKS[0]): True}
    assert (rows(first_tries=first)["memory"].at_once, rows()["memory"].at_once) == (1, 0)
    wrong = rows(first_tries={("failure-modes", CHECKS[0]): False})["memory"]
    assert (wrong.at_once, wrong.tried) == (0, 1)
    assert (
        wrong.checks == len(CHECKS) + 1
    )  # One more stands in another station and says that it is about memory.
    assert wrong.missed == (LESSON, MEMORY)


def test_a_station_without_a_layer_counts_nowhere():
    general = LESSON.stations[0]
    assert not general.layers
    silent = [key for key, asked in general.checks.items() if not asked.layer]
    tried = {("failure-modes", key): True for key in silent}
    assert all(row.is_empty for row in rows(first_tries=tried).values())


def test_a_check_that_names_its_layer_counts_there_and_not_in_its_stations():
    lifetime = LESSON.station("lifetime")
    assert lifetime.layers == ("lifetime",)
    right = rows(first_tries={("failure-modes", "boundary-answer"): True})
    assert right["boundary"].at_once == 1
    assert right["lifetime"].tried == 0
    wrong = rows(first_tries={("failure-modes", "boundary-answer"): False})
    assert wrong["boundary"].missed == (LESSON, lifetime)


def test_pages_read_show_nothing_but_are_not_suggested_again():
    done = {("failure-modes", station.slug) for station in LESSON.stations}
    assert all(row.is_empty for row in rows(done=done).values())
    assert rows(done=done)["memory"].ahead is None
    assert rows()["memory"].ahead == (LESSON, MEMORY)


def test_a_lab_weighs_more_than_checks_when_the_weakest_is_sought():
    everything = {("failure-modes", key): True for key in CHECKS}
    found = rows(first_tries=everything, labs_passed={x: {"a"} for x in LAYERS if x != "memory"})
    assert weakest(found.values()).layer == "memory"
    assert found["overload"].labs == 1


def test_a_drill_counts_in_the_layer_of_its_symptom_and_the_next_one_is_named():
    drills = {"memory": ["3.1", "3.2"], "overload": ["1.1"]}
    found = rows(drills=drills, solved={"3.1", "1.1"})
    assert (found["memory"].solved, found["memory"].drills) == (1, 2)
    assert (found["memory"].unsolved, found["overload"].unsolved) == ("3.2", "")
    assert not found["overload"].is_empty
    assert found["lifetime"].drills == 0


def test_a_drill_weighs_more_than_checks_when_the_weakest_is_sought():
    everything = {("failure-modes", key): True for key in CHECKS}
    drills = {layer: [layer] for layer in LAYERS}
    found = rows(first_tries=everything, drills=drills, solved=set(LAYERS) - {"memory"})
    assert weakest(found.values()).layer == "memory"


def test_of_equals_the_weakest_is_the_one_that_a_request_meets_first():
    assert weakest(rows().values()).layer == "boundary"
