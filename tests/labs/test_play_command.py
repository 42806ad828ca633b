"""``manage.py play`` and ``prove``: what they print, and one clear line for a mistake."""

import json

import pytest
from django.core.management import CommandError, call_command

from labs import pool

SLUG = "preemption-storm"
ADMITTED = len(pool.admitted(SLUG))


def play(capsys, *arguments):
    call_command("play", *arguments)
    return capsys.readouterr().out


@pytest.mark.slow
def test_a_play_prints_each_criterion_minutes_and_seconds(capsys):
    text = play(capsys, SLUG, "--as", "cheat:restart only", "--seed", "2")
    first, *parts, total, times = text.splitlines()
    assert "seed 2 (" in first
    assert first.endswith("played as restart only")
    assert [line.split()[0] for line in parts] == [
        "scope",
        "localisation",
        "mechanism",
        "evidence",
        "mitigation",
        "economy",
    ]
    assert total.split()[:4] == ["total", "0.0", "of", "100"]
    assert "incident 11:20, wall " in times
    assert times.endswith("ceiling 40")


@pytest.mark.slow
def test_a_play_prints_one_json_object(capsys):
    said = json.loads(play(capsys, SLUG, "--json"))
    assert (said["lab"], said["play"], said["seed"]) == (SLUG, "reference", 1)
    assert said["seed_value"] == pool.admitted(SLUG)[0]
    assert said["total"] == sum(said["marks"].values()) == 100.0
    assert set(said["reasons"]) == set(said["marks"])
    assert said["incident_minutes"] > 10
    assert 0 < said["wall_seconds"] < 60
    assert said["passed"] is said["graded"] is True


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["no-such-lab"], r"no lab 'no-such-lab'; there are: .*preemption-storm"),
        ([SLUG, "--as", "counterexample:nothing"], r"there is no such play; this lab has"),
        (
            [SLUG, "--as", "cheat:nothing"],
            r"there is no 'cheat:nothing'; this lab has .*restart only",
        ),
        ([SLUG, "--seed", "0"], rf"--seed 0: this lab has {ADMITTED} admitted seeds, from 1"),
        ([SLUG, "--seed", str(ADMITTED + 1)], rf"this lab has {ADMITTED} admitted seeds, from 1"),
    ],
    ids=["lab", "play", "cheat", "seed before the first", "seed after the last"],
)
def test_a_mistake_is_one_clear_line(arguments, told):
    with pytest.raises(CommandError, match=told) as caught:
        call_command("play", *arguments)
    assert len(str(caught.value).splitlines()) == 1
    assert caught.value.returncode == 1


def test_a_play_of_the_other_world_is_told_so():
    demand = next(
        n
        for n, each in enumerate(pool.record(SLUG)["seeds"], start=1)
        if each["hypothesis"] == "demand"
    )
    with pytest.raises(CommandError, match=r"cap\.toml: no \[\[demand\]\] and no \[\[any\]\]"):
        call_command("play", SLUG, "--as", "counterexample:cap", "--seed", str(demand))


def test_a_lab_that_is_not_proved_says_what_to_run(monkeypatch):
    def lost(slug):
        raise pool.NotProved("pool.json is missing; run: manage.py prove preemption-storm")

    monkeypatch.setattr(pool, "admitted", lost)
    with pytest.raises(CommandError, match=r"run: manage\.py prove"):
        call_command("play", SLUG)


def test_proving_a_lab_that_is_not_there_is_one_clear_line():
    with pytest.raises(CommandError, match="no lab 'nothing'"):
        call_command("prove", "nothing")
