"""The playbook's lessons but for its walkthroughs: what they print parses, and what they claim is computed."""

import re

import pytest

from courseware.served import CHECKOUT
from labs.instruments.prometheus.families import BY_NAME
from labs.instruments.promql import parse
from labs.instruments.promql.checking import NEVER_WERE, RENAMED
from lessons import content
from lessons.checks_marking import mark
from lessons.playbook_quantities import PRIOR, READINGS, SHOWN
from lessons.playbook_reveals import panel_recovers, profile_left_on
from lessons.predictions import QUESTIONS, result_of

SLUGS = ("method", "toolkit", "memory-budget", "practice")
LESSONS = [content.lessons()[slug] for slug in SLUGS]
FILES = [
    path
    for slug in SLUGS
    for path in sorted(next((CHECKOUT.lessons / "02-playbook").glob(f"*-{slug}")).glob("*.md"))
]
CHECKS = [(lesson, s.slug, key) for lesson in LESSONS for s in lesson.stations for key in s.checks]
FENCE = re.compile(r"```promql\n(?P<query>.*?)```", re.DOTALL)
QUERIES = [match["query"] for path in FILES for match in FENCE.finditer(path.read_text("utf-8"))]


def words(path):
    """Return the words of a station's own text: no head, no checks, no code."""
    text = path.read_text("utf-8").split("+++", 2)[2]
    text = re.sub(r"/// check.*?\n///\n", "", text, flags=re.DOTALL)
    return re.sub(r"```.*?```", "", text, flags=re.DOTALL).replace("|", " ").split()


@pytest.mark.parametrize("query", QUERIES)
def test_every_query_that_is_printed_parses_where_the_labs_would_run_it(query):
    assert parse(query)


def test_the_lesson_on_alerts_prints_queries():
    assert len(QUERIES) >= 5


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_station_can_be_read_in_eight_to_fourteen_minutes(path):
    assert 350 <= len(words(path)) <= 900


@pytest.mark.parametrize(("lesson", "station", "key"), CHECKS)
def test_the_right_answer_of_a_check_earns(lesson, station, key):
    asked = lesson.station(station).checks[key]
    verdict = mark(asked, asked.right_answer)
    assert verdict.right
    assert asked.explanation


def test_the_lessons_ask_in_all_six_kinds():
    kinds = {lesson.station(station).checks[key].kind for lesson, station, key in CHECKS}
    assert kinds == {"one", "many", "number", "match", "order", "text"}


def test_a_name_of_today_is_a_name_that_the_server_exports():
    text = (CHECKOUT.lessons / "02-playbook/28-toolkit/04-names.md").read_text("utf-8")
    table = text.partition("| you may find |")[2].partition("\n///")[0]
    for row in table.splitlines()[2:]:
        today = row.split("|")[2]
        for name in re.findall(r"`(vllm:[a-z0-9_]+)`", today):
            assert name in BY_NAME, name


def test_a_name_of_yesterday_is_one_that_the_console_calls_old():
    text = (CHECKOUT.lessons / "02-playbook/28-toolkit/04-names.md").read_text("utf-8")
    for name in ("vllm:gpu_cache_usage_perc", "vllm:time_per_output_token_seconds"):
        assert name in RENAMED
        assert name in text
    assert "vllm:num_graph_captures" in NEVER_WERE


def test_the_pitfalls_are_as_many_as_the_title_says():
    station = content.lessons()["practice"].stations[0]
    html = "".join(part.value for part in station.parts if part.kind == "prose")
    assert html.count('role="rowheader"') == 17
    assert station.title == "Seventeen wrong turns"


def test_the_best_reading_a_minute_is_the_router_and_the_most_bits_are_the_arrivals():
    rates = {name: float(SHOWN[f"{name}_rate"]) for name in READINGS}
    bits = {name: float(SHOWN[f"{name}_bits"]) for name in READINGS}
    assert max(rates, key=rates.get) == "router"
    assert max(bits, key=bits.get) == "offered"
    assert min(rates, key=rates.get) == "recompute"
    assert sum(PRIOR.values()) == pytest.approx(1)


def test_a_panel_recovers_most_of_a_window_after_its_queue():
    facts = result_of(panel_recovers()).facts
    empty, recovered = float(facts["empty"]), float(facts["recovered"])
    assert empty + 3 <= recovered <= empty + 6
    # The text says that it reads worse after the right change than before it.
    assert int(facts["five"]) > int(facts["now"])


def test_a_profile_left_on_costs_more_than_its_factor():
    facts = result_of(profile_left_on()).facts
    assert float(facts["at_once"]) < 1.4
    # In the long run N = λ tokens step(N): 1.53 times as long at 0.36 a second, and this traffic is a little denser.
    assert 1.5 < float(facts["factor"]) < 1.7


def test_the_other_answers_follow_from_their_formulas():
    answer = {
        key: result_of(QUESTIONS[key].compute()).answer
        for key in ("base-rate", "pool-tp2", "gate-false-alarm")
    }
    assert answer["base-rate"] == pytest.approx(100 * 0.0198 / (0.0198 + 0.049))
    assert answer["pool-tp2"] == 10_208
    assert answer["gate-false-alarm"] == pytest.approx(19.8, abs=0.1)
