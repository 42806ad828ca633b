"""The glossary: one definition a term, refused with file and term where it cannot be used."""

import re

import markdown
import pytest

from courseware.glossary import GlossaryError, Keywords, glossary, unknown_terms

SOUND = '[TTFT]\nmeans = "Time to first token."\nunit = "s"\nalso = ["first token"]\n'


@pytest.fixture
def written(tmp_path):
    """A function that writes a glossary and reads it."""

    def write(text):
        path = tmp_path / "glossary.toml"
        path.write_text(text, encoding="utf-8")
        glossary.cache_clear()
        return glossary(path)

    yield write
    glossary.cache_clear()


def test_a_term_has_a_meaning_and_what_else_is_known_of_it(written):
    term = written(SOUND)["TTFT"]
    assert (term.means, term.unit, term.also) == ("Time to first token.", "s", ("first token",))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[TTFT]\nunit = "s"\n', "TTFT: means: missing"),
        ('[TTFT]\nmeans = "M."\nsize = "s"\n', "TTFT: size: unknown key"),
        ("[TTFT]\nmeans = 3\n", "TTFT: means: write a text"),
        ('[TTFT]\nmeans = "M."\nalso = "x"\n', "TTFT: also: write a list of texts"),
        ('[TTFT]\nmeans = "M."\nsee = ["TPOT"]\n', "TTFT: see: no term is called 'TPOT'"),
        ('TTFT = "M."\n', "TTFT: write a table"),
        (SOUND + '["First token"]\nmeans = "M."\n', "is a name of 'TTFT' and of 'First token'"),
        ("[TTFT\n", "glossary.toml"),
    ],
)
def test_a_broken_glossary_names_file_and_term(written, text, words):
    with pytest.raises(GlossaryError, match=re.escape(words)):
        written(text)


def test_the_courses_own_definitions_are_plain_and_short():
    slugs = [term.slug for term in glossary().values()]
    assert len(set(slugs)) == len(slugs)
    for term in glossary().values():
        assert term.means.endswith("."), term.term
        assert len(term.means.split()) <= 60, term.term
        assert not re.search(r"\b(simply|just|obviously|powerful|robust)\b", term.means), term.term


def test_a_mark_that_is_no_term_is_found_with_its_line():
    text = "The [[TTFT]].\n\nA [[mystery]] and an [[odd|puzzle]]."
    assert list(unknown_terms(text)) == [(3, "mystery"), (3, "puzzle")]


def test_a_term_unfolds_in_any_text():
    html = markdown.markdown("The [[first token|TTFT]] is late.", extensions=[Keywords()])
    assert html.startswith('<div class="p">')
    assert "<summary>first token</summary>" in html
    assert glossary()["TTFT"].metric in html
