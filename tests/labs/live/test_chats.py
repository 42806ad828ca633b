"""A request as a conversation: exactly the tokens that the world drew, whichever template writes it out."""

import re

import pytest

from labs.live.build_model import MARKS, token_count
from labs.live.chats import CLOCK, chat_body, probe_body, template
from labs.simulator.http_answers import Probe
from labs.simulator.request import Request

SHARED = 800
NOW = "2026-11-30 14:19:43.012345"


def written(body):
    """Return what the two templates make of a body's messages, as they are written in Jinja."""
    turns = "".join(f"<|{each['role']}|>{each['content']}<|end|>" for each in body["messages"])
    clock = f"<|system|> now {NOW}<|end|>" if "chat_template" in body else ""
    return f"<s>{clock}{turns}<|assistant|>"


def tokens(text):
    marks = re.compile("|".join(map(re.escape, MARKS)))
    return len(marks.findall(text)) + sum(token_count(part) for part in marks.split(text))


def request(name="r1", tenant="template/3", shared=SHARED, prompt=880):
    return Request(name, 0.0, prompt, 40, prefix=((tenant, shared),))


@pytest.mark.parametrize("shared", [SHARED, 21])
def test_a_prompt_has_the_tokens_that_the_world_drew(shared):
    body = chat_body(request(shared=shared), "small-llama", SHARED)
    assert tokens(written(body)) == 880
    assert body["max_tokens"] == 40


def test_prompts_of_a_tenant_share_what_the_world_says_they_share():
    one, other = (written(chat_body(request(name), "m", SHARED)) for name in ("r1", "r2"))
    common = next(i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    shared = one[:common].rpartition(" ")[0]
    assert tokens(shared) == SHARED


def test_other_tenants_have_other_texts():
    one, other = (chat_body(request(tenant=f"template/{n}"), "m", SHARED) for n in (1, 2))
    assert one["messages"][0] != other["messages"][0]


def test_only_a_deploy_that_ails_sends_the_clock_along():
    assert "chat_template" not in chat_body(request(), "m", SHARED)
    assert chat_body(request(shared=21), "m", SHARED)["chat_template"] == template(CLOCK)


def test_the_clock_differs_where_the_world_says_that_prompts_differ():
    before = "<s><|system|> now 2026-11-30 14:19:"
    assert 18 <= tokens(before) + 1 <= 22


def test_whoever_has_no_tenant_says_all_themselves():
    alone = Request("r9", 0.0, 64, 8)
    assert tokens(written(chat_body(alone, "m", SHARED))) == 64


@pytest.mark.parametrize(
    ("defect", "wrong"),
    [
        ("missing_role", lambda body: "role" not in body["messages"][0]),
        ("unknown_role", lambda body: body["messages"][0]["role"] == "wizard"),
        ("empty_messages", lambda body: body["messages"] == []),
        ("unknown_model", lambda body: body["model"] != "m"),
        ("max_tokens_zero", lambda body: body["max_tokens"] == 0),
    ],
)
def test_what_a_client_gets_wrong_is_wrong_in_its_body(defect, wrong):
    assert wrong(chat_body(Request("r1", 0.0, 64, 8, defect=defect), "m", 0))


def test_a_probe_has_the_tokens_that_it_says():
    assert tokens(written(probe_body(Probe(prompt_tokens=320, max_tokens=500), "m"))) == 320
