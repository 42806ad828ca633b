"""A demonstration on its page: its start, a setting by address, a setting by htmx, and what is at fault."""

import html
import re
from urllib.parse import urlencode

import pytest
from django.urls import reverse

from lessons import content
from tests.lessons.conftest import HTMX
from tests.lessons.test_content import STATION

pytestmark = pytest.mark.django_db
KEY = "open-and-closed"
BLOCK = f"\n/// demo | {KEY}\n    clients: 4\n///\n"
PAGE = "/lessons/varied/one/"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    root = tmp_path_factory.mktemp("demos")
    folder = root / "01-unit" / "01-varied"
    folder.mkdir(parents=True)
    (root / "01-unit" / "unit.toml").write_text('title = "Unit"')
    (folder / "lesson.toml").write_text('title = "L"\nnumber = 1\ngoal = "G"\n')
    (folder / "01-one.md").write_text(STATION + BLOCK)
    return content.course(root)[0].lessons[0]


@pytest.fixture(autouse=True)
def varied(written, monkeypatch):
    known = content.lessons()
    monkeypatch.setattr(content, "lessons", lambda: {**known, "varied": written})


def asked(client, page=PAGE, **typed):
    extra = HTMX if page != PAGE else {}
    response = client.get(f"{page}?{urlencode({'demo': KEY, **typed})}", **extra)
    return response, html.unescape(response.content.decode())


@pytest.fixture
def address():
    return reverse("lessons:demo", args=["varied", KEY])


def said(text: str) -> str:
    return re.search(r'class="asked">([^<]*)<', text)[1].replace("\xa0", " ")


def test_a_station_shows_a_demonstration_where_its_author_put_it(client):
    text = client.get(PAGE).content.decode()
    assert re.search(r'name="clients"[^>]*value="4"', text)
    assert "The tool reports 400 ms" in said(text)
    assert "js/demos.js" in text
    assert "plotly" in text


def test_an_address_sets_it_without_javascript(client):
    response, text = asked(client, clients="20", service_ms="50")
    assert response.status_code == 200
    assert "The tool reports 1.00 s" in said(text)
    assert re.search(r'name="clients"[^>]*value="20"', text)


def test_an_address_of_another_demonstration_leaves_it_alone(client):
    text = client.get(PAGE + "?demo=another&clients=20").content.decode()
    assert "The tool reports 400 ms" in said(text)


@pytest.mark.parametrize("typed", ["900", "abc", "", "2.5", "-1", "1e3", "9" * 300, "<b>", "\x00"])
def test_a_page_with_a_fault_keeps_the_words_and_the_last_good_result(client, typed):
    response, text = asked(client, clients=typed, last=urlencode({"clients": 12}))
    assert response.status_code == 200
    assert "from 1 to 64." in text
    assert "The tool reports 1.20 s" in said(text)
    assert 'aria-invalid="true"' in text


def test_htmx_gets_the_result_and_empty_sentences(client, address):
    response, text = asked(client, address, clients="20", service_ms="50")
    assert response.status_code == 200
    assert "<html" not in text
    assert "The tool reports 1.00 s" in said(text)
    assert re.search(rf'id="demo-{KEY}-clients-fault" hx-swap-oob="innerHTML">\s*</p>', text)


def test_htmx_with_a_fault_swaps_only_the_sentences(client, address):
    response, text = asked(client, address, clients="900", rate_rps="x")
    assert response.status_code == 422
    assert response["HX-Reswap"] == "none"
    assert "asked" not in text
    assert "“900” is above the most: write a whole number from 1 to 64." in text
    assert "“x” is no number: write a number from 0.5 to 20." in text


def test_the_link_shows_the_same_setting(client, address):
    _, text = asked(client, address, clients="20", service_ms="50")
    link = re.search(r'href="([^"]*)"[^>]*>Link to this setting', text)[1]
    assert link.startswith(PAGE)
    assert link.endswith(f"#demo-{KEY}")
    assert said(html.unescape(client.get(link).content.decode())) == said(text)


def test_the_address_of_a_result_leads_to_the_station_without_htmx(client, address):
    response = client.get(address + "?clients=20")
    assert response.status_code == 302
    assert response.url == f"{PAGE}?clients=20&demo={KEY}#demo-{KEY}"


@pytest.mark.parametrize("path", ["nope/demos/open-and-closed/", "varied/demos/nope/"])
def test_an_unknown_demonstration_is_not_found(client, path):
    assert client.get(f"/lessons/{path}").status_code == 404


def test_a_demonstration_takes_no_post(client, address):
    assert client.post(address).status_code == 405
