import pytest

from courseware import glossary
from courseware.glossary import Term
from lessons.markdown import SLOT, inline_html, page_html


@pytest.fixture(autouse=True)
def _one_term(monkeypatch):
    pool = Term("KV pool", "Memory for `live` tokens.", "blocks", metric="vllm:x_perc")
    monkeypatch.setattr(glossary, "glossary", lambda: {"KV pool": pool})


def test_a_keyword_unfolds_inside_its_sentence_and_never_in_a_paragraph_element():
    html = page_html("The [[pool|KV pool]], full.")
    assert html.startswith(
        '<div class="p">The <details class="kw" data-term="KV pool"><summary>pool</summary>'
    )
    assert "Memory for <code>live</code> tokens. Unit: blocks.<code>vllm:x_perc</code>" in html
    assert "</details>, full." in html
    assert "<p>" not in html


def test_a_keyword_is_closed_unless_its_author_opens_it():
    assert " open" not in page_html("[[KV pool]]")
    assert '<details class="kw" data-term="KV pool" open>' in page_html(
        "[[KV pool]]", is_open="KV pool"
    )


def test_a_number_and_its_unit_stay_on_one_line():
    html = page_html("It takes 5 s of 40, `sleep 5 s`, at 90 % and 3 GiB, 4 houses.")
    assert "5\xa0s of 40" in html
    assert "<code>sleep 5 s</code>" in html
    assert "90\xa0% and 3\xa0GiB, 4 houses" in html
    assert inline_html("20 ms") == "20\xa0ms"


def test_the_dashes_of_a_flag_stay_with_its_first_word():
    assert inline_html("`--max-num-seqs 28`").startswith('<code><span class="nb">--max</span>-num')


def test_two_examples_of_a_page_are_no_landmarks():
    assert 'role="region"' not in page_html("```\nx\n```\n\n```\ny\n```")


def test_a_layer_is_a_glyph_and_a_word():
    assert inline_html(":memory:").endswith('<use href="#i-memory"></use></svg>memory</span>')


def test_html_that_slipped_through_is_shown_not_run():
    html = page_html("x <script>alert(1)</script>\n\n<div onclick=x>y</div>")
    assert "<script" not in html
    assert "<div onclick" not in html


def test_a_table_has_headings_for_rows_and_columns_and_a_name_for_its_region():
    html = page_html("/// table | Costs\n| a | b |\n| --- | ---: |\n| x | 1 |\n///")
    assert '<th scope="col">a</th>' in html
    assert '<th scope="row">x</th>' in html
    assert '<td class="n">1</td>' in html
    assert 'role="region"' in html
    assert 'aria-label="Costs"' in html
    assert "style=" not in html


def test_a_formula_says_each_term_plainly_and_ends_with_its_result():
    source = "/// formula | a + b > c\n| t | v |\n| --- | ---: |\n| `a` plain words | 1 |\n| `sum` all | 2 |\n///"
    html = page_html(source)
    assert "<figcaption><code>a + b &gt; c</code></figcaption>" in html
    assert "<code>a</code> <span>plain words</span>" in html
    assert html.index("<tfoot>") < html.index("<code>sum</code>")


def test_an_interactive_block_leaves_a_slot():
    html = page_html("Before.\n\n/// slot | check flat-tpot\n///\n\nAfter.")
    assert SLOT.search(html).groups() == ("check", "flat-tpot")


def test_code_scrolls_inside_a_region_that_the_keyboard_reaches():
    assert '<pre tabindex="0"' in page_html("```json\n{}\n```")


def test_a_stacked_table_keeps_its_roles_and_tells_each_cell_its_heading():
    html = page_html(
        "/// table | Two\n    attrs: {class: stacked}\n\n| a | b |\n| --- | --- |\n| one | two |\n///"
    )
    assert 'class="tabled stacked"' in html
    assert '<table role="table">' in html
    assert '<td data-head="b" role="cell">two</td>' in html
    assert '<th role="rowheader" scope="row">one</th>' in html


def test_a_head_without_words_is_no_heading():
    html = page_html("| a | |\n| --- | ---: |\n| b | 1 |\n")
    assert '<th scope="col">a</th>' in html
    assert '<td class="n"></td>' in html
