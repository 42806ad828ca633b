"""``manage.py prove --drills``: the table of each drill, by its number."""

import json

import pytest
from django.core.management import CommandError, call_command

from lessons.drills.proving import DrillProof
from lessons.management.commands import prove as command


def test_drills_are_proved_by_their_numbers(capsys):
    call_command("prove", "1.1", drills=True)
    told = capsys.readouterr().out
    assert "drill 1.1" in told
    assert "every world shows the symptom" in told
    assert "bits a minute" in told


def test_for_machines_it_is_json(capsys):
    call_command("prove", "1.1", drills=True, json=True)
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["number"], found["best"]) == ("1.1", "counters")


def test_an_unknown_drill_is_told_which_there_are():
    with pytest.raises(CommandError, match=r"no drill '9\.9'; there are: 1\.1"):
        call_command("prove", "9.9", drills=True)


def test_a_drill_that_fails_is_heard(monkeypatch):
    from labs.proof import Line

    red = DrillProof("1.1", [Line(1, "never", 0.0, 1.0)], "counters")
    monkeypatch.setattr(command, "prove", lambda number: red)
    with pytest.raises(SystemExit):
        call_command("prove", "1.1", drills=True)


def test_without_drills_it_proves_labs():
    with pytest.raises(CommandError, match="name a lab, or --all"):
        call_command("prove")
