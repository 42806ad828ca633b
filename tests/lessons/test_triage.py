"""The triage card: it agrees with Unit 1, its commands can be typed, and a broken file says where."""

import re

import pytest
from django.urls import reverse

from courseware.served import CHECKOUT
from labs.console import Command, parse
from lessons.front_matter import ContentError
from lessons.markdown import LAYERS
from lessons.triage import triage

CARD = triage()


def rows_of_unit_one():
    """Return symptom, layer and first reading of the table at the end of Unit 1, as Markdown."""
    path = CHECKOUT.lessons / "01-serving/23-failure-modes/06-lifetime.md"
    table = path.read_text("utf-8").partition("| symptom | layer | read first | then |")[2]
    rows = [line for line in table.partition("\n///")[0].splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows[1:]]


def test_its_symptoms_are_those_of_unit_one_and_the_lifetime():
    table = rows_of_unit_one()
    assert [row.symptom for row in CARD.rows[:-1]] == [row[0] for row in table]
    for row, (_, layer, *_) in zip(CARD.rows[:-1], table, strict=True):
        assert layer.startswith(f":{row.layer}:")
        assert layer.partition(": ")[2].removeprefix(":") in {row.part, ""}
    assert CARD.rows[-1].layer == "lifetime"


def test_every_layer_is_on_it():
    assert {row.layer for row in CARD.rows} == set(LAYERS)


@pytest.mark.parametrize("command", [row.command for row in CARD.rows])
def test_every_command_is_one_that_the_consoles_take(command):
    assert isinstance(parse(command), Command)


def test_each_row_says_what_would_rule_it_out():
    assert all(row.rules_out and row.then and row.first for row in CARD.rows)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('layer = "boundary"', 'layer = "network"', r"row 1: layer: 'network' is none of"),
        ('layer = "boundary"', "", r"row 1: layer: missing"),
        ('name = "Little\'s law"', "name = 3", r"sum 1: name: write a text"),
        ("steps =", "acts =", r"acts: unknown key"),
        ("steps = [", "steps = [3, ", r"triage\.toml:\d+: steps: write texts in quotes, not 3"),
        ("steps = [", "steps = ['[[mystery]]', ", r"no keyword is called 'mystery'"),
    ],
)
def test_a_broken_card_says_where(tmp_path, old, new, words):
    source = (CHECKOUT.lessons / "triage.toml").read_text("utf-8")
    assert old in source
    path = tmp_path / "triage.toml"
    path.write_text(source.replace(old, new, 1), "utf-8")
    with pytest.raises(ContentError, match=words):
        triage(path)


@pytest.mark.django_db
def test_the_page_shows_it_and_lessons_and_symptoms_lead_there(client):
    address = reverse("lookup:triage")
    html = client.get(address).content.decode()
    assert html.count('role="rowheader"') == len(CARD.rows)
    assert "request-log --last 12m --summary" in html
    for name in ("lessons:index", "lookup:symptoms"):
        assert f'href="{address}"' in client.get(reverse(name)).content.decode()
    station = reverse("lessons:station", args=["failure-modes", "lifetime"])
    assert re.search(rf'href="{address}"', client.get(station).content.decode())
