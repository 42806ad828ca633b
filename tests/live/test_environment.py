"""The engine that `make live` set up: it starts, answers as vLLM 0.32.0 does, and ends."""

import importlib.util
import json
import re
import subprocess
import sys

import pytest

from courseware import bootstrap_live
from labs.instruments.prometheus.families import FAMILIES
from labs.live import servers
from labs.live.build_model import TEMPLATES, files_of, recipes, token_count
from tests.live.conftest import TINY

MODEL = "tiny-llama"
SYSTEM = " the cache will keep this" * 40
LOAD_THE_SITE = """
import django, json, sys
django.setup()
import courseware.asgi, labs.tasks, labs.worker
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""
ENGINES = {"tokenizers", "torch", "transformers", "vllm"}


@pytest.fixture(scope="module")
def engine(start_engine):
    return start_engine(
        MODEL, TINY, "--trust-request-chat-template", "--enable-prompt-tokens-details"
    )


def test_the_sites_own_environment_has_no_engine():
    assert {name for name in ENGINES if importlib.util.find_spec(name)} == set()
    loaded = subprocess.run(
        [sys.executable, "-c", LOAD_THE_SITE],
        env={"DJANGO_SETTINGS_MODULE": "courseware.settings", "PATH": "/usr/bin:/bin"},
        cwd=bootstrap_live.ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ENGINES & set(json.loads(loaded.stdout)) == set()


def test_the_engines_environment_has_none_of_what_was_left_out():
    asked = "import importlib.util as u, json; print(json.dumps([n for n in {} if u.find_spec(n)]))"
    names = ["torchaudio", "torchcodec", "torchvision", "triton", "torch", "vllm", "django"]
    found = subprocess.run(
        [bootstrap_live.PYTHON, "-I", "-c", asked.format(names)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(found.stdout) == ["torch", "vllm"]


@pytest.mark.parametrize("name", recipes())
def test_what_was_built_is_what_the_recipe_says(name):
    folder = bootstrap_live.MODELS / name
    assert {path.name: path.read_text() for path in folder.iterdir()} == files_of(name)


def test_it_is_healthy_and_says_which_version_it_is(ask, engine):
    assert ask(engine, "/health") == (200, "")
    status, version = ask(engine, "/version")
    assert (status, json.loads(version)) == (200, {"version": bootstrap_live.VLLM})


def test_it_serves_the_model_under_its_name(ask, engine):
    _, models = ask(engine, "/v1/models")
    served = json.loads(models)["data"]
    assert [(one["id"], one["max_model_len"]) for one in served] == [(MODEL, 1024)]


def test_its_metrics_are_the_families_that_the_simulator_prints(ask, engine):
    status, page = ask(engine, "/metrics")
    assert status == 200
    theirs = dict(re.findall(r"^# TYPE (vllm:\S+) (\w+)$", page, re.MULTILINE))
    ours = {family.name: family.kind for family in FAMILIES}
    ours |= {family.created: "gauge" for family in FAMILIES if family.created}
    assert {
        "missing": sorted(set(ours) - set(theirs)),
        "extra": sorted(set(theirs) - set(ours)),
    } == {
        "missing": [],
        "extra": [],
    }
    assert theirs == ours


@pytest.mark.parametrize(
    "text",
    [
        " the queue is long and the engine is slow",
        "the first word has no space before it",
        " an unknown word: reticulated",
        " two  spaces, a\ttab and\na line;  it's 12:30",
        " größer: 1 — “ja”",
    ],
)
def test_its_tokenizer_counts_as_we_count(ask, engine, text):
    body = {"model": MODEL, "prompt": text, "add_special_tokens": False}
    status, answer = ask(engine, "/tokenize", body)
    assert status == 200
    assert json.loads(answer)["count"] == token_count(text)


@pytest.fixture
def chat(ask, engine):
    """``chat(text)``: the tokens of the prompt, of the answer, and those of the prompt that the cache had."""

    def say(text: str, **more: str) -> tuple[int, int, int]:
        body = {
            "model": MODEL,
            "messages": [
                {"role": "system", "content": SYSTEM},
                {"role": "user", "content": text},
            ],
            "max_tokens": 4,
            "ignore_eos": True,
            **more,
        }
        status, answer = ask(engine, "/v1/chat/completions", body)
        assert status == 200, answer
        usage = json.loads(answer)["usage"]
        cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
        return usage["prompt_tokens"], usage["completion_tokens"], cached

    return say


def test_a_conversation_has_the_tokens_that_the_template_says(chat):
    text = " what is the answer"
    marks = ["<s>", "<|system|>", "<|end|>", "<|user|>", "<|end|>", "<|assistant|>"]
    told = token_count(SYSTEM) + token_count(text) + len(marks)
    assert chat(text)[:2] == (told, 4)


def test_a_role_that_no_template_knows_is_spelt_out(ask, engine):
    messages = [{"role": "wizard", "content": " hello"}]
    body = {"model": MODEL, "messages": messages, "max_tokens": 1}
    status, answer = ask(engine, "/v1/chat/completions", body)
    assert status == 200
    spelt = token_count("<|wizard|>") + token_count(" hello")
    marks = ["<s>", "<|end|>", "<|assistant|>"]
    assert json.loads(answer)["usage"]["prompt_tokens"] == spelt + len(marks)


def test_the_steady_template_is_found_again_and_the_one_with_the_clock_is_not(chat):
    steady, clock = (
        (bootstrap_live.MODELS / MODEL / f"{name}.jinja").read_text() for name in TEMPLATES
    )
    for template, found in ((steady, True), (clock, False)):
        chat(" one", chat_template=template)
        prompt_tokens, _, cached = chat(" two", chat_template=template)
        assert prompt_tokens > 200
        assert (cached >= 192) is found
        assert found or cached == 0


def test_it_ends_when_told_and_leaves_no_process(ask, engine, processes):
    assert len(processes()) >= 4
    servers.stop(engine)
    assert not engine.is_alive
    assert processes() == []
    with pytest.raises(OSError):
        ask(engine, "/health")
