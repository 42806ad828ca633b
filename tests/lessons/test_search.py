"""Search: every word counts, titles first, and nothing that would tell."""

from labs.catalogue import labs
from lessons.search import KINDS, index, search, words_of


def titles(query, kind):
    return [entry.title for entry in search(query).get(kind, [])]


def test_a_query_without_words_finds_nothing():
    assert search("") == search(" .,- ") == {}


def test_words_find_what_begins_with_them():
    assert "preemption" in titles("preempt", "Glossary")
    assert "KV pool" in titles("kv po", "Glossary")


def test_every_word_must_fit():
    assert titles("template deployed", "Symptoms")
    assert not titles("template zebra", "Symptoms")


def test_a_title_comes_before_a_text():
    assert titles("TTFT", "Glossary")[0] == "TTFT"


def test_a_metric_is_found_by_its_parts():
    assert "num_preemptions_total" in words_of("`vllm:num_preemptions_total`")
    assert "preemption" in titles("num_preemptions_total", "Glossary")
    assert "preemptions" in words_of("vllm:num_preemptions_total")


def test_of_a_lab_nothing_is_searched_that_would_tell():
    for slug, spec in labs().items():
        (entry,) = (each for each in index() if each.address == ("labs:lab", slug))
        told = {
            word for text in (spec.title, spec.summary, spec.alarm_title) for word in words_of(text)
        }
        assert set(entry.title_words) | entry.text_words <= told | {"lab", spec.number}


def test_kinds_come_in_the_order_of_the_page():
    found = list(search("t"))
    assert found == [kind for kind in KINDS if kind in found]
