import re
import threading
from io import StringIO
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from django.core.management import CommandError, call_command

from courseware.preview_server import server_of
from courseware.previewing import page_of, preview_of
from courseware.served import CHECKOUT
from tests.lessons import kinds

STATION = f"""+++
title = "A new station"
short = "New"
minutes = 3
+++

/// in-short
Short. Simply so.
///

{kinds.block("match")}
{kinds.block("order")}
{kinds.block("text")}
{kinds.block("number")}
/// analogy | In the kitchen
Words.
///

/// takeaway
Keep.
///
"""


@pytest.fixture
def station(tmp_path):
    path = tmp_path / "07-new.md"
    path.write_text(STATION)
    return path


@pytest.mark.parametrize(
    ("path", "kind", "shown"),
    [
        (next(CHECKOUT.lessons.glob("01-*/23-*/04-*.md")), "station", "The queue or the token"),
        (CHECKOUT.lessons / "symptoms" / "5.4.md", "symptom", "margin = 12"),
        (CHECKOUT.lessons / "drills" / "5.4" / "scene.md", "drill", "law firm"),
        (CHECKOUT.labs / "preemption-storm" / "brief.md", "lab", "atlas-70b"),
        (CHECKOUT.labs / "preemption-storm" / "debrief.md", "lab", "<p>"),
    ],
)
def test_every_kind_of_text_has_a_preview_that_stands_alone(path, kind, shown):
    found = preview_of(path)
    html = page_of(found, standalone=True)
    assert (found.kind, found.fault) == (kind, "")
    assert shown in html
    assert not re.search(r"<script[^>]*src|<link", html)


def test_a_station_that_belongs_to_no_lesson_shows_what_its_checks_keep_back(station):
    found = preview_of(station)
    html = page_of(found)
    assert (found.kind, found.fault) == ("station", "")
    for said in (
        "The pool is big, so it looks guilty.",
        "It gets what all others have left.",
        "Look for the flag whose unit is sequences.",
        "That is how many wait.",
        "Phase first, ledger second.",
    ):
        assert said in html


def test_the_bar_counts_words_and_names_those_that_the_course_does_without(station):
    facts = preview_of(station).facts
    assert "3 min" in facts
    assert "line 8: “Simply”" in facts
    assert (
        preview_of(CHECKOUT.lessons / "symptoms" / "5.4.md")
        .facts[0]
        .endswith("words, 150 to 520 wanted")
    )


def test_a_mistake_is_told_as_the_check_tells_it_with_the_lines_around_it(station):
    station.write_text(STATION.replace("Keep.", "The [[KV poll]] is full."))
    found = preview_of(station)
    line = station.read_text().splitlines().index("The [[KV poll]] is full.") + 1
    assert found.fault.startswith(f"{station}:{line}: no keyword is called 'KV poll'; did you mean")
    assert f"<mark>{line}  The [[KV poll]] is full.</mark>" in page_of(found)


@pytest.mark.parametrize("name", ["lab.toml", "brief.md", "nowhere.md"])
def test_what_is_no_text_is_refused_with_what_to_do(tmp_path, name):
    if name == "lab.toml":
        (tmp_path / name).write_text("x = 1")
    if name == "brief.md":
        (tmp_path / name).write_bytes(b"\xff\xfe")
    fault = preview_of(tmp_path / name).fault
    assert fault.startswith(f"{tmp_path / name}:")


def test_the_command_writes_one_page_or_stops_with_the_mistake(station, tmp_path):
    out, said = tmp_path / "page.html", StringIO()
    call_command("preview", station, out=out, stdout=said)
    assert "A new station" in out.read_text()
    assert "words; 3 min" in said.getvalue()
    station.write_text("Nothing.")
    with pytest.raises(CommandError, match=r"07-new\.md:1: begin with"):
        call_command("preview", station, out=out)
    with pytest.raises(CommandError, match="there is no such file"):
        call_command("preview", tmp_path / "nowhere.md")


def test_a_served_preview_tells_when_its_file_was_saved_and_takes_no_answers(station):
    told = []
    with server_of(station, 0, told.append) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_port}"

        def get(path, data=None):
            with urlopen(base + path, data, timeout=10) as answer:
                return answer.read().decode()

        state = get("/state")
        assert f'data-seen="{state}"' in get("/")
        assert told == []
        station.write_text(STATION.replace("Keep.", "Keep this."))
        assert get("/state") != state
        assert "Keep this." in get("/")
        assert [each.kind for each in told] == ["station"]
        assert "setInterval" in get("/static/js/preview.js")
        for path, data, status in (("/lessons/", None, 404), ("/", b"x=1", 405)):
            with pytest.raises(HTTPError) as refused:
                get(path, data)
            refused.value.close()
            assert refused.value.code == status
        server.shutdown()


def test_a_port_that_there_is_not_is_refused_in_words(station):
    with pytest.raises(CommandError, match="from 1 to 65535"):
        call_command("preview", station, port=99_999_999)
