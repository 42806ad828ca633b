"""What no text may hold: told with its line where it is written, and without effect where it is shown."""

import markdown
import pytest

from courseware.harmless import MOST_OPEN, Harmless, harms
from labs.views.prose import html_of

RUNS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    '<iframe src="javascript:alert(1)"></iframe>',
    "<javascript:alert(1)>",
    "[a](javascript:alert(1))",
    "[a](JaVaScRiPt:alert(1))",
    "[a](<javascript:alert(1)>)",
    "[a](data:text/html;base64,PHNjcmlwdD4=)",
    "![a](javascript:alert(1))",
    "[a][b]\n\n[b]: javascript:alert(1)",
    "[a](&#106;avascript:alert(1))",
)


@pytest.mark.parametrize("text", RUNS)
def test_what_runs_something_is_told_and_runs_nothing(text):
    assert list(harms(text))
    html = markdown.markdown(text, extensions=[Harmless()]).lower()
    assert not any(f"<{tag}" in html for tag in ("script", "svg", "iframe"))
    assert "href=" not in html
    assert "src=" not in html.replace("&lt;img src=", "").replace("&lt;iframe src=", "")
    assert "<a " not in html_of(text)


@pytest.mark.parametrize(
    "text",
    [
        "Press `<Enter>`, read [the page](/labs/) or [theirs](https://example.org/a#b).",
        "```\n<html> [x](javascript:y)\n```",
        "- a\n    - b\n        - c",
        "* * *",
        "a < b and 3 <4",
    ],
)
def test_what_texts_need_is_left_alone(text):
    assert not list(harms(text))


def test_a_harm_names_its_line():
    said = list(harms("One.\n\n[a](ftp://x)\n\n<b>"))
    assert [number for number, _ in said] == [3, 5]
    assert "write https://" in said[0][1]


def test_what_would_take_readers_of_markdown_minutes_is_told_at_once():
    assert list(harms("[" * (MOST_OPEN + 1)))
    assert list(harms("- " * 3_000 + "x"))
    assert not list(harms("[" * MOST_OPEN + "\n\n" + "["))
