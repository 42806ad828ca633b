"""The tiny models: the same bytes each time, and a tokenizer whose tokens can be counted by hand."""

import json
import subprocess
import sys

import pytest

from labs.live import build_model

VOCABULARY = json.loads(build_model.files_of("tiny-llama")["tokenizer.json"])["model"]["vocab"]


def test_a_model_is_built_with_the_same_bytes_twice_and_in_another_process(tmp_path):
    for name in build_model.recipes():
        folder = build_model.build(name, tmp_path / "one")
        first = {path.name: path.read_bytes() for path in folder.iterdir()}
        build_model.build(name, tmp_path / "one")
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == first
    subprocess.run(
        [sys.executable, "-P", build_model.__file__, tmp_path / "two"],
        check=True,
        env={"PYTHONHASHSEED": "7"},
        stdout=subprocess.DEVNULL,
    )
    for name in build_model.recipes():
        for path in (tmp_path / "one" / name).iterdir():
            assert (tmp_path / "two" / name / path.name).read_bytes() == path.read_bytes()


@pytest.mark.parametrize(("name", "kv_bytes"), [("tiny-llama", 512), ("small-llama", 12_288)])
def test_a_token_keeps_as_many_bytes_as_the_recipe_says(name, kv_bytes):
    files = build_model.files_of(name)
    shape = json.loads(files["config.json"])
    values = shape["num_key_value_heads"] * shape["head_dim"] * shape["num_hidden_layers"]
    assert values * 2 * 2 == kv_bytes
    assert f"{kv_bytes:,} B" in (build_model.MODELS / f"{name}.toml").read_text()
    assert shape["num_attention_heads"] * shape["head_dim"] == shape["hidden_size"]


def test_every_id_of_the_vocabulary_is_one_token():
    assert sorted(VOCABULARY.values()) == list(range(build_model.VOCABULARY))
    assert json.loads(build_model.files_of("tiny-llama")["config.json"])["vocab_size"] == 512


def test_the_marks_of_the_template_come_first():
    assert [VOCABULARY[mark] for mark in build_model.MARKS] == list(range(len(build_model.MARKS)))
    config = json.loads(build_model.files_of("tiny-llama")["config.json"])
    assert config["eos_token_id"] == VOCABULARY["<|end|>"]


def test_every_byte_has_a_character_of_its_own():
    characters = build_model._characters_of_bytes()
    assert len(set(characters)) == 256
    assert (characters[ord(" ")], characters[ord("\n")], characters[ord("a")]) == ("Ġ", "Ċ", "a")


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        (" queue", 1),
        ("queue", 5),
        (" queues", 7),
        (" the queue is full.", 5),
        ("  the", 2),
        (" é", 3),
    ],
)
def test_a_known_word_after_a_space_is_one_token_and_every_other_byte_is_one(text, tokens):
    assert build_model.token_count(text) == tokens


def test_the_tokenizer_speaks_the_steady_template():
    files = build_model.files_of("small-llama")
    assert json.loads(files["tokenizer_config.json"])["chat_template"] == files["steady.jinja"]


def test_the_two_templates_differ_by_the_line_with_the_clock_alone():
    files = build_model.files_of("small-llama")
    steady, clock = (
        files[f"{name}.jinja"].partition("-#}")[2].splitlines() for name in build_model.TEMPLATES
    )
    assert [line for line in clock if "strftime_now" not in line] == steady
    assert len(clock) == len(steady) + 1


def test_an_unknown_model_is_answered_with_those_that_there_are(tmp_path, capsys):
    assert build_model.main([str(tmp_path), "huge-llama"]) == 1
    assert capsys.readouterr().err == (
        "There is no model huge-llama; there are small-llama, tiny-llama.\n"
    )


def test_words_that_do_not_fill_the_vocabulary_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(build_model, "MODELS", tmp_path)
    (tmp_path / "words.txt").write_text("one two two")
    build_model.words.cache_clear()
    with pytest.raises(build_model.RecipeError, match="250 different words; it holds 2"):
        build_model.words()
    build_model.words.cache_clear()
