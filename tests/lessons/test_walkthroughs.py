"""Walkthroughs carried out: what their text claims of them holds; and a broken one says where it is broken."""

import pickle
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from labs import incident, pool
from lessons import content, walking
from lessons.front_matter import ContentError
from lessons.predictions import result_of
from lessons.walkthroughs import FILE, shown, walkthrough_in, why_not
from tests.lessons.test_content import STATION

LESSONS = {slug: each for slug, each in content.lessons().items() if each.walkthrough}
STORM = LESSONS["late-first-tokens"].walkthrough
TOML = """
lab = "preemption-storm"
world = "demand"
seed = 900025

[[steps]]
id = "queue"
title = "Who waits"
run = "request-log --waiting"
find = { waiting = 'waiting (\\d+)', oldest_s = 'oldest ([\\d.]+) s' }
work_out = { rate = "waiting / oldest_s" }
claims = ["oldest_s > 100"]
"""


@pytest.mark.parametrize("slug", LESSONS)
def test_every_step_says_what_the_text_claims_and_costs_what_its_button_says(slug):
    walk = LESSONS[slug].walkthrough
    world = incident.begin(walk.spec, walk.seed, hypothesis=walk.world)
    values: dict[str, float] = {}
    for step in walk.steps:
        assert world.clock_s == step.at_s
        outcome = incident.perform(world, step.command, step.number)
        assert outcome.kind != "refused", outcome.text
        assert outcome.cost_s == step.cost_s
        values |= walking.found_in(step, outcome, values)
        for claim in step.claims:
            assert claim.holds(values), f"{step.key}: {claim}, with {values}"


@pytest.mark.parametrize("slug", LESSONS)
def test_a_walkthrough_is_none_of_the_incidents_that_its_lab_serves(slug):
    walk = LESSONS[slug].walkthrough
    assert walk.seed not in pool.admitted(walk.lab)


@pytest.mark.parametrize("slug", LESSONS)
def test_a_walkthrough_ends_with_the_promises_kept_and_its_lab_as_the_exam(slug):
    lesson = LESSONS[slug]
    last = lesson.walkthrough.steps[-1]
    assert last.line == "verify"
    told = result_of(walking.answer(lesson.walkthrough, last.key)).outcome.signals
    promises = {name: value for name, value in told.items() if name.startswith("promise:")}
    slos = lesson.walkthrough.spec.slos
    assert all(promises[f"promise:{name}"] >= slo.target for name, slo in slos.items())
    labs = [part.value for part in lesson.stations[-1].parts if part.kind == "lab"]
    assert labs == [lesson.walkthrough.lab]


@pytest.mark.parametrize("slug", LESSONS)
def test_no_number_of_a_run_stands_in_the_page_before_it_is_run(slug):
    for station in LESSONS[slug].stations:
        prose = "".join(part.value for part in station.parts if part.kind == "prose")
        settings = [prose, *(f"{text.ask}{text.setting}" for text in station.runs.values())]
        assert not any("⟦" in text for text in settings)


def test_the_moment_of_a_step_is_reached_by_the_steps_before_it():
    answer = result_of(walking.answer(STORM, "cap-alarm"))
    step = STORM.step("cap-alarm")
    assert (answer.before_s, answer.outcome.cost_s) == (step.at_s, step.cost_s)
    assert answer.changes_s == (STORM.step("cap").at_s,)
    assert {"p95_page", "p95_capped"} <= set(answer.facts)


def test_another_reading_is_taken_at_the_same_moment_and_has_no_facts():
    own = result_of(walking.answer(STORM, "queue"))
    other = result_of(walking.answer(STORM, "queue", "dashboard queue"))
    assert other.before_s == own.before_s
    assert other.outcome.panel["series"]
    assert not other.facts
    refused = result_of(walking.answer(STORM, "queue", "promql 'nonsense('"))
    assert (refused.outcome.kind, refused.outcome.cost_s) == ("refused", 0)


def test_the_same_step_gives_the_same_bytes():
    answers = [result_of(walking.answer(STORM, "load")).as_json() for _ in range(2)]
    assert pickle.dumps(answers[0]) == pickle.dumps(answers[1])


def test_progress_comes_while_the_world_is_brought_there():
    steps = list(walking.answer(STORM, "gaps"))
    assert [each.done_s for each in steps] == sorted(each.done_s for each in steps)
    assert steps[-1].done_s == steps[-1].total_s


def test_the_version_follows_the_steps():
    changed = walkthrough_of(TOML)
    assert walking.code_version(STORM) != walking.code_version(changed)
    assert walking.code_version(STORM) == walking.code_version(STORM)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("restart --max-num-seqs 28", "would leave this walkthrough's world"),
        ("wait 5m", "would leave this walkthrough's world"),
        ("undo 1", "would leave this walkthrough's world"),
        ("kubectl get pods", "There is no kubectl here"),
        ("topo -m", "This lab has no such instrument"),
        ("", "Type a command"),
        ("request-log --waiting", ""),
        ("request-log --waiting | head -n 1", ""),
        ("kv-ledger", ""),
        ("verify", ""),
        ("help", ""),
    ],
)
def test_a_line_of_ones_own_is_a_reading_or_is_refused_with_a_sentence(line, words):
    refusal = why_not(STORM, STORM.step("queue"), line)
    assert words in refusal
    assert bool(refusal) == bool(words)


def test_the_steps_own_change_is_not_refused():
    assert why_not(STORM, STORM.step("cap"), "  restart  --max-num-seqs 24") == ""


@pytest.mark.parametrize(
    ("value", "words"), [(288.383, "288"), (0.01675, "0.0168"), (6743, "6,743"), (1234.5, "1,234"), (0.0, "0")]
)  # fmt: skip
def test_a_fact_is_written_with_three_digits(value, words):
    assert shown(value) == words


# ----------------------------------------------------------------------------------- broken ones


def walkthrough_of(text: str):
    with TemporaryDirectory() as folder:
        (Path(folder) / FILE).write_text(text)
        return walkthrough_in(Path(folder))


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ('"preemption-storm"', '"nope"', "lab: no lab is called 'nope'"),
        ('"demand"', '"nope"', "world: preemption-storm has no 'nope'"),
        ("900025", '"one"', "seed: write a whole number"),
        ('id = "queue"', 'id = "The queue"', "write an id"),
        ('run = "request-log --waiting"', 'run = "request-log --sometimes"', "step 1 (queue): run"),
        ('run = "request-log --waiting"', 'run = "topo -m"', "no such instrument"),
        ("(\\d+)", "\\d+", "one group around the number"),
        ("(\\d+)", "(\\d+", "find.waiting"),
        ("oldest_s =", "waiting =", "TOML"),
        ("waiting / oldest_s", "waiting", "write two facts or numbers"),
        ("waiting / oldest_s", "waiting / youngest_s", "finds a fact 'youngest_s'"),
        ("oldest_s > 100", "oldest_s is long", "write two facts or numbers"),
        ("oldest_s > 100", "p95 > 100", "finds a fact 'p95'"),
        ('title = "Who waits"', "", "title: missing"),
    ],
)
def test_a_broken_walkthrough_names_the_file_and_the_key(before, after, words):
    assert before in TOML
    with pytest.raises(ContentError) as caught:
        walkthrough_of(TOML.replace(before, after))
    assert FILE in str(caught.value)
    assert words in str(caught.value) or words == "TOML"


def test_a_folder_without_one_has_none(tmp_path):
    assert walkthrough_in(tmp_path) is None


RUN = """
## Look

/// run | queue
Who waits.
> {{ computed.waiting }} wait.
///
"""


def course_of(root, text: str, *, walk: str = TOML):
    folder = root / "01-unit" / "01-lesson"
    folder.mkdir(parents=True)
    (root / "01-unit" / "unit.toml").write_text('title = "Unit"')
    (folder / "lesson.toml").write_text('title = "L"\nnumber = 1\ngoal = "G"\n')
    (folder / "01-one.md").write_text(STATION + text)
    if walk:
        (folder / FILE).write_text(walk)
    return content.course(root)


def test_a_station_runs_the_steps_of_the_file_beside_it(tmp_path):
    ((lesson,),) = (unit.lessons for unit in course_of(tmp_path, RUN))
    assert lesson.stations[0].runs["queue"].explanation == "⟦waiting⟧ wait."
    assert lesson.with_run("queue") is lesson.stations[0]


@pytest.mark.parametrize(
    ("text", "walk", "words"),
    [
        (RUN, "", "no step is called 'queue' in"),
        (RUN.replace("| queue", "| line"), TOML, "no step is called 'line' in"),
        (RUN.replace("## Look", "Look."), TOML, "put a heading"),
        (RUN.replace("computed.waiting", "computed.p95"), TOML, "no step until here finds 'p95'"),
        (RUN.replace("Who waits.", "{{ computed.waiting }}"), TOML, "only in the explanation"),
        ("", TOML, "should run “queue” next"),
        (RUN + RUN, TOML, "stands in"),
    ],
)
def test_a_station_that_does_not_fit_its_walkthrough_says_so(tmp_path, text, walk, words):
    with pytest.raises(ContentError, match=words):
        course_of(tmp_path, text, walk=walk)
